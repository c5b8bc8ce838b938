"""Queries of kind replay and place: applications on a machine, GPUs and nodes for a job."""
from __future__ import annotations

from typing import Iterator

from machines import ALL, MACHINES, NCCL, OPERATIONS, RINGS, WITH_FABRIC, WITH_PAIRS, Machine, Picker, gpu, taken

Query = dict[str, object]

BY_GPUS = {  # application: how it calls its ranks, and options that keep it short
    "alexnet": ("gpus", {"steps": 2}), "googlenet": ("gpus", {"steps": 2, "batch": 64}), "resnet_x": ("gpus", {"steps": 2, "x": 4}),
    "data_parallel": ("ranks", {"steps": 2, "buckets": 3}), "spin_glass": ("nodes", {"steps": 2, "L": 64}),
    "bfs": ("nodes", {"searches": 1, "scale": 16}), "tartan_cnn": ("gpus", {"iterations": 1, "batch": 32}),
    "tartan_csm": ("gpus", {"iterations": 2}), "tartan_gmm": ("gpus", {"iterations": 2, "version": "nccl"}),
    "tartan_kmn": ("gpus", {"iterations": 2}), "tartan_mtc": ("gpus", {"iterations": 2, "scaling": "weak"}),
    "tartan_pln": ("gpus", {"iterations": 2, "version": "nccl"}), "tartan_trk": ("gpus", {"iterations": 2}),
    "tartan_brq": ("nodes", {"steps": 2, "side": 64}), "tartan_dff": ("nodes", {"steps": 2, "side": 64}),
    "tartan_llh": ("nodes", {"steps": 2, "side": 32}), "tartan_cmd": ("nodes", {"steps": 2, "side": 16}),
    "tartan_prb": ("nodes", {"steps": 2}), "tartan_hit": ("nodes", {"steps": 1, "side": 64}),
    "tartan_mam": ("nodes", {"steps": 2, "scaling": "weak"})}
TRANSFORMERS = ({"tp": 2}, {"pp": 2}, {"dp": 2}, {"tp": 2, "pp": 2, "batch": 4}, {"tp": 2, "dp": 2, "recompute": 0})
SMALL_TRANSFORMER = {"layers": 4, "batch": 4, "steps": 1, "hidden": 1024}
LAYERS = {"tensor_parallel": {"sequence-parallel": 1}, "decoding": {"issue": "20us"}, "expert_parallel": {"every": 1},
           "fully_sharded": {"reshard": 0}, "pipeline_parallel": {"schedule": "gpipe"}}
SAMPLES = ("h200x4-alexnet", "h200x4-resnet50")
REPLAY_OPTIONS = ({}, {"local": True}, {"host_scale": 0}, {"host_scale": 2.5}, {"library": "nccl-2.18"}, {"library": "nccl-2.7"})
JOBS = ("all_reduce:64MiB", "all_gather:1MiB", "broadcast:64MiB", "alltoall:16MiB", {"op": "reduce", "size_B": 4096},
        {"op": "all_reduce", "size_B": 1 << 28})


def _replay(machine: Machine, trace: str, options: Query, more: Query) -> Query:
    query = {"kind": "replay", "platform": machine.name, "trace": trace}
    return {**query, **({"options": options} if options else {}), **more}


def replay_on_node() -> Iterator[Query]:
    for number, (trace, (ranks, options)) in enumerate(BY_GPUS.items()):
        for at in range(3):
            machine = taken(WITH_PAIRS, 3 * number + at)
            pick = Picker(f"replay {trace} {at}")
            count = min(taken((2, 4, 8), at), machine.gpus)
            more = dict(taken(REPLAY_OPTIONS, number + at))
            if at == 1:
                more["placement"] = pick.some(range(machine.gpus), count)
            yield _replay(machine, trace, {ranks: count, **options}, more)
    for at, options in enumerate(TRANSFORMERS):
        yield _replay(MACHINES[taken(("hgx-h200", "v100-dgx1", "abci-a100"), at)], "transformer", {**SMALL_TRANSFORMER, **options}, {})


def replay_of_recordings() -> Iterator[Query]:
    for machine in (MACHINES["hgx-h200"], MACHINES["v100-dgx1"], MACHINES["lumi"]):
        yield _replay(machine, SAMPLES[0], {}, {})
    yield _replay(MACHINES["hgx-h200"], SAMPLES[1], {}, {})
    for more in ({"local": True}, {"ranks": 2}, {"ranks": 8}, {"placement": [7, 5, 3, 1]}, {"host_scale": 0},
                 {"library": "nccl-2.18"}):
        yield _replay(MACHINES["hgx-h200"], SAMPLES[0], {}, more)
    yield _replay(MACHINES["hgx-h200"], SAMPLES[0], {}, {"edits": ["disable p2p"]})
    yield _replay(MACHINES["hgx-h200"], SAMPLES[0], {}, {"edits": ["slow gpu3:1.2"]})


