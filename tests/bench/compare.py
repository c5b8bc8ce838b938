#!/usr/bin/env python3
"""How much slower or faster one build of linkcast is than another: benchmarks, queries of the corpus, start of the program.

    compare.py BEFORE AFTER [--rounds 7] [--only WORD] [--instructions]     BEFORE and AFTER: folders of builds

The two take turns, so that what else the machine does meets both alike. A figure is the median of the CPU time (user and
system) over the rounds; with --instructions it is what valgrind counts in one run, which nothing else disturbs; of a benchmark
without the start of its program. Both builds need the program and the targets of `bench`; what one lacks, or refuses, is left out. A row a case;
exit code 4 if one is more than 1.05 times, or 1.03 times of the instructions of a GOAL case."""
from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "corpus")]
import goal_patterns  # noqa: E402
import many_queries  # noqa: E402
import queries  # noqa: E402

MOST = 1.05
MOST_COUNTED = 1.03  # of the instructions of a case that says so: a count has no noise
SLOWER = 4
REFUSED = 2  # exit code: an option that the build does not have
HOLDS_ERRORS = 1  # of a batch: some of its queries cannot be answered
MANY = 500  # queries of a kind that are all different
LARGEST = 40  # queries of a group: every so manieth of the corpus
COUNT = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
ENVIRONMENT = {**os.environ, "LINKCAST_LOG": "progress=off"}
START = {"--version": ["--version"],
         "predict p2p": ["predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size", "1MiB"]}
# Program, arguments of a round (short: rounds make up for it), arguments of a count (a fixed amount of work).
OPERATIONS = ("alltoall", "all_reduce")
BENCHES = [
    *(("engine_bench", ["0.1", f"fluid/{case}"], ["0", f"fluid/{case}"])
      for case in ("empty", "one_flow", "small_12_flows", "disjoint_pairs_32", "disjoint_pairs_1000", "ring_64", "all_to_all_64",
                   "all_to_all_32_irregular")),
    *(("forecast_bench", ["0.1", case], ["0", case]) for case in ("p2p", "flows_12", "all_reduce_8_gpus")),
    *(("placement_bench", ["0.2", case], ["0", case]) for case in ("v100", "dgx2", "alps", "lumi")),
    *(("cluster_bench", [f"{where}/{op}"], [f"{where}/{op}"]) for where in ("alps", "leonardo", "lumi", "noise") for op in OPERATIONS),
    ("replay_bench", ["100000"], ["20000"]),
    ("fabric_bench", ["100000"], ["10000"]),
]
SECONDS = ("run_s", "prediction_s", "seconds", "build_s", "route_s")  # what a bench calls the time of a case


GOAL_RANKS = (8, 64)
GOAL_OPERATIONS = {True: 40000, False: 160000}  # whether instructions are counted


class Refused(Exception):
    """A build does not have what the case asks for."""


@dataclass
class Case:
    name: str
    program: str  # below the folder of a build
    arguments: list[str]
    stdin: str = ""
    bench: bool = False
    newer: bool = False  # a build may refuse it
    most_counted: float = MOST
    ends_with: tuple[int, ...] = (0, HOLDS_ERRORS)  # exit codes


