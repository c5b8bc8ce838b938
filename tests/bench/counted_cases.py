"""What counts.py counts: questions, batches, replays, readers, fits and searches, each of a fixed amount of work. No help text, no Python of ours: a
sweep is its batch."""
from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import goal_patterns
import many_queries
from compare import ENVIRONMENT, Case

DATA = "calibrate/data/p100-dgx1"
COLLECTIVE = ["predict", "collective", "--platform"]
CLUSTER = [*COLLECTIVE, "leonardo", "--nodes", "256", "--gpus-per-node", "4", "--op"]
QUESTIONS = {
    "start": ["--version"],
    "copy": ["predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size", "1MiB"],
    "flows, 3": ["predict", "flows", "--platform", "v100-dgx1", *(f"--flow=gpu0:gpu{i}:64MiB" for i in (1, 2, 3))],
    "all_reduce, 8 GPUs": [*COLLECTIVE, "hgx-h200", "--op", "all_reduce", "--size", "1GiB"],
    "all_reduce, 8 GPUs of a cube": [*COLLECTIVE, "v100-dgx1", "--op", "all_reduce", "--size", "1GiB"],
    "all_reduce, 1,024 GPUs": [*CLUSTER, "all_reduce", "--size", "1GiB"],
    "alltoall, 1,024 GPUs": [*CLUSTER, "alltoall", "--size", "2MiB"],
    "routes": ["routes", "--platform", "v100-dgx1", "--src", "gpu0", "--dst", "gpu7", "--size", "64MiB"],
    "rings, 16 GPUs": ["rings", "--platform", "dgx2", "--gpus", "0-15"],
    "place, 5 of 8 GPUs": ["place", "--platform", "v100-dgx1", "--job", "all_reduce:64MiB", "--ranks", "5"],
    "place, 16 of 64 nodes": ["place", "--platform", "alps", "--nodes", "64", "--job", "all_reduce:256MiB", "--ranks", "16", "--busy", "0-3"],
    "schedule, a day": ["schedule", "apps-traces/jobs/day-dgx1.jsonl", "--platform", "p100-dgx1", "--policy", "packed"],
    "validate, a claim": ["validate", "TPDS-029"],
    "fit, 2 files": ["calibrate", "fit", f"{DATA}/p2p-message-size.json", f"{DATA}/p2p-matrix.json", "--topology", "p100-dgx1", "--bootstrap", "0",
                     "--out", "/dev/stdout"]}
BATCHES = {"p2p": 2000, "all_reduce_8": 500, "collective_subsets": 300, "alltoall_8": 500, "flows_12": 150, "rings": 500, "place": 20}
SWEEP_GPUS, SWEEP_SIZES = 8, 30
OPERATIONS = 16000  # of a trace
TI_STEPS, CHAKRA_NODES, TABLE_ROWS, RATE_GBps = 400, 1500, 1000, 7.0
RANKS = 8
NOT_NORMAL = (5,)  # exit code of a verdict


def batches() -> Iterator[Case]:
    for kind, count in BATCHES.items():
        yield Case(f"batch, {count:,} {kind}", "linkcast", ["predict", "--batch", "-"], many_queries.lines(kind, count))
    requests = [{"kind": "collective", "op": "all_reduce", "platform": "v100-dgx1", "gpus": list(range(gpus)), "size_B": 2 ** power}
             for gpus in range(2, SWEEP_GPUS + 1) for power in range(SWEEP_SIZES)]
    lines = "".join(json.dumps({"id": number, **query}) + "\n" for number, query in enumerate(requests))
    yield Case(f"batch of a sweep, {len(requests)} rows", "linkcast", ["predict", "--batch", "-", "--rows"], lines)


def ti_lines(rank: int) -> Iterator[str]:
    """A ring of SMPI: what each step computes, sends, receives and sums."""
    yield f"{rank} init"
    for step in range(TI_STEPS):
        yield f"{rank} compute {1000000 + 1000 * ((rank + step) % RANKS)}"
        yield f"{rank} irecv {(rank - 1) % RANKS} 0 4096 0"
        yield f"{rank} send {(rank + 1) % RANKS} 0 4096 0"
        yield f"{rank} waitall 1"
        yield f"{rank} allreduce 512 0 0"
    yield f"{rank} finalize"


