#!/usr/bin/env python3
"""What an answer costs, of one build or of two that take turns: user seconds and peak memory, one JSON line a case.

    aims.py PROGRAM [BEFORE] [--only WORD] [--limit 30]

Cases: `many/...` different queries a second, cold (no line asked twice) and warm (the same lines once more in the same batch: what the
program keeps from one query to the next is there); `start` of a process with one answer; `replay/...` events a second, the three runs of an
interval counted as one, and reading of traces; `scale/...` 32,768 GPUs; `growth/...` exponents of time against flows. BEFORE is run beside it and the ratio
printed: more than 1 is faster. A case is ended after --limit seconds of CPU time and its figure then says `more_than`."""
from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import goal_patterns  # noqa: E402
import many_queries  # noqa: E402

GOAL_OPERATIONS = 640000
COUNTS = {"place": 500, "flows_12": 3000}
MANY = 10000
NODES, GPUS_PER_NODE = 8192, 4
TREE = {"levels": 3, "nodes": NODES, "switches_per_node": 1, "endpoints_per_leaf": 32, "pods": 32, "leaves_per_pod": 32, "aggregations_per_pod": 32,
        "uplinks_per_leaf": 32, "cores": 1024, "uplinks_per_aggregation": 32, "radix": 64,
        **{f"links.{name}.{key}": value for name in ("leaf_aggregation", "aggregation_core")
           for key, value in (("cable", "ib_hdr"), ("bandwidth", "25GB/s"), ("latency", "200ns"), ("source", "assumed"))}}
FABRICS = {"dragonfly": ("alps", {"nodes": NODES, "groups": 64, "global_links": 8}),
           "dragonfly_plus": ("leonardo", {"nodes": NODES, "groups": 46, "global_links": 8}),
           "fat_tree": ("leonardo", TREE)}
SIZES = (1 << 18, 1 << 20)  # bytes of irregular traffic


@dataclass
class Case:
    name: str
    arguments: list[str]
    stdin: str = ""
    amount: float = 0  # of what it does, so that a rate can be said
    unit: str = ""
    extra: dict = field(default_factory=dict)
    without: str = ""  # name of the case whose time is taken off
    exit_code: int = 0


def fabric_edit(kind: str) -> list[str]:
    platform, keys = FABRICS[kind]
    return ["--platform", platform, "--fabric", f"{kind}:" + ",".join(f"{key}={value}" for key, value in keys.items())]


def many() -> list[Case]:
    cases = []
    for kind in many_queries.KINDS:
        count = COUNTS.get(kind, MANY)
        lines = many_queries.lines(kind, count)
        batch = ["predict", "--batch", "-"]
        cases += [Case(f"many/{kind}/first", batch, lines.split("\n", 1)[0] + "\n"),
                  Case(f"many/{kind}/cold", batch, lines, count, "queries/s", without=f"many/{kind}/first"),
                  Case(f"many/{kind}/warm", batch, lines + lines, count, "queries/s", without=f"many/{kind}/cold")]
    return cases


def event_lines(rank: int, ranks: int, node: int, first: int):
    """Four layers, an all_reduce in the node, a message to the next rank, one call across nodes."""
    head = f'{{"rank":{rank},"kind":'
    for layer in range(4):
        yield head + f'"compute","host_s":1.25e-05,"name":"layer{layer}","id":{first + layer},"time_s":{100 + rank % 7}.5e-6}}'
    yield head + f'"collective","stream":"node","id":{first + 4},"after":[{first + 3}],"op":"all_reduce","group":"node{rank // node}","size_B":4194304}}'
    yield head + f'"send","stream":"out","after":[{first + 3}],"peer":{(rank + 1) % ranks},"size_B":65536}}'
    yield head + f'"recv","stream":"in","peer":{(rank + ranks - 1) % ranks},"size_B":65536}}'
    if ranks > node:
        yield head + f'"collective","stream":"across","after":[{first + 4}],"op":"all_reduce","group":"across{rank % node}","size_B":1048576}}'
    else:
        yield head + f'"compute","stream":"across","after":[{first + 4}],"time_s":2e-5}}'
    yield head + '"sync"}'
    yield head + '"step"}'


