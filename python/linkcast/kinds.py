"""Answers of each kind. Made by tests/lint/python_kinds.py --update from `linkcast schema`: nothing by hand."""
from __future__ import annotations

from typing import Any, Literal

from .answers import Answer


class Collective(Answer):
    """One collective operation of a communication library."""
    id: Any  #: that of the query
    kind: Literal["collective"]  #: that of the query
    time_s: float  #: forecast
    time_low_s: float  #: lower end of its 90 % interval
    time_high_s: float  #: upper end
    launch: Literal["graph", "process", "single_process", "pytorch", "queue"] | None  #: who issued it
    host_s: float | None  #: what issuing one call costs the host
    device_s: float | None  #: what one call takes on the devices alone
    terms: list[dict[str, Any]] | None  #: with explain: parts of the time and of its uncertainty
    latency_s: float  #: start-up and hops
    algbw_Bps: float  #: size over time
    busbw_Bps: float  #: bus bandwidth of nccl-tests
    library: str  #: that was taken
    algorithm: str  #: that was taken
    protocol: str  #: that was taken
    ranks: int  #: GPUs that take part
    nodes: int | None  #: of several nodes
    gpus_per_node: int | None  #: of several nodes
    channels: list[list[int]]  #: distinct orders of GPUs
    blocks: int  #: thread blocks
    channel_bandwidth_Bps: float  #: of the busiest channel
    path_class: str | None  #: as the library names the paths between members
    fallback: bool  #: through host memory
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up
    limited_by: str | None  #: where no link is: host, start-up, thread blocks or rates of single messages
    library_believes: dict[str, Any] | None  #: its tuner, not a forecast
    alternatives: list[dict[str, Any]] | None  #: other algorithms and protocols, fastest first
    hint: str | None  #: where another choice would be faster
    alone_s: float | None  #: time without the others
    slowdown: float | None  #: time over alone_s
    others: list[dict[str, Any]] | None  #: the communicators of with
    beside: list[dict[str, Any]] | None  #: the jobs of beside
    engine: str | None  #: of messages between nodes: direct or reduced
    messages: int | None  #: that were sent
    classes: int | None  #: sorts of them
    why_direct: str | None  #: why alike messages were not taken together
    bottlenecks: int | None  #: links that limit, of which bottleneck names some
    rounds: int | None  #: of an MPI schedule
    steady_state: bool | None  #: some rounds stand for others
    staging_s: float | None  #: of it copies between GPU and host
    reducing_s: float | None  #: of it reducing buffers
    transports: list[str] | None  #: of MPI's messages
    links: list[dict[str, Any]] | None  #: with utilisation: what it puts on each link, the busiest first, 16384 at most
    seed: int | None  #: of the noise
    samples: int | None  #: draws of noise
    service_level: int | None  #: of the messages
    quiet_s: float | None  #: time in an empty network; time_s is that of the median draw
    percentiles: dict[str, Any] | None  #: of the draws, times in seconds
    mean_s: float | None  #: mean of the draws
    min_s: float | None  #: shortest draw
    max_s: float | None  #: longest draw
    library_topology_sha256: str | None  #: of the file that the library was told


class Fabric(Answer):
    """The network between nodes."""
    TABLE = "classes"
    id: Any  #: that of the query
    kind: Literal["fabric"]  #: that of the query
    platform: str  #: name of the machine
    generator: str  #: kind of fabric: linkcast list fabrics
    source: str  #: of its parameters
    routing: str  #: how it chooses ways
    endpoints: int  #: cards of nodes
    nodes: int
    nics_per_node: int
    switches: int
    links: int  #: directed
    diameter_links: int  #: most links between two endpoints
    average_links: float  #: between two endpoints
    bisection: dict[str, Any]
    classes: list[dict[str, Any]]  #: sorts of links
    distances: list[dict[str, Any]]  #: between two endpoints
    expected: dict[str, Any]  #: upper bounds from the forwarding index
    inside_a_node: dict[str, Any] | None  #: the same of the links between GPUs


