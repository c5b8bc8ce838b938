"""Queries about operations over many nodes: libraries, noise, jobs beside, other fabrics."""
from __future__ import annotations

from typing import Iterator

from machines import MACHINES, MPI, MPI_ALGORITHMS, NCCL, OPERATIONS, PROTOCOLS, RINGS, WITH_FABRIC, Machine, Picker, taken

Query = dict[str, object]

NODES = (2, 3, 4, 8, 16, 31, 64)
LARGE = 512
OPTIONS = (
    {}, {"alternatives": True}, {"calls": 1}, {"algorithm": "ring"}, {"algorithm": "tree"}, {"protocol": "LL"},
    {"protocol": "Simple"},
    {"allocation": "random"}, {"allocation": "random", "allocation_seed": 7}, {"protocol": "LL128", "algorithm": "tree"},
    {"allocation": "packed"})
ENGINES = ({}, {"engine": "direct"}, {"engine": "reduced"})
BESIDE = (
    [{"op": "incast", "nodes": 8}], [{"op": "alltoall", "nodes": 4}], [{"op": "all_reduce", "nodes": 16}],
    [{"op": "incast", "nodes": 4, "service_level": 1}], [{"op": "all_reduce", "nodes": 4}, {"op": "alltoall", "nodes": 3}])
FABRICS = (
    "fabric single_switch:nodes=16,radix=64",
    "fabric torus:dimensions=4x3",
    "fabric dragonfly:nodes=40,groups=5,switches_per_group=4,nodes_per_group=8,switches_per_node=1,endpoints_per_switch=8,"
    "global_ports_per_switch=1,global_links=1,radix=40",
    "fabric dragonfly_plus:nodes=16,groups=4,leaves_per_group=2,spines_per_group=2,nodes_per_group=4,switches_per_node=1,"
    "endpoints_per_leaf=8,global_ports_per_spine=2,global_links=1,radix=40",
    "fabric fat_tree:levels=2,nodes=16,switches_per_node=1,endpoints_per_leaf=16,radix=40,leaves=4,spines=4,uplinks_per_leaf=8",
    "fabric rail_optimized:nodes=16,nodes_per_unit=8,units=2,radix=40,spines=4,uplinks_per_leaf=4")
NETWORKS = ("network efa_p4d", "network tcp:nodes=40", "network slingshot", "nics 1", "network ib_xdr:nodes=9")
LINKS = {
    "single_switch": (), "torus": ("torus",), "dragonfly": ("local", "global"), "dragonfly_plus": ("local", "global"),
    "fat_tree": ("leaf_spine",), "rail_optimized": ("leaf_spine",)}


def _query(machine: Machine, pick: Picker, op: str, nodes: int) -> Query:
    return {"kind": "collective", "platform": machine.name, "op": op, "nodes": min(nodes, machine.nodes),
            "gpus_per_node": machine.gpus if pick.below(3) else 1 + pick.below(machine.gpus), "size_B": pick.size()}


