"""Queries of machines that are not: what-if edits of every verb; and the other solver."""
from __future__ import annotations

from typing import Iterator

from machines import ALL, MACHINES, RINGS, WITH_FABRIC, Machine, Picker, gpu, taken

Query = dict[str, object]

EVERYWHERE = ("slow gpu0:1.2", "slow cpu0:2")
NATIVE = ("p100-dgx1", "dgx2", "gx8", "hgx-h200", "summit", "lumi", "rtx2080-sli", "apenet-plus")


def _questions(machine: Machine, pick: Picker) -> Iterator[Query]:
    base = {"platform": machine.name}
    ends = [gpu(one) for one in pick.some(range(machine.gpus), 2)] if machine.gpus > 1 else ["gpu0", "cpu0"]
    yield {"kind": "p2p", **base, "src": ends[0], "dst": ends[1], "size_B": pick.size()}
    if machine.gpus > 1:
        yield {"kind": "collective", **base, "op": pick.one(RINGS), "gpus": list(range(machine.gpus)), "size_B": pick.size()}
        yield {"kind": "rings", **base, "gpus": list(range(min(machine.gpus, 5)))}
        yield {"kind": "routes", **base, "src": "gpu0", "dst": "gpu1", "size_B": 64 << 20}
        yield {"kind": "flows", **base, "flows": [[ends[0], ends[1], pick.size()], [ends[1], ends[0], pick.size()]]}


def _cluster_questions(machine: Machine, pick: Picker) -> Iterator[Query]:
    base = {"platform": machine.name}
    yield {"kind": "collective", **base, "op": pick.one(RINGS), "nodes": 4, "gpus_per_node": machine.gpus, "size_B": pick.size()}
    yield {"kind": "p2p", **base, "src": "node0/gpu0", "dst": "node3/gpu0", "size_B": pick.size()}
    yield {"kind": "fabric", **base}


def one_edit() -> Iterator[Query]:
    """Each edit of each machine with two questions, those of its network between nodes for edits of that."""
    for machine in ALL:
        pick = Picker(f"edit {machine.name}")
        for at, edit in enumerate(EVERYWHERE + machine.edits):
            if edit.startswith("fabric") or edit.startswith("set noise"):
                asked = list(_cluster_questions(machine, pick))
            else:
                questions = list(_questions(machine, pick))
                asked = [questions[at % len(questions)], questions[(at + 2) % len(questions)]]
                if machine.nodes and at == 0:
                    asked += list(_cluster_questions(machine, pick))[:1]
            yield from ({**question, "edits": [edit]} for question in asked)


def several_edits() -> Iterator[Query]:
    """Two at once, written in any order, and in the other ways in which an edit may be written."""
    for number, machine in enumerate(ALL):
        pick = Picker(f"edits {machine.name}")
        edits = [edit for edit in EVERYWHERE + machine.edits if not edit.startswith("fabric")]
        for question in list(_questions(machine, pick))[:2]:
            two = pick.some(edits, 2)
            verb, what = two[0].split(" ", 1)
            yield {**question, "edits": [taken((two[0], f"--{two[0]}", f"{verb}={what}"), number), two[1]]}


def native() -> Iterator[Query]:
    for name in NATIVE:
        machine = MACHINES[name]
        pick = Picker(f"native {name}")
        for question in list(_questions(machine, pick))[:5]:
            if question["kind"] != "rings":
                yield {**question, "solver": "native"}
                yield {**question, "solver": "fluid"}
    for machine in WITH_FABRIC[:4]:
        pick = Picker(f"native {machine.name} nodes")
        yield {"kind": "collective", "platform": machine.name, "op": "all_reduce", "nodes": 2, "gpus_per_node": 1,
               "size_B": pick.size(), "solver": "native"}


def queries() -> Iterator[Query]:
    for group in (one_edit, several_edits, native):
        yield from group()