def replay_on_nodes() -> Iterator[Query]:
    names = tuple(BY_GPUS)
    for number, machine in enumerate(WITH_FABRIC):
        for at in range(3):
            trace = taken(names, 7 * at + number)
            ranks, options = BY_GPUS[trace]
            nodes, per_node = taken(((2, 1), (4, 1), (2, min(2, machine.gpus))), at + number)
            more = {"nodes": nodes, "gpus_per_node": per_node}
            if at == 2:
                more["library"] = taken(("nccl-2.18", "mpi-openmpi", "nccl-2.7"), number)
            yield _replay(machine, trace, {ranks: nodes * per_node, **options}, more)
    for transport in ("gpudirect_rdma", "pinned_source", "pinned"):
        yield _replay(MACHINES["apenet-plus"], "spin_glass", {"nodes": 2, "steps": 2, "part": "boundary"},
                      {"nodes": 2, "gpus_per_node": 1, "transport": transport})


def _neighbour(machine: Machine, pick: Picker, job: object) -> Query:
    return {"job": job, "gpus": sorted(pick.some(range(machine.gpus), 2))}


def place_on_node() -> Iterator[Query]:
    for number, machine in enumerate(WITH_PAIRS):
        pick = Picker(f"place {machine.name}")
        base = {"kind": "place", "platform": machine.name}
        most = min(machine.gpus, 6)
        yield {**base, "job": taken(JOBS, number), "ranks": 2 + pick.below(most - 1)}
        yield {**base, "job": taken(JOBS[:2], number), "ranks": 2, "library": taken(NCCL, number), "top": 3}
        if machine.gpus < 4:
            continue
        busy = pick.some(range(machine.gpus), 1)
        yield {**base, "job": taken(JOBS[:3], number + 1), "ranks": min(3, machine.gpus - 1),
               "busy": [gpu(one) for one in busy], "top": 2}
        for objective in ("time", "neighbours", "both")[number % 3:][:2]:
            yield {**base, "job": f"{taken(RINGS, number)}:16MiB", "ranks": 2, "objective": objective,
                   "with": [_neighbour(machine, pick, "all_reduce:64MiB")]}
    for name, trace, ranks in (("v100-dgx1", "data_parallel", 2), ("gx8", "alexnet", 2), ("hgx-h200", "h200x4-alexnet", 4)):
        options = {} if trace.startswith("h200") else {BY_GPUS[trace][0]: ranks, "steps": 1}
        yield {"kind": "place", "platform": name, "job": {"trace": trace, "options": options}, "ranks": ranks, "top": 2}
    for op in OPERATIONS:
        yield {"kind": "place", "platform": "v100-dgx1", "job": f"{op}:1MiB", "ranks": 3, "busy": [0, "gpu5"], "top": 1}
    yield {"kind": "place", "platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4,
           "edits": ["remove gpu0-gpu3", "slow gpu1:1.5"]}


def place_on_nodes() -> Iterator[Query]:
    for number, machine in enumerate(WITH_FABRIC):
        nodes = min(machine.nodes, taken((8, 16, 32), number))
        base = {"kind": "place", "platform": machine.name, "nodes": nodes}
        yield {**base, "job": "all_reduce:64MiB", "ranks": 3 * machine.gpus, "busy": [0, "node3"]}
        yield {**base, "job": "all_gather:1MiB", "ranks": 2, "gpus_per_node": 1, "top": 2}
        yield {**base, "job": "all_reduce:16MiB", "ranks": 3, "gpus_per_node": 1, "objective": taken(("both", "neighbours"), number),
               "with": [{"job": "all_reduce:64MiB", "nodes": [1, 4]}]}


def show() -> Iterator[Query]:
    for machine in ALL:
        yield {"kind": "show", "platform": machine.name}


def replay_of_layers() -> Iterator[Query]:
    """At the end, so that the others keep their numbers."""
    for trace, more in LAYERS.items():
        for at, name in enumerate(("hgx-h200", "abci-a100", "v100-dgx1")):
            options = {"gpus": taken((2, 4, 8), at), "steps": 1, "layers": 8, "hidden": 1024, **(more if at == 1 else {})}
            yield _replay(MACHINES[name], trace, options, {})


def queries() -> Iterator[Query]:
    for group in (replay_on_node, replay_of_recordings, replay_on_nodes, place_on_node, place_on_nodes, show, replay_of_layers):
        yield from group()
