"""Queries about collectives and rings inside a node."""
from __future__ import annotations

from typing import Iterator

from machines import (ENGINES, LIBRARIES, MACHINES, MPI, MPI_ALGORITHMS, NCCL, OPERATIONS, PROTOCOLS, RCCL, RINGS, WITH_PAIRS, Machine, Picker,
                      taken)

Query = dict[str, object]

OPTIONS = (
    {}, {"alternatives": True}, {"calls": 1}, {"protocol": "Simple"}, {"algorithm": "ring"}, {"algorithm": "tree"}, {"nvls": False},
    {"calls": 100}, {"protocol": "LL"}, {"algorithm": "ring", "protocol": "LL128"}, {"algorithm": "tree", "protocol": "Simple"},
    {"nvls": False, "alternatives": True}, {"algorithm": "nvls"}, {"calls": 3, "protocol": "LL128"})
EVERY_LIBRARY_ON = ("v100-dgx1", "hgx-h200", "p100-dgx1", "summit")  # two generations of wiring, a switch, links to the CPU


def _query(machine: Machine, pick: Picker, op: str, count: int) -> Query:
    return {"kind": "collective", "platform": machine.name, "op": op, "gpus": pick.subset(machine, count), "size_B": pick.size()}


def _options(op: str, options: Query) -> Query:
    """Those that an operation can have: messages take no protocol, and trees and multicast are of all_reduce."""
    if op not in RINGS:
        return {key: options[key] for key in ("calls", "alternatives") if key in options}
    return options if op == "all_reduce" or options.get("algorithm", "ring") == "ring" else {"alternatives": True}


def _library(op: str, library: str | None) -> Query:
    """Sends and receives came with 2.7."""
    if op not in RINGS and library in (None, "nccl-2.3"):
        library = "nccl-2.7"
    return {} if library is None else {"library": library}


