"""Queries about copies: p2p, flows and routes, inside a node and between nodes."""
from __future__ import annotations

from typing import Iterator

from machines import ALL, WITH_FABRIC, WITH_PAIRS, Machine, Picker, gpu, taken

Query = dict[str, object]

PAIR_OPTIONS = (
    {}, {"bidirectional": True}, {"transport": "staged"}, {"direction": "read"}, {"engine": "sm"}, {"timing": "single"},
    {"transport": "staged", "bidirectional": True}, {"direction": "write"}, {"transport": "relay"}, {"transport": "peer"},
    {"engine": "sm", "direction": "read"}, {"timing": "back_to_back"}, {"transport": "relay", "chunk_B": 1 << 20},
    {"engine": "sm", "direction": "write", "bidirectional": True}, {"transport": "staged", "timing": "single"},
    {"direction": "read", "bidirectional": True, "timing": "single"}, {"engine": "copy_engine", "bidirectional": False})
RELAYING = ("abci-v100", "alps", "leonardo", "lumi", "p100-dgx1", "summit", "v100-dgx1", "v100-dgx1-fig19b")
HOST_OPTIONS = ({}, {"pageable": True}, {"engine": "sm"}, {"bidirectional": True}, {"transport": "host", "timing": "single"})
FLOW_OPTIONS = (
    {}, {"engine": "sm"}, {"transport": "staged"}, {"direction": "read"}, {"timing": "back_to_back"},
    {"engine": "sm", "direction": "read"}, {"transport": "peer", "direction": "write"}, {"engine": "copy_engine", "timing": "single"})
MESSAGE_OPTIONS = ({}, {"bidirectional": True}, {"timing": "single"})
QUEUED = ("gpudirect_rdma", "pinned")  # curves of which it is known how messages one behind the other go
NIC_SIZES = (32, 4096, 65536, 1 << 20, 3 << 20)


def p2p() -> Iterator[Query]:
    """Pairs of GPUs, one GPU with itself, copies to and from the host."""
    for machine in ALL:
        pick = Picker(f"p2p {machine.name}")
        base = {"kind": "p2p", "platform": machine.name}
        for at in range(17 if machine.gpus > 1 else 0):
            src, dst = pick.some(range(machine.gpus), 2)
            options = taken(PAIR_OPTIONS, at)
            if options.get("transport") in ("relay", "peer") and machine.name not in RELAYING:
                options = {"transport": "staged", "timing": "back_to_back", "bidirectional": at % 2 == 0}
            query = {**base, "src": gpu(src), "dst": gpu(dst), "size_B": pick.size(), **options}
            if at % 8 == 7 and machine.gpus > 2 and machine.name in RELAYING:
                query = {**base, "src": gpu(src), "dst": gpu(dst), "size_B": pick.size(),
                         "via": gpu(pick.one([other for other in range(machine.gpus) if other not in (src, dst)]))}
            yield query
        alone = gpu(pick.below(machine.gpus))
        yield {**base, "src": alone, "dst": alone, "size_B": pick.size(), "transport": "local"}
        yield {**base, "src": alone, "dst": alone, "size_B": pick.size(), **pick.one(({}, {"engine": "sm"}))}
        for options in HOST_OPTIONS:
            ends = [gpu(pick.below(machine.gpus)), f"cpu{pick.below(machine.cpus)}"]
            src, dst = ends if pick.below(2) else reversed(ends)
            yield {**base, "src": src, "dst": dst, "size_B": pick.size(), **options}


def _flow_shapes(machine: Machine, pick: Picker) -> Iterator[list[list[object]]]:
    size, some = pick.size, pick.some(range(machine.gpus), min(machine.gpus, 4))
    pairs = list(zip(some, some[1:] + some[:1]))
    yield [[gpu(some[0]), gpu(other), size()] for other in some[1:]]
    yield [[gpu(other), gpu(some[0]), size()] for other in some[1:]]
    equal = size()
    yield [[gpu(src), gpu(dst), equal] for src, dst in pairs]
    yield [[gpu(src), gpu(dst), size()] for a, b in pairs[:2] for src, dst in ((a, b), (b, a))]
    yield [[gpu(src), gpu(dst), equal] for src in some for dst in some if src != dst]
    yield [[gpu(some[0]), "cpu0", equal], ["cpu0", gpu(some[1]), size()]]
    yield [[gpu(some[0]), gpu(some[1]), size()] for _ in range(3)]
    yield [[*map(gpu, pick.some(range(machine.gpus), 2)), size()] for _ in range(6)]