def write_trace(path: Path, ranks: int, steps: int, node: int) -> int:
    """@returns events"""
    groups = {f"node{n}": list(range(n * node, (n + 1) * node)) for n in range(ranks // node)}
    if ranks > node:
        groups |= {f"across{k}": list(range(k, ranks, node)) for k in range(node)}
    events = 0
    with path.open("w") as out:
        out.write(json.dumps({"schema": "trace/1", "name": "bench", "ranks": ranks, "source": "generated", "launch_s": 5e-6, "gap_s": 1e-6, "groups": groups}) + "\n")
        for step in range(steps):
            for rank in range(ranks):
                for line in event_lines(rank, ranks, node, 10 * step + 1):
                    out.write(line + "\n")
                    events += 1
    return events


def replays(folder: Path) -> list[Case]:
    few, many_ranks, wide = folder / "8.jsonl", folder / "512.jsonl", folder / "512-by-4.jsonl"
    events = write_trace(few, 8, 5000, 8), write_trace(many_ranks, 512, 60, 8), write_trace(wide, 512, 60, 4)
    megabytes = few.stat().st_size / 1e6
    return [Case("replay/8 ranks", ["replay", str(few), "--platform", "hgx-h200"], amount=events[0], unit="events/s"),
            Case("replay/512 ranks", ["replay", str(many_ranks), "--platform", "hgx-h200", "--nodes", "64"], amount=events[1], unit="events/s"),
            Case("replay/512 ranks, dragonfly+", ["replay", str(wide), "--platform", "leonardo", "--nodes", "128"], amount=events[2], unit="events/s"),
            Case("replay/reading", ["check", str(few)], amount=megabytes, unit="MB/s")]


def goals(folder: Path, program: Path) -> list[Case]:
    """Messages of GOAL files, in one run and with an interval. @param program  imports them"""
    cases = []
    for pattern in goal_patterns.PATTERNS:
        for ranks in (8, 64):
            goal, trace = folder / f"{pattern}-{ranks}.goal", folder / f"{pattern}-{ranks}.jsonl"
            text, operations = goal_patterns.goal(pattern, ranks, GOAL_OPERATIONS)
            goal.write_text(text)
            subprocess.run([program, "import", "goal", goal, "--out", trace], stderr=subprocess.DEVNULL, check=True)
            name, replay = f"replay/goal {pattern}, {ranks} ranks", ["replay", str(trace), "--platform", "hgx-h200", *(["--nodes", str(ranks // 8)] if ranks > 8 else [])]
            cases += [Case(f"{name}, import", ["import", "goal", str(goal)], amount=operations, unit="operations/s"),
                      Case(name, replay, amount=operations, unit="operations/s"),
                      Case(f"{name}, one run", [*replay, "--no-interval"], amount=operations, unit="operations/s")]
    return cases


def step(replicas: int, machine: list[str]) -> Case:
    """Of a transformer, one batch of each replica; 64 GPUs a replica."""
    options = {"tp": 4, "pp": 16, "dp": replicas, "layers": 32, "batch": replicas, "steps": 1}
    words = [word for key, value in options.items() for word in ("--option", f"{key}={value}")]
    return Case(f"scale/step of {64 * replicas:,} GPUs", ["replay", "transformer", *words, *machine, "--nodes", str(16 * replicas)])


def scale() -> list[Case]:
    cases = [Case(f"scale/{op}/{kind}", ["predict", "collective", *fabric_edit(kind), "--nodes", str(NODES), "--gpus-per-node", str(GPUS_PER_NODE),
                                         "--op", op, "--size", "2MiB"])
             for op in ("all_reduce", "alltoall") for kind in FABRICS]
    noisy = ["predict", "collective", "--platform", "leonardo", "--nodes", "256", "--gpus-per-node", "4", "--op", "alltoall", "--size", "2MiB", "--noise", "1", "--samples", "200"]
    return [Case("scale/validate", ["validate"], exit_code=4),  # 4: not all claims hold
            *cases, step(256, fabric_edit("dragonfly")),
            step(1568, ["--platform", "alps", "--fabric", "dragonfly:nodes=25088,groups=196,global_links=2", "--max-memory", "12GiB"]),
            Case("scale/noise, 200 samples, 1,024 GPUs", noisy)]


def incast(flows: int) -> dict:
    draw = random.Random(flows)
    return {"kind": "flows", "platform": "leonardo", "flows": [[f"node{i // 4 + 1}/gpu{i % 4}", "node0/gpu0", draw.randint(*SIZES)] for i in range(flows)]}


def irregular(gpus: int) -> dict:
    draw = random.Random(gpus)
    rows = [[draw.randint(*SIZES) if i != j else 0 for j in range(gpus)] for i in range(gpus)]
    return {"kind": "collective", "op": "alltoallv", "platform": "leonardo", "nodes": gpus // 4, "gpus_per_node": 4, "engine": "direct", "sizes_B": rows}


def side_by_side(collectives: int) -> dict:
    """Each on 3 nodes anywhere, but for the first; sizes of a factor 4."""
    draw = random.Random(collectives)
    nodes = draw.sample(range(2, 3456), 3 * (collectives - 1))
    others = [{"op": "all_reduce", "size_B": draw.randint(1 << 24, 1 << 26), "gpus": [0, 1, 2, 3], "nodes": nodes[3 * i:3 * i + 3]} for i in range(collectives - 1)]
    return {"kind": "collective", "op": "all_reduce", "platform": "leonardo", "nodes": 2, "gpus_per_node": 4, "size_B": 1 << 25, "with": others}


def growth() -> list[Case]:
    batch = ["predict", "--batch", "-"]
    return [*(Case(f"growth/incast/{n}", batch, json.dumps(incast(n)) + "\n", extra={"flows": n}, without="start") for n in (256, 1024, 4096)),
            *(Case(f"growth/irregular alltoall/{n}", batch, json.dumps(irregular(n)) + "\n", extra={"flows": n * (n - 1)}, without="start")
              for n in (32, 64, 128, 256, 512, 1024)),
            *(Case(f"growth/collectives side by side/{n}", batch, json.dumps(side_by_side(n)) + "\n", extra={"flows": n}, without="start") for n in (64, 256, 1000))]


def run(program: Path, case: Case, limit_s: int) -> dict:
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as out:
        stdin.write(case.stdin)
        stdin.seek(0)
        process = subprocess.Popen([str(program), *case.arguments], stdin=stdin, stdout=out, stderr=subprocess.DEVNULL, env={**os.environ, "LINKCAST_LOG": "progress=off"},
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        failed = process.returncode > 0 and process.returncode != case.exit_code or any('"error"' in line for line in out)
    made = {"user_s": usage.ru_utime, "peak_MiB": usage.ru_maxrss // 1024}
    if process.returncode < 0:
        made["more_than"] = True
    return {"failed": True} if failed else made


def figures(made: dict, case: Case, of: dict) -> dict:
    """What is printed of a run: times without that of another case, rates."""
    if "failed" in made:
        return made
    taken_s = made["user_s"] - of.get(case.without, {}).get("user_s", 0)
    out = {**made, "user_s": round(max(taken_s, 1e-3), 4)}
    if case.unit:
        out[case.unit] = round(case.amount / out["user_s"])
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--limit", type=int, default=30, help="seconds of CPU time of a case")
    o = parser.parse_args()
    start = Case("start", ["predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size", "1MiB"])
    with tempfile.TemporaryDirectory() as folder:
        cases = [start, *(many() if "many".startswith(o.only[:4]) else []), *([*replays(Path(folder)), *goals(Path(folder), o.program.resolve())] if "replay".startswith(o.only[:6]) else []), *scale(), *growth()]
        programs = {"after": o.program, **({"before": o.before} if o.before else {})}
        raw: dict[str, dict[str, dict]] = {which: {} for which in programs}
        shown: dict[str, dict[str, dict]] = {which: {} for which in programs}
        for case in cases:
            if case is not start and o.only not in case.name:
                continue
            line: dict = {"case": case.name, **case.extra}
            for which, program in programs.items():
                raw[which][case.name] = run(program.resolve(), case, o.limit)
                line[which] = shown[which][case.name] = figures(raw[which][case.name], case, raw[which])
                less = next((name for name in reversed(list(shown[which])[:-1]) if name.rsplit("/", 1)[0] == case.name.rsplit("/", 1)[0]), "")
                if "flows" in case.extra and less:
                    fewer = next(each.extra["flows"] for each in cases if each.name == less)
                    line[which]["exponent"] = round(math.log(line[which]["user_s"] / shown[which][less]["user_s"]) / math.log(case.extra["flows"] / fewer), 2)
            if "before" in line and "user_s" in line["before"] and "user_s" in line["after"]:
                line["times_as_fast"] = round(line["before"]["user_s"] / line["after"]["user_s"], 2)
            print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