class Flows(Answer):
    """Several copies that start together and contend."""
    id: Any  #: that of the query
    kind: Literal["flows"]  #: that of the query
    time_s: float  #: forecast
    time_low_s: float  #: lower end of its 90 % interval
    time_high_s: float  #: upper end
    launch: Literal["graph", "process", "single_process", "pytorch", "queue"] | None  #: who issued it
    host_s: float | None  #: what issuing one call costs the host
    device_s: float | None  #: what one call takes on the devices alone
    terms: list[dict[str, Any]] | None  #: with explain: parts of the time and of its uncertainty
    flow_times_s: list[float]  #: when each copy is done
    transports: list[str]  #: of each copy
    bandwidth_Bps: float  #: all bytes over time_s
    timing: Literal["single", "back_to_back"]  #: single (from rest) or back_to_back (one of a queue)
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up
    #: what takes most of the time
    limited_by: Literal["bandwidth", "start-up", "host", "rates of single copies", "rates of single messages"]
    seed: int | None  #: of the noise
    samples: int | None  #: draws of noise
    service_level: int | None  #: of the messages
    quiet_s: float | None  #: time in an empty network; time_s is that of the median draw
    percentiles: dict[str, Any] | None  #: of the draws, times in seconds
    mean_s: float | None  #: mean of the draws
    min_s: float | None  #: shortest draw
    max_s: float | None  #: longest draw


class P2p(Answer):
    """One copy between two devices, nothing else going on."""
    id: Any  #: that of the query
    kind: Literal["p2p"]  #: that of the query
    time_s: float  #: forecast
    time_low_s: float  #: lower end of its 90 % interval
    time_high_s: float  #: upper end
    launch: Literal["graph", "process", "single_process", "pytorch", "queue"] | None  #: who issued it
    host_s: float | None  #: what issuing one call costs the host
    device_s: float | None  #: what one call takes on the devices alone
    terms: list[dict[str, Any]] | None  #: with explain: parts of the time and of its uncertainty
    bandwidth_Bps: float  #: bytes over time, both ways added
    latency_s: float  #: start-up
    transport: str  #: that was taken
    direction: str | None  #: of a peer copy: read or write
    via: str | None  #: the relaying GPU
    distance: str | None  #: between nodes: what lies between them
    nics: int | None  #: cards that share the message, if several
    route: list[str] | None  #: ids of the links on the way
    timing: Literal["single", "back_to_back"]  #: single (from rest) or back_to_back (one of a queue)
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up
    #: what takes most of the time
    limited_by: Literal["bandwidth", "start-up", "host", "rates of single copies", "rates of single messages"]
    seed: int | None  #: of the noise
    samples: int | None  #: draws of noise
    service_level: int | None  #: of the messages
    quiet_s: float | None  #: time in an empty network; time_s is that of the median draw
    percentiles: dict[str, Any] | None  #: of the draws, times in seconds
    mean_s: float | None  #: mean of the draws
    min_s: float | None  #: shortest draw
    max_s: float | None  #: longest draw


class Place(Answer):
    """Which GPUs for a job."""
    TABLE = "placements"
    id: Any  #: that of the query
    kind: Literal["place"]  #: that of the query
    time_s: float  #: forecast
    time_low_s: float  #: lower end of its 90 % interval
    time_high_s: float  #: upper end
    alone_s: float | None  #: time of the job without neighbours
    gpus: list[int] | None  #: the best ones in rank order
    nodes: list[int] | None  #: the best ones
    names: list[str] | None  #: with groups: of these nodes
    switches: list[dict[str, Any]] | None  #: with groups: the leaf switches that they are on
    gpus_per_node: int | None  #: of several nodes
    job: str  #: in words
    ranks: int  #: GPUs of the job
    objective: str  #: that was minimised
    rule: str | None  #: of several nodes: how they were found
    why: str  #: what makes it better, in words
    neighbours: list[dict[str, Any]] | None  #: what they lose
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up
    placements: list[dict[str, Any]]  #: best first
    classes: list[dict[str, Any]] | None  #: sets of GPUs that are alike
    worst: dict[str, Any] | None  #: the slowest set, its ranks as in first_free
    first_free: dict[str, Any]  #: what one gets without choosing
    mean_regret: float | None  #: of a set by chance
    bound_s: float | None  #: of several nodes: no placement is faster
    gap: float | None  #: time over bound_s, less 1
    search: dict[str, Any]  #: how far it went