def chakra_text(rank: int) -> str:
    """Chakra's JSON form: compute and all_reduce in turns, each after the one before."""
    nodes = [{"version": "0.0.4"}]
    for number in range(1, CHAKRA_NODES + 1):
        node = {"id": number, "name": f"n{number}", "dataDeps": [number - 1] if number > 1 else []}
        if number % 2:
            nodes.append({**node, "type": "COMP_NODE", "durationMicros": 50 + rank % 3})
        else:
            nodes.append({**node, "type": "COMM_COLL_NODE",
                          "attr": [{"name": "comm_type", "int64Val": 0}, {"name": "comm_size", "uint64Val": 65536 * number}]})
    return "\n".join(map(json.dumps, nodes)) + "\n"


def table_text() -> str:
    """Output of nccl-tests with many rows."""
    head, *_ = Path("tests/input/import/nccl-all_reduce_perf-plain.txt").read_text().partition("     1048576")
    row = "{:12d} {:13d}     float     sum      -1 {:8.2f}    {:.2f}    {:.2f}      0 {:8.2f}    {:.2f}    {:.2f}      0\n"
    return head + "".join(row.format(4 * at, at, *2 * (4 * at / (1000 * RATE_GBps), RATE_GBps, RATE_GBps)) for at in range(2 ** 18, 2 ** 18 + TABLE_ROWS))


def write_inputs(folder: Path) -> dict[str, list[str]]:
    """Importer's arguments by the name of what it reads."""
    imports = {}
    for pattern, ranks in (("ring", 8), ("stencil", 64)):
        path = folder / f"{pattern}-{ranks}.goal"
        path.write_text(goal_patterns.goal(pattern, ranks, OPERATIONS)[0])
        imports[f"GOAL {pattern}, {ranks} ranks"] = ["goal", str(path)]
    for rank in range(RANKS):
        (folder / f"ti-{rank}").write_text("\n".join(ti_lines(rank)) + "\n")
        (folder / f"chakra.{rank}.et").write_text(chakra_text(rank))
    (folder / "ti.txt").write_text("".join(f"ti-{rank}\n" for rank in range(RANKS)))
    (folder / "nccl.txt").write_text(table_text())
    imports["TI, 8 ranks"] = ["simgrid-ti", str(folder / "ti.txt"), "--option", "flops-per-second=1e12"]
    imports["Chakra, 8 ranks"] = ["chakra", *(str(folder / f"chakra.{rank}.et") for rank in range(RANKS))]
    return imports


def replays(folder: Path, program: Path) -> Iterator[Case]:
    """Readers of traces and those traces played. @param program  imports them"""
    for name, words in write_inputs(folder).items():
        trace = folder / f"{words[0]}-{name.split()[-2]}.jsonl"
        subprocess.run([program, "import", *words, "--out", trace], env=ENVIRONMENT, stderr=subprocess.DEVNULL, check=True)
        replay = ["replay", str(trace), "--platform", "hgx-h200", *(["--nodes", "8"] if "64" in name else [])]
        yield Case(f"import, {name}", "linkcast", ["import", *words])
        yield Case(f"replay, {name}", "linkcast", replay)
        if words[0] == "goal":
            yield Case(f"replay in one run, {name}", "linkcast", [*replay, "--no-interval"])
    yield Case("replay, transformer on 8 GPUs", "linkcast", ["replay", "transformer", "--platform", "hgx-h200", *(
        word for option in ("tp=2", "pp=2", "dp=2", "layers=4", "steps=1") for word in ("--option", option))])
    yield Case(f"import, nccl-tests, {TABLE_ROWS:,} rows", "linkcast",
               ["import", "nccl-tests", str(folder / "nccl.txt"), "--machine", "box", "--topology", "hgx-h100"])


def cases(folder: Path, program: Path) -> list[Case]:
    """@param folder  empty, for files that are read"""
    questions = [Case(name, "linkcast", words) for name, words in QUESTIONS.items()]
    diagnose = Case("diagnose", "linkcast", ["diagnose", "--platform", "hgx-h200", "--format", "nccl-tests", "tests/input/import/nccl-tests-all-gather.json"],
                    ends_with=NOT_NORMAL)
    return [*questions, diagnose, *batches(), *replays(folder, program)]