def of_each_machine() -> Iterator[Query]:
    for number, machine in enumerate(WITH_FABRIC):
        pick = Picker(f"cluster {machine.name}")
        for at in range(14):
            op = taken(OPERATIONS, at + 2 * number)
            query = _query(machine, pick, op, taken(NODES if op in RINGS else NODES[:5], at + number))
            if at % 2:
                query["library"] = taken(NCCL[1:], at // 2 + number)
            options = taken(OPTIONS, 3 * at + number)
            if options.get("algorithm") == "tree":
                query["op"] = "all_reduce"
            yield {**query, **(options if query["op"] in RINGS else {})}
        yield {**_query(machine, pick, "alltoall", 8), **taken(ENGINES, number)}
        yield {**_query(machine, pick, "alltoall", 3), **taken(ENGINES, number + 1)}


def of_each_library() -> Iterator[Query]:
    """Every version that spans nodes with every protocol and algorithm."""
    for number, library in enumerate(NCCL[1:]):
        for at, protocol in enumerate(PROTOCOLS):
            machine = taken(WITH_FABRIC, 3 * number + at)
            pick = Picker(f"across {library} {protocol}")
            query = {**_query(machine, pick, taken(RINGS, number + at), taken(NODES, number + at)), "library": library}
            yield {**query, "protocol": protocol}
            yield {**query, **({"op": "all_reduce", "algorithm": "tree"} if at % 2 else {"algorithm": "ring"}), "size_B": pick.size()}


def of_each_switch_algorithm() -> Iterator[Query]:
    """Algorithms that need switches which reduce, or single GPUs of nodes; and one that nobody can force."""
    cases = [("nvls_tree", "all_reduce", 8, {}), ("pat", "all_gather", 1, {}), ("pat", "reduce_scatter", 1, {}),
             ("nvls", "all_reduce", 8, {"collnet": True}), ("collnet_direct", "all_reduce", 8, {"collnet": True}),
             ("collnet_chain", "all_reduce", 8, {"collnet": True}), ("messages", "alltoall", 8, {})]
    for number, (algorithm, op, gpus, options) in enumerate(cases):
        pick = Picker(f"switches {algorithm} {op}")
        for at, platform in enumerate(("hgx-h100", "dgx-b200")):
            yield {"kind": "collective", "platform": platform, "op": op, "nodes": taken((2, 4, 16), number + at), "gpus_per_node": gpus,
                   "size_B": pick.size(), "library": "nccl-2.30", "algorithm": algorithm, **options}


def large() -> Iterator[Query]:
    for name in ("alps", "leonardo", "lumi", "summit"):
        for op, size in (("all_reduce", 1 << 30), ("all_gather", 1 << 20)):
            yield {"kind": "collective", "platform": name, "op": op, "nodes": LARGE, "gpus_per_node": 4, "size_B": size}
    for name in ("alps", "leonardo"):
        yield {"kind": "collective", "platform": name, "op": "alltoall", "nodes": LARGE, "gpus_per_node": 4, "size_B": 2 << 20}
        yield {"kind": "collective", "platform": name, "op": "all_reduce", "nodes": LARGE, "gpus_per_node": 4, "size_B": 64 << 20,
               "library": "mpi-openmpi"}


def of_mpi() -> Iterator[Query]:
    for number, (library, op) in enumerate((library, op) for library in MPI for op in OPERATIONS):
        machine = taken(WITH_FABRIC, number + number // 10)
        pick = Picker(f"mpi across {library} {op}")
        query = {**_query(machine, pick, op, taken(NODES[:6], number)), "library": library}
        if number % 2:
            query["algorithm"] = taken(MPI_ALGORITHMS[op], number // 2)
        if number % 5 == 4 and library != "mpi-staged":
            query["transport"] = "mpi_network"
        yield query


def in_noise() -> Iterator[Query]:
    """Draws of other jobs' traffic, which only leonardo has, and jobs beside, which all fabrics can have."""
    pick = Picker("noise")
    for at in range(16):
        op = taken(("all_reduce", "alltoall", "broadcast", "all_gather"), at)
        query = {**_query(MACHINES["leonardo"], pick, op, taken((2, 8, 24, 64), at // 2)), "noise": pick.below(1000),
                 "samples": taken((5, 20, 50), at)}
        query |= {"service_level": 3} if at % 5 == 4 else {}
        yield {**query, "allocation": "random", "allocation_seed": at} if at % 3 == 1 else query
    for at in range(10):
        a, b = pick.some(range(3456), 2)
        yield {"kind": "p2p", "platform": "leonardo", "src": f"node{a}/gpu{at % 4}", "dst": f"node{b}/gpu1", "size_B": pick.size(),
               "noise": at, "samples": 25, **({"service_level": at % 3} if at % 2 else {})}
    for at, beside in enumerate(BESIDE * 4):
        machine = MACHINES[taken(("leonardo", "alps", "lumi", "lassen"), at)]
        query = {**_query(machine, pick, taken(RINGS, at), 8), "beside": beside}
        if at % 2:
            query |= {"allocation": "random", "allocation_seed": at}
        yield {**query, "noise": at, "samples": 10} if machine.name == "leonardo" and at % 4 == 0 else query


def rings() -> Iterator[Query]:
    for number, machine in enumerate(WITH_FABRIC):
        for at in range(3):
            query = {"kind": "rings", "platform": machine.name, "nodes": 2 + at, "gpus_per_node": machine.gpus,
                     "library": taken(NCCL[1:], at + number)}
            yield {**query, "op": "all_reduce", "size_B": 1 << 20} if at == 1 else query


def fabrics() -> Iterator[Query]:
    """The network of each machine, and every generator in place of one's own."""
    for machine in MACHINES.values():
        yield {"kind": "fabric", "platform": machine.name}
    for edit in FABRICS:
        generator = edit.split()[1].split(":")[0]
        links = "".join(f",links.{name}.bandwidth=20GB/s,links.{name}.latency=300ns,links.{name}.cable=ib_hdr"
                        for name in LINKS[generator])
        for name in ("leonardo", "abci-a100") if generator != "torus" else ("apenet-plus",):
            base = {"platform": name, "edits": [edit + links]}
            yield {"kind": "fabric", **base}
            yield {"kind": "collective", **base, "op": "all_reduce", "nodes": 6, "gpus_per_node": MACHINES[name].gpus,
                   "size_B": 64 << 20}
            yield {"kind": "collective", **base, "op": "alltoall", "nodes": 6, "gpus_per_node": 1, "size_B": 1 << 20}
            yield {"kind": "routes", **base, "src": "node0/gpu0", "dst": "node5/gpu0", "size_B": 1 << 20}
            yield {"kind": "p2p", **base, "src": "node1/gpu0", "dst": "node4/gpu0", "size_B": 1 << 26}


def networks() -> Iterator[Query]:
    """Other networks, and fewer adapters, of each machine."""
    for number, machine in enumerate(WITH_FABRIC):
        for at in range(3):
            yield {"kind": "collective", "platform": machine.name, "edits": [NETWORKS[(number + at) % len(NETWORKS)]],
                   "op": ("all_reduce", "all_gather", "broadcast")[at], "nodes": 2 + at, "gpus_per_node": machine.gpus,
                   "size_B": 1 << (12 + 6 * at)}


def queries() -> Iterator[Query]:
    for group in (of_each_machine, of_each_library, of_each_switch_algorithm, large, of_mpi, in_noise, rings, fabrics, networks):
        yield from group()
