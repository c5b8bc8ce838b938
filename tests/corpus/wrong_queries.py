"""Queries that must be refused, as lines of text: some are no JSON. What a refusal says is part of the contract."""
from __future__ import annotations

import json
from typing import Iterator

Query = dict[str, object]

P2P = {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 1048576}
FLOWS = {"kind": "flows", "platform": "v100-dgx1", "flows": [["gpu0", "gpu1", 1000000], ["gpu0", "gpu2", 1000000]]}
COLLECTIVE = {"kind": "collective", "platform": "v100-dgx1", "op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 67108864}
ACROSS = {"kind": "collective", "platform": "leonardo", "op": "all_reduce", "nodes": 4, "gpus_per_node": 4, "size_B": 67108864}
MESSAGE = {"kind": "p2p", "platform": "leonardo", "src": "node0/gpu0", "dst": "node9/gpu1", "size_B": 1048576}
RINGS = {"kind": "rings", "platform": "dgx2", "gpus": [0, 1, 2]}
ROUTES = {"kind": "routes", "platform": "v100-dgx1", "src": "gpu0", "dst": "gpu7"}
REPLAY = {"kind": "replay", "platform": "hgx-h200", "trace": "data_parallel", "options": {"ranks": 4, "steps": 1}}
PLACE = {"kind": "place", "platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4}
PLACE_NODES = {"kind": "place", "platform": "alps", "nodes": 8, "job": "all_reduce:64MiB", "ranks": 8}
SHOW = {"kind": "show", "platform": "gx8"}
FABRIC = {"kind": "fabric", "platform": "alps"}
BASES = (P2P, FLOWS, COLLECTIVE, ACROSS, MESSAGE, RINGS, ROUTES, REPLAY, PLACE, PLACE_NODES, SHOW, FABRIC)

CHANGES = (  # to one of the above: a value that it cannot have
    (P2P, "src", ("gpu9", "plx0", 0, "", "node0/gpu0", None)), (P2P, "dst", ("moon", "cpu7", ["gpu1"])),
    (P2P, "size_B", (0, -1, 1.5, "1MiB", 1e300, True, None, 2**53 + 2)),
    (P2P, "transport", ("teleport", "local", "host", "mpi_network", 3)), (P2P, "via", ("gpu7", "gpu12", "nic0", "nic9", "cpu0", 4)),
    (P2P, "engine", ("steam", "", False)), (P2P, "direction", ("up", 1)), (P2P, "timing", ("twice", None)),
    (P2P, "bidirectional", ("yes", 1)), (P2P, "pageable", (True, "no")), (P2P, "chunk_B", (0, 1048576, "1MiB")),
    (P2P, "noise", (1,)), (P2P, "samples", (10,)), (P2P, "service_level", (2,)), (P2P, "solver", ("oracle", 1)),
    (P2P, "platform", ("atari", "", 1)), (P2P, "kind", ("p3p", 7)), (P2P, "colour", ("red",)),
    (P2P, "edits", ("remove gpu0-gpu4", ["explode gpu0"], ["remove gpu0"], ["remove gpu0-gpu9"], ["remove gpu0-gpu5"],
                    ["remove gpu0-gpu4:2"], ["disable nvlink7"],
                    ["add gpu0-gpu5"], ["add gpu0-gpu5:warp9"], ["add gpu0-gpu1:nvlink2"],
                    ["slow gpu3:0.5"], ["slow gpu9:2"], ["scale nvswitch:2"], ["swap nvlink2:nvlink3"],
                    ["set kind=nvlink1:bandwidth=50"], ["set kind=nvlink1:latency=5us"], ["set transport.peer.r9.startup_s=5us"],
                    ["remove plx3-cpu1"], ["fabric dragonfly"], ["remove gpu0-gpu4", "remove gpu0-gpu4"], [3], [""])),
    (FLOWS, "flows", ([], [["gpu0", "gpu1"]], [["gpu0", "gpu8", 1]], [["gpu0", "gpu1", 0]], "gpu0:gpu1", [["cpu0", "cpu1", 8]])),
    (FLOWS, "transport", ("local", "host")), (FLOWS, "bidirectional", (True,)), (FLOWS, "engine", ("direct",)),
    (COLLECTIVE, "gpus", ([0, 0], [0], [], [0, 8], [-1, 0], "0-3", [0, 1.5], {"a": 1}, 8, True, 2.5)),
    (COLLECTIVE, "op", ("fold", "", 2)), (COLLECTIVE, "library", ("telepathy", "nccl-2.99", "mpi-none", 2)),
    (COLLECTIVE, "protocol", ("LL256", "simple", 1)), (COLLECTIVE, "algorithm", ("star", "nvls", "tree", "binomial")),
    (COLLECTIVE, "calls", (0, -5, 1.5, "20")), (COLLECTIVE, "channels", (0, -1, 2.5, "4")), (COLLECTIVE, "nvls", ("yes", 0)), (COLLECTIVE, "collnet", (True, "yes")), (COLLECTIVE, "alternatives", (1,)),
    (COLLECTIVE, "with", ({}, [{}], [{"op": "all_reduce", "gpus": [0, 9], "size_B": 8}], [{"op": "no", "gpus": [0, 1], "size_B": 8}],
                          [{"op": "all_reduce", "gpus": [0, 1], "size_B": 8, "calls": 2}])),
    (COLLECTIVE, "noise", (1,)), (COLLECTIVE, "beside", ([{"op": "incast", "nodes": 4}],)), (COLLECTIVE, "transport", ("peer",)),
    (COLLECTIVE, "gpus_per_node", (4,)), (COLLECTIVE, "engine", ("reduced",)),
    (ACROSS, "nodes", (1, 0, 99999, "4")), (ACROSS, "gpus_per_node", (0, 5, None)), (ACROSS, "gpus", ([0, 1],)),
    (ACROSS, "engine", ("direct", "fast")), (ACROSS, "algorithm", ("nvls", "binomial", "collnet_chain", "pat")), (ACROSS, "library", ("nccl-2.3",)),
    (ACROSS, "noise", (-1, "x", 1.5)), (ACROSS, "samples", (0, 10)), (ACROSS, "service_level", (16, -1)),
    (ACROSS, "allocation", ("spread",)), (ACROSS, "allocation_seed", (3,)), (ACROSS, "platform", ("v100-dgx1", "gx8")),
    (ACROSS, "beside", ([{"op": "gossip", "nodes": 4}], [{"op": "incast", "nodes": 1}], [{"op": "incast"}],
                        [{"op": "incast", "nodes": 3455}], {})),
    (MESSAGE, "src", ("node9999/gpu0", "node0/gpu7", "nodex/gpu0", "gpu0", "node0/", "node9/gpu1")),
    (MESSAGE, "transport", ("staged", "pinned", "gpudirect_rdma")), (MESSAGE, "via", ("gpu1",)), (MESSAGE, "timing", ("thrice",)),
    (RINGS, "gpus", ([3], [0, 16], 3, False)), (RINGS, "library", ("mpi-openmpi", "nccl")), (RINGS, "op", ("all_reduce",)),
    (RINGS, "nodes", (2,)), (RINGS, "src", ("gpu0",)),
    (ROUTES, "dst", ("gpu9", "node1/gpu0")), (ROUTES, "k", (2,)), (ROUTES, "size_B", (0, "64MiB")),
    (REPLAY, "trace", ("no-such-trace", "", 4)), (REPLAY, "ranks", ("2", 1.5)),
    (REPLAY, "placement", ([0, 0, 1, 2], [0, 1], [9, 1, 2, 3])),
    (REPLAY, "options", ({"ranks": 0}, {"colour": "red"}, {"ranks": "many"}, {"forward": "10"}, [1])),
    (REPLAY, "solver", ("oracle",)), (REPLAY, "host_scale", (-1, "fast")), (REPLAY, "nodes", (2, 0)),
    (REPLAY, "gpus_per_node", (2, 0)),
    (REPLAY, "library", ("nccl-3",)), (REPLAY, "transport", ("peer",)), (REPLAY, "platform", ("rtx2080-sli",)),
    (PLACE, "ranks", (0, 9, "4")), (PLACE, "job", ("all_reduce", "all_reduce:8M", "fold:1MiB", {}, {"op": "fold", "size_B": 8}, 8)),
    (PLACE, "busy", (["gpu8"], [8], "0-3", [0, 1, 2, 3, 4])), (PLACE, "objective", ("cost", "both")), (PLACE, "top", (0, -1)),
    (PLACE, "with", ([{"job": "all_reduce:1MiB", "gpus": [0]}], [{"job": "data_parallel", "gpus": [0, 1]}])),
    (PLACE_NODES, "nodes", (0, 99999)), (PLACE_NODES, "ranks", (6, 4, 400)), (PLACE_NODES, "busy", ([8], ["node1", 1], ["gpu0"])),
    (PLACE_NODES, "library", ("mpi-cray",)), (PLACE_NODES, "job", ("data_parallel",)), (PLACE_NODES, "platform", ("gx8",)),
    (SHOW, "gpus", ([0],)), (FABRIC, "nodes", (4,)), (FABRIC, "platform", ("gx8", "dgx2")))

LINES = ("this is no JSON", "[1, 2, 3]", '"p2p"', "17", "{}", '{"id": 14, "id": 15}', '{"kind": "p2p"', "null", "{'kind': 'p2p'}",
         '{"id": 15, "kind": "p2p", "platform": "gx8", "src": "gpu0", "dst": "gpu1", "size_B": 1e999}', '{"kind": "\\ud800"}')


def queries() -> Iterator[Query]:
    """Without each key in turn, then with wrong values, then with keys of other kinds."""
    for base in BASES:
        for key in base:
            if key not in ("kind", "options"):
                yield {other: value for other, value in base.items() if other != key}
    for base, key, values in CHANGES:
        for value in values:
            yield {**base, key: value}
    for base in BASES:
        yield {**base, "launch_time": 1}


def lines() -> Iterator[str]:
    yield from LINES
    yield json.dumps({**P2P, "id": {"study": 7}})  # nothing wrong: an id may be anything
    yield json.dumps(P2P)
