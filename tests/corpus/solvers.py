#!/usr/bin/env python3
"""The corpus by all three solvers: fluid, fluid_simgrid and native, compared with the first.

    solvers.py --program PATH [--every N] [--most 1e-9]

Prints a row for each kind of query: how many were answered, the largest relative difference of a number of an answer, and the
user time that each solver took, start included. Exit code 4: one differs by more than --most or has another text, or one solver
refuses what another answers. Answers that share late (a warning says so) may differ by 1 %: fluid_simgrid and native share at every
end."""
from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import queries
import run

SOLVERS = ("fluid", "fluid_simgrid", "native")
DIFFERS = 4
LATE = "many flows: rates were shared out anew"
LATE_MOST = 1e-2  # as that warning says
OTHERWISE = ("inputs", "versions")  # the query has another solver
TINY = 1e-15  # of two that are nothing but rounding


def corpus(every: int) -> dict[str, list[dict]]:
    """By kind: all that is no deliberate mistake, each Nth of a kind."""
    of_kind = defaultdict(list)
    for line in queries.lines():
        try:
            query = json.loads(line)
        except ValueError:
            continue
        if isinstance(query, dict) and isinstance(query.get("platform"), str) and not str(query.get("id", "wrong")).startswith("wrong"):
            of_kind[query.get("kind")].append(query)
    return {kind: some[::every] for kind, some in of_kind.items() if isinstance(kind, str)}


def answers(program: Path, some: list[dict], solver: str) -> tuple[list[dict], float]:
    """And the user time of the program and its workers."""
    text = "".join(json.dumps({**query, "solver": solver}) + "\n" for query in some)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([str(program.resolve()), "predict", "--batch", "-"], input=text, capture_output=True, text=True,
                          cwd=run.tree_of(program), env=run.ENVIRONMENT, check=False)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if len(lines) != len(some):
        sys.exit(f"{program}: {len(lines)} answers to {len(some)} queries by {solver}: {done.stderr[-400:]}")
    return lines, spent


def apart(one: object, other: object) -> float:
    """The largest relative difference; infinite: other keys, texts or lengths."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in one if key not in OTHERWISE]
        if keys != [key for key in other if key not in OTHERWISE]:
            return float("inf")
        return max((apart(one[key], other[key]) for key in keys), default=0.0)
    if isinstance(one, list) and isinstance(other, list):
        return max(map(apart, one, other), default=0.0) if len(one) == len(other) else float("inf")
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) / max(abs(one), abs(other), TINY) if one != other else 0.0
    return 0.0 if one == other else float("inf")


def without_warnings(answer: dict, late: bool) -> dict:
    """The one of sharing late is not said where all is shared at once."""
    return {key: value for key, value in answer.items() if key != "warnings"} if late else answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--most", type=float, default=1e-9)
    o = parser.parse_args()
    bad = []
    print("| kind | answered | shared late | " + " | ".join(f"{solver}: differs" for solver in SOLVERS[1:]) + " | "
          + " | ".join(f"{solver}: s" for solver in SOLVERS) + " |")
    print("| --- |" + " --- |" * (2 + 2 * len(SOLVERS) - 1))
    for kind, some in corpus(o.every).items():
        by_solver = {solver: answers(o.program, some, solver) for solver in SOLVERS}
        first = by_solver["fluid"][0]
        late = [any(LATE in text for text in answer.get("warnings", [])) for answer in first]
        largest = []
        for solver in SOLVERS[1:]:
            differences = [apart(without_warnings(a, is_late), without_warnings(b, is_late))
                           for a, b, is_late in zip(first, by_solver[solver][0], late)]
            largest.append(max((each for each, is_late in zip(differences, late) if not is_late), default=0.0))
            bad += [f"{solver}: {each:.3g}: {json.dumps(query)}: {answer.get('error', '')}"
                    for query, each, is_late, answer in zip(some, differences, late, by_solver[solver][0])
                    if each > (LATE_MOST if is_late else o.most)]
        answered = sum("error" not in answer for answer in first)
        print(f"| {kind} | {answered} | {sum(late)} | " + " | ".join(f"{each:.1e}" for each in largest) + " | "
              + " | ".join(f"{by_solver[solver][1]:.1f}" for solver in SOLVERS) + " |", flush=True)
    print("".join(f"{line[:600]}\n" for line in bad), end="", file=sys.stderr)
    return DIFFERS if bad else 0


if __name__ == "__main__":
    sys.exit(main())