def of_each_machine() -> Iterator[Query]:
    """Operations, versions, sizes of the subset and options in turn, each at another pace."""
    for number, machine in enumerate(WITH_PAIRS):
        pick = Picker(f"collective {machine.name}")
        for at in range(18):
            op = taken(OPERATIONS, at + number)
            query = _query(machine, pick, op, 2 + at % (machine.gpus - 1))
            query |= _library(op, taken(NCCL, at + at // 8 + number) if at % 3 else None)
            yield {**query, **_options(op, taken(OPTIONS, 5 * at + number))}
        for at, options in enumerate(OPTIONS):  # all of them for the operation that has the most
            yield {**_query(machine, pick, "all_reduce", machine.gpus - at % 2 * (machine.gpus > 2)), **options,
                   "library": taken(NCCL[4:], at + number)}


def of_each_library() -> Iterator[Query]:
    """Every version, operation and protocol on all GPUs of some machines."""
    for number, (library, op) in enumerate((library, op) for library in NCCL for op in OPERATIONS):
        machine = MACHINES[taken(EVERY_LIBRARY_ON, number + number // 9)]
        pick = Picker(f"library {library} {op}")
        query = {"kind": "collective", "platform": machine.name, "op": op, "gpus": list(range(machine.gpus)),
                 "size_B": pick.size(), "library": library}
        yield {**query, "protocol": taken(PROTOCOLS, number)} if op in RINGS else query
        yield {**_query(machine, pick, op, 2 + pick.below(machine.gpus - 1)), "library": library, "alternatives": True}


def of_each_subset_size() -> Iterator[Query]:
    for name in ("p100-dgx1", "v100-dgx1", "dgx2", "gx8", "hgx-h100"):
        machine = MACHINES[name]
        pick = Picker(f"subsets {name}")
        for count in range(2, machine.gpus + 1):
            yield {**_query(machine, pick, "all_reduce", count), "size_B": 64 << 20}
            yield {**_query(machine, pick, pick.one(RINGS), count), "library": pick.one(NCCL[4:])}


def together() -> Iterator[Query]:
    """Several communicators that start at the same moment."""
    for number, machine in enumerate(WITH_PAIRS):
        pick = Picker(f"with {machine.name}")
        for at in range(3):
            others: list[Query] = []
            for _ in range(1 + at % 2):
                other = _query(machine, pick, taken(("all_reduce", "broadcast", "all_gather", "reduce"), at + number),
                               2 + pick.below(machine.gpus - 1))
                others.append({key: other[key] for key in ("op", "gpus", "size_B")})
            yield {**_query(machine, pick, taken(RINGS, at + number), min(4, machine.gpus)), "with": others}


def of_mpi() -> Iterator[Query]:
    """Every MPI library and operation with its own choice and with an algorithm that is asked for."""
    for number, (library, op) in enumerate((library, op) for library in MPI for op in OPERATIONS):
        machine = taken(WITH_PAIRS, number)
        pick = Picker(f"mpi {library} {op}")
        query = {**_query(machine, pick, op, 2 + pick.below(machine.gpus - 1)), "library": library}
        yield query
        other = {**query, "size_B": pick.size(), "algorithm": taken(MPI_ALGORITHMS[op], number)}
        yield {**other, "alternatives": True} if number % 3 == 0 else other


def of_engines() -> Iterator[Query]:
    """Inference engines' own kernels, asked for and as they choose, below and above their thresholds, and what they leave to NCCL."""
    for number, (library, algorithms) in enumerate(ENGINES.items()):
        for at, name in enumerate(("hgx-h200", "hgx-h100", "dgx-a100", "l40s")):
            machine = MACHINES[name]
            pick = Picker(f"engine {library} {name}")
            gpus = list(range((2, 4, 8)[(at + number) % 3]))
            query = {"kind": "collective", "platform": name, "op": "all_reduce", "gpus": gpus, "size_B": pick.size(), "library": library}
            yield query
            yield {**query, "size_B": 65536, "algorithm": algorithms[at % len(algorithms)]}
            yield {**query, "op": OPERATIONS[(at + number) % len(OPERATIONS)]}


def of_each_algorithm() -> Iterator[Query]:
    """Every algorithm of messages for every operation that it can do, few ranks and many, small and large."""
    for number, (op, algorithm) in enumerate((op, algorithm) for op, able in MPI_ALGORITHMS.items() for algorithm in able):
        pick = Picker(f"algorithm {op} {algorithm}")
        for library in ("mpi-mpich", "mpi-staged"):
            machine = taken(WITH_PAIRS, number + 5 * len(library))
            yield {**_query(machine, pick, op, machine.gpus), "library": library, "algorithm": algorithm}


def rings() -> Iterator[Query]:
    for number, machine in enumerate(WITH_PAIRS):
        pick = Picker(f"rings {machine.name}")
        base = {"kind": "rings", "platform": machine.name}
        yield {**base, "gpus": list(range(machine.gpus))}
        for at, library in enumerate(NCCL):
            query = {**base, "gpus": pick.subset(machine, 2 + pick.below(machine.gpus - 1)), "library": library}
            if (at + number) % 3 == 1:
                query |= {"op": pick.one(RINGS), "size_B": pick.size()}
            yield {**query, "nvls": False} if (at + number) % 4 == 2 else query


def named() -> Iterator[Query]:
    """Every library by its name, also the MPIs, in a question about rings: those refuse."""
    for library in LIBRARIES:
        yield {"kind": "rings", "platform": "leonardo", "gpus": [0, 1, 2], "library": library}


def of_channels() -> Iterator[Query]:
    """As many thread blocks as a query names, on rings, trees and messages."""
    for name in ("hgx-h100", "v100-dgx1", "leonardo"):
        machine = MACHINES[name]
        pick = Picker(f"channels {name}")
        for at, op in enumerate(OPERATIONS):
            options = {"protocol": taken(PROTOCOLS, at), "algorithm": "ring"} if op in RINGS else {}
            query = {**_query(machine, pick, op, 2 + at % (machine.gpus - 1)), **options}
            yield {**query, "library": taken(NCCL[4:], at), "channels": taken((1, 2, 4, 16, 64), at)}
        yield {**_query(machine, pick, "all_reduce", machine.gpus), "library": "nccl-2.18", "channels": 4, "algorithm": "tree"}
    for library in RCCL:
        for name in ("lumi", "mi300x"):
            query = _query(MACHINES[name], Picker(f"{library} {name}"), "all_reduce", MACHINES[name].gpus)
            yield {**query, "library": library}
            yield {**query, "library": library, "algorithm": "all_pairs"}


def queries() -> Iterator[Query]:
    for group in (of_each_machine, of_each_library, of_each_subset_size, together, of_mpi, of_engines, of_each_algorithm, of_channels, rings,
                  named):
        yield from group()
