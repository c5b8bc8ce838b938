"""Collectives whose parts have sizes of their own."""
from __future__ import annotations

from typing import Iterator

PARTS = ((1 << 20, 1 << 20, 1 << 20, 1 << 20), (1 << 24, 0, 4096, 1 << 20), (0, 0, 0, 0))
PAIRS = (((0, 1 << 20, 1 << 20, 1 << 20), (1 << 20, 0, 1 << 20, 1 << 20), (1 << 20, 1 << 20, 0, 1 << 20), (1 << 20, 1 << 20, 1 << 20, 0)),
         ((0, 1 << 24, 0, 0), (4096, 0, 0, 0), (0, 0, 0, 1 << 22), (8, 1 << 20, 0, 0)))
MEMBERS = ({"platform": "hgx-h200", "gpus": [0, 1, 2, 3]}, {"platform": "v100-dgx1", "gpus": [0, 1, 2, 4]},
           {"platform": "leonardo", "nodes": 2, "gpus_per_node": 2}, {"platform": "alps", "nodes": 4, "gpus_per_node": 1})
WRONG = ([1, 2, 3, -4], [1, 2, 3, 1.5], "1MiB")  # what a schema can tell; counts are in tests/physics/sizes_per_rank_test.cpp


def queries() -> Iterator[dict[str, object]]:
    for members in MEMBERS:
        for op, lists in (("allgatherv", PARTS), ("alltoallv", PAIRS)):
            for sizes in lists:
                yield {"kind": "collective", **members, "op": op, "sizes_B": sizes}
            yield {"kind": "collective", **members, "op": op, "sizes_B": lists[0], "library": "mpi-openmpi"}
            yield {"kind": "collective", **members, "op": op, "size_B": 4 << 20}
    for op in ("allgatherv", "alltoallv"):
        for sizes in WRONG:
            yield {"kind": "collective", **MEMBERS[0], "op": op, "sizes_B": sizes}
        yield {"kind": "collective", **MEMBERS[0], "op": op, "sizes_B": PARTS[0], "size_B": 4096}
    yield {"kind": "collective", **MEMBERS[0], "op": "all_reduce", "sizes_B": PARTS[0]}