def flows() -> Iterator[Query]:
    for number, machine in enumerate(WITH_PAIRS):
        pick = Picker(f"flows {machine.name}")
        for at, shape in enumerate(_flow_shapes(machine, pick)):
            options = taken(FLOW_OPTIONS, at + number)
            host = any("cpu0" in flow for flow in shape)  # no direction and no transport but its own
            yield {"kind": "flows", "platform": machine.name, "flows": shape, **(FLOW_OPTIONS[at % 2] if host else options)}


def routes() -> Iterator[Query]:
    for machine in WITH_PAIRS:
        pick = Picker(f"routes {machine.name}")
        for at in range(4):
            src, dst = map(gpu, pick.some(range(machine.gpus), 2))
            size = {} if at == 0 else {"size_B": pick.size()}
            yield {"kind": "routes", "platform": machine.name, "src": src, "dst": dst, **size}
        yield {"kind": "routes", "platform": machine.name, "src": gpu(0), "dst": "cpu0", "size_B": pick.size()}


def node_end(machine: Machine, pick: Picker, node: int, host: bool = False) -> str:
    device = f"cpu{pick.below(machine.cpus)}" if host else gpu(pick.below(machine.gpus))
    return f"node{node}/{device}"


def two_nodes(machine: Machine, pick: Picker) -> list[int]:
    """Neighbours or any two."""
    first = pick.below(machine.nodes - 1)
    other = [node for node in (first + 1, pick.below(machine.nodes)) if node != first]
    return [first, pick.one(other)]


def messages() -> Iterator[Query]:
    """Between nodes, each measured curve at least twice, with and without what may be said beside."""
    for machine in WITH_FABRIC:
        pick = Picker(f"messages {machine.name}")
        base = {"kind": "p2p", "platform": machine.name}
        for at in range(13):
            a, b = two_nodes(machine, pick)
            curve = taken((None, *machine.messages), at)
            host = curve is not None and curve.endswith("_host")
            query = {**base, "src": node_end(machine, pick, a, host), "dst": node_end(machine, pick, b, host),
                     "size_B": pick.size(), **taken(MESSAGE_OPTIONS, at // 3)}
            if curve in QUEUED and at % 2:
                query = {**query, "timing": "back_to_back", "bidirectional": False}
            yield query if curve is None else {**query, "transport": curve}
        if machine.name in ("summit", "lassen"):
            far = gpu(machine.gpus - 1)
            yield {**base, "src": "node0/gpu0", "dst": f"node0/{far}", "size_B": pick.size(), "transport": "mpi_node"}
            yield {**base, "src": "node1/gpu0", "dst": "node1/gpu1", "size_B": pick.size(), "transport": "mpi_socket"}
    yield {"kind": "p2p", "platform": "alps", "src": "node0/gpu0", "dst": "node0/gpu1", "size_B": 8, "transport": "mpi_node"}
    yield {"kind": "p2p", "platform": "alps", "src": "node0/gpu0", "dst": "node1/gpu0", "size_B": 8, "timing": "back_to_back"}


def nic_queues() -> Iterator[Query]:
    """Into and out of a card, and both by it."""
    for machine in WITH_FABRIC:
        pick = Picker(f"nic {machine.name}")
        base = {"kind": "p2p", "platform": machine.name}
        yield {**base, "src": "gpu0", "dst": "nic0", "size_B": pick.size()}
        if machine.name == "apenet-plus":
            for size in NIC_SIZES:
                yield {**base, "src": "cpu0", "dst": "nic0", "size_B": size, "timing": "back_to_back"}
                yield {**base, "src": "gpu0", "dst": "nic0", "size_B": size}
                yield {**base, "src": "gpu0", "dst": "gpu0", "via": "nic0", "size_B": size}
                yield {**base, "src": "cpu0", "dst": "cpu0", "via": "nic0", "size_B": size}


def node_routes() -> Iterator[Query]:
    for machine in WITH_FABRIC:
        pick = Picker(f"node routes {machine.name}")
        for options in ({}, {"k": 1}, {"k": 3}):
            a, b = two_nodes(machine, pick)
            yield {"kind": "routes", "platform": machine.name, "src": node_end(machine, pick, a),
                   "dst": node_end(machine, pick, b), "size_B": pick.size(), **options}


def queries() -> Iterator[Query]:
    for group in (p2p, flows, routes, messages, nic_queues, node_routes):
        yield from group()