def _groups() -> dict[str, str]:
    """Queries of the corpus as lines of a batch, by what they are about. The native solver's time is SimGrid's."""
    groups: dict[str, list[str]] = {}
    for line in queries.lines():
        found = re.match(r'{"id": "(\w+)-\d+", "kind": "(\w+)"', line)
        if found and found[1] != "wrong" and '"native"' not in line:
            groups.setdefault(f"{found[1]}: {found[2]}", []).append(line)
    return {name: "\n".join(lines[::1 + len(lines) // LARGEST]) + "\n" for name, lines in groups.items()}


def _goal_cases(folder: Path, program: Path, counted: bool) -> list[Case]:
    """GOAL files as traces, and those replayed: in one run, and in the three that its interval takes. @param program  imports what both replay"""
    cases = []
    for pattern in goal_patterns.PATTERNS:
        for ranks in GOAL_RANKS:
            name = f"{pattern} {ranks} ranks"
            goal, trace = folder / f"{pattern}-{ranks}.goal", folder / f"{pattern}-{ranks}.jsonl"
            goal.write_text(goal_patterns.goal(pattern, ranks, GOAL_OPERATIONS[counted])[0])
            subprocess.run([program, "import", "goal", goal, "--out", trace], env=ENVIRONMENT, stderr=subprocess.DEVNULL, check=True)
            replay = ["replay", str(trace), "--platform", "hgx-h200", *(["--nodes", str(ranks // 8)] if ranks > 8 else [])]
            cases += [Case(f"goal {name}, import", "linkcast", ["import", "goal", str(goal)], most_counted=MOST_COUNTED),
                      Case(f"goal {name}, replay", "linkcast", replay, most_counted=MOST_COUNTED),
                      Case(f"goal {name}, replay in one run", "linkcast", [*replay, "--no-interval"], newer=True, most_counted=MOST_COUNTED)]
    return cases


def _cases(counted: bool) -> list[Case]:
    benches = [Case(f"{name} {arguments[-1]}", f"tests/{name}", count if counted else arguments, bench=True)
               for name, arguments, count in BENCHES]
    starts = [Case(f"linkcast {name}", "linkcast", arguments) for name, arguments in START.items()]
    batches = {**{f"many {kind}": many_queries.lines(kind, MANY) for kind in many_queries.KINDS},
               **{f"batch {name}": text for name, text in _groups().items()}}
    return benches + starts + [Case(name, "linkcast", ["predict", "--batch", "-"], text) for name, text in batches.items()]


def _run(build: Path, case: Case, before: list[str]) -> tuple[str, str, float]:
    """What it prints, and its CPU time in s."""
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        stdin.write(case.stdin)
        stdin.seek(0)
        process = subprocess.Popen([*before, str(build / case.program), *case.arguments], stdin=stdin, stdout=out, stderr=err,
                                   cwd=build.parent, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if case.newer and process.returncode == REFUSED:
            raise Refused
        if process.returncode not in case.ends_with:
            sys.exit(f"error: {build / case.program} {' '.join(case.arguments)}: exit code {process.returncode}: {err.read()[-300:]}")
        return out.read(), err.read(), usage.ru_utime + usage.ru_stime


def count(build: Path, case: Case) -> float:
    """Instructions, those of children included."""
    def refs(one: Case) -> float:
        _, err, _ = _run(build, one, COUNT)
        return sum(float(found.replace(",", "")) for found in re.findall(r"I +refs: +([\d,]+)", err))

    return refs(case) - (refs(replace(case, arguments=[*case.arguments[:-1], "none"])) if case.bench else 0)


def _seconds(build: Path, case: Case) -> float:
    """CPU time; of a benchmark the sum of what its cases say."""
    out, _, spent_s = _run(build, case, [])
    if not case.bench:
        return spent_s
    rows = [json.loads(line) for line in out.splitlines()]
    return sum(row[key] for row in rows for key in SECONDS if key in row)


def _compare(builds: list[Path], case: Case, rounds: int, counted: bool) -> tuple[float, float]:
    if counted:
        return count(builds[0], case), count(builds[1], case)
    found: list[list[float]] = [[], []]
    for number in range(rounds):
        for which in ((0, 1), (1, 0))[number % 2]:
            found[which].append(_seconds(builds[which], case))
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", type=Path, nargs=2, metavar="BUILD")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--instructions", action="store_true")
    o = parser.parse_args()
    builds = [build.resolve() for build in o.builds]
    print(f"{'case':44} {'before':>12} {'after':>12}  ratio   ({'instructions' if o.instructions else 'CPU s'})")
    slower = 0
    with tempfile.TemporaryDirectory() as folder:
        goals = _goal_cases(Path(folder), builds[1] / "linkcast", o.instructions) if "goal".startswith(o.only[:4]) else []
        for case in _cases(o.instructions) + goals:
            if o.only not in case.name or not all((build / case.program).is_file() for build in builds):
                continue
            try:
                before, after = _compare(builds, case, o.rounds, o.instructions)
            except Refused:
                continue
            worse = after > (case.most_counted if o.instructions else MOST) * before
            slower += worse
            print(f"{case.name:44} {before:12.5g} {after:12.5g}  {after / before:.3f}{'   slower' if worse else ''}", flush=True)
    return SLOWER if slower else 0


if __name__ == "__main__":
    sys.exit(main())