class Replay(Answer):
    """An application's trace on a machine."""
    TABLE = "ranks"
    id: Any  #: that of the query
    kind: Literal["replay"]  #: that of the query
    platform: str  #: name of the machine
    time_s: float  #: makespan
    #: lower end of its 90 % interval; null with interval false, and where a pipe would have to be read again
    time_low_s: float | None
    time_high_s: float | None  #: upper end
    makespan_s: float  #: from the first event to the last
    step_time_s: float | None  #: median step; null without markers
    step_time_low_s: float | None  #: lower end of its 90 % interval
    step_time_high_s: float | None  #: upper end
    steps_s: list[float]  #: each step
    recorded_step_time_s: float | None  #: median step of the recording; null where the trace does not say it
    recorded_steps_s: list[float]  #: each step of the recording, in its median rank
    exposed_communication_s: float  #: of the median rank: communication while nothing computes
    operations: list[dict[str, Any]]  #: each kind of collective, and messages: the mean of the ranks that take part
    ranks: list[dict[str, Any]]  #: what each rank does
    links: list[dict[str, Any]]  #: what each link carries
    jobs: list[dict[str, Any]] | None  #: with also: each job, the first one first
    utilisation: dict[str, Any] | None  #: where asked for: busy shares over time, of ranks and links
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up
    critical_path: dict[str, Any]  #: what the makespan is made of
    compute_device: str | None  #: GPU that the trace's compute times are of, of the first job; null where it does not say
    other_gpu: str | None  #: GPU of this platform where that is another one: compute times are no forecast then; else null
    bound: str | None  #: what limits it: begins with host-bound, device-bound or link-bound; null where nothing takes time
    events: int  #: of the trace
    traffic: dict[str, Any]  #: sums over ranks
    library_topology_sha256: str | None  #: of the file that the library was told


class Rings(Answer):
    """The rings a communication library builds, and why."""
    id: Any  #: that of the query
    kind: Literal["rings"]  #: that of the query
    channels: list[list[int]]  #: distinct orders of GPUs
    hops: list[list[str]]  #: between one GPU and the next, for each channel: peer, host memory or through a GPU
    blocks: int  #: thread blocks
    path_class: str  #: as the library names the paths between members
    library_channel_bandwidth_Bps: float  #: what the library assumes of a channel
    library_bandwidth_Bps: float  #: of all channels
    link_equivalents: float  #: links that the rings are worth
    fallback: bool  #: through host memory
    why: str  #: in words
    library: str  #: that was taken
    ranks: int  #: GPUs that take part
    nodes: int | None  #: of several nodes
    gpus_per_node: int | None  #: of several nodes
    #: between nodes: GPU and NIC by which each ring enters and leaves a node; the GPU that sends in its place (PXN); whether host
    #: memory lies between
    nics: list[dict[str, Any]] | None
    tree_nics: list[dict[str, Any]] | None  #: the same of the first GPU of each tree
    network_class: str | None  #: between nodes: worst class of a way to a NIC
    swaps_rings: bool | None  #: in every second node rings 2k and 2k+1 change places, so that the NICs at both ends are the same
    library_network_channel_bandwidth_Bps: float | None  #: between nodes: what the library assumes of a channel
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up
    trees: list[list[int]]  #: chains of GPUs
    tree_class: str | None  #: as path_class, of the trees
    library_tree_bandwidth_Bps: float | None  #: what the library assumes of a tree
    rings_found: int | None  #: by the library's search, before it doubles them
    tuner: list[dict[str, Any]] | None  #: the library's cost model: of op and size
    library_takes: dict[str, Any] | None  #: row of the tuner that is taken
    library_topology_sha256: str | None  #: of the file that the library was told


class Routes(Answer):
    """Every way between two devices, ranked by predicted time."""
    TABLE = "routes"
    id: Any  #: that of the query
    kind: Literal["routes"]  #: that of the query
    size_B: float  #: the ways are ranked for
    runtime_takes: str | None  #: in a node: the transport of a plain copy
    minimal_ways: int | None  #: between nodes: how many there are
    detours: int | None  #: between nodes: how many there are
    routing: str | None  #: between nodes: how the fabric chooses
    routes: list[dict[str, Any]]  #: fastest first, each as an answer of p2p
    bottleneck: list[str]  #: ids of the links that limit it; empty where no link does, as for a start-up


class Show(Answer):
    """What is wired to what on a platform, with rates, parameters and sources."""
    TABLE = "cables"
    id: Any  #: that of the query
    kind: Literal["show"]  #: that of the query
    name: str  #: of the machine
    title: str  #: in words
    source: str  #: of the wiring
    gpus: int  #: how many
    default_library: str  #: communication library of the machine's time
    devices: list[dict[str, Any]]
    cables: list[dict[str, Any]]
    links: list[dict[str, Any]]
    parameters: dict[str, Any]  #: value, stderr, unit and provenance by name
    valid_for: dict[str, Any]  #: sizes of the calibration


BY_NAME: dict[str, type[Answer]] = {"collective": Collective, "fabric": Fabric, "flows": Flows, "p2p": P2p, "place": Place,
    "replay": Replay, "rings": Rings, "routes": Routes, "show": Show}
