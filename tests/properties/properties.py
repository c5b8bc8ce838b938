#!/usr/bin/env python3
"""Physics as properties, over all platforms, on random questions: what fails is made smaller and listed.

    python3 tests/properties/properties.py --count 100000 --seed 1     # about so many queries
    python3 tests/properties/properties.py --only size,bandwidth

A failure in which the library chose otherwise (protocol, algorithm, way) is counted apart: it chooses worse, physics holds.
Exit code 4: another one."""
import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import machine_cases
from cases import PROPERTIES as OF_QUESTIONS
from cases import Answers, Case, chose_otherwise, smaller

PROPERTIES = {**OF_QUESTIONS, **machine_cases.MACHINES}

A_BATCH = 400
MOST_SHRINKS = 60
SHOWN = 5


def answers_of(program: str, cases: list[Case]) -> list[Answers]:
    """The queries of a batch in random order: no answer may depend on those before it."""
    asked = [(number, at, query) for number, case in enumerate(cases) for at, query in enumerate(case.queries)]
    random.Random(len(asked)).shuffle(asked)
    lines = "".join(json.dumps(query) + "\n" for _, _, query in asked)
    found = subprocess.run([program, "predict", "--batch", "-"], input=lines, capture_output=True, text=True, check=False)
    texts = found.stdout.splitlines()
    if len(texts) != len(asked):
        raise SystemExit(f"error: {program} ended with {found.returncode} after {len(texts)} of {len(asked)} answers:\n"
                         f"{lines.splitlines()[len(texts)]}\n{found.stderr[-500:]}")
    answers: list[Answers] = [[{}] * len(case.queries) for case in cases]
    for (number, at, _), text in zip(asked, texts):
        answers[number][at] = json.loads(text)
    return answers


def judged(case: Case, answers: Answers) -> str:
    """Empty: it holds, or was refused."""
    if any("error" in answer for answer in answers):
        return ""
    return PROPERTIES[case.kind].judge(answers)


def shrunk(program: str, case: Case) -> Case:
    for _ in range(MOST_SHRINKS):
        tries = list(smaller(case))
        if not tries:
            return case
        fails = [one for one, answers in zip(tries, answers_of(program, tries))
                 if judged(one, answers) and not chose_otherwise(answers)]
        if not fails:
            return case
        case = fails[0]
    return case


class Tally:
    def __init__(self, program: str):
        self.program = program
        self.cases, self.queries, self.refused, self.chosen = Counter(), Counter(), Counter(), Counter()
        self.internal: list[str] = []
        self.failed: dict[str, list[tuple[Case, str]]] = {}
        self.examples: dict[str, tuple[Case, str]] = {}

    def add(self, case: Case, answers: Answers) -> None:
        self.cases[case.kind] += 1
        self.queries[case.kind] += len(case.queries)
        self.refused[case.kind] += any("error" in answer for answer in answers)
        self.internal += [f"{query}: {answer['error']}" for query, answer in zip(case.queries, answers) if answer.get("error", "").startswith("internal")]
        why = judged(case, answers)
        if why and (choice := chose_otherwise(answers)):
            self.chosen[case.kind] += 1
            self.examples.setdefault(case.kind, (case, f"{why}; {choice}"))
        elif why:
            self.failed.setdefault(case.kind, []).append((case, why))

    def show(self) -> int:
        print("| property | cases | queries | refused | the library chooses worse | violations |\n| --- | --- | --- | --- | --- | --- |")
        for kind, known in PROPERTIES.items():
            if self.cases[kind]:
                print(f"| {known.what} | {self.cases[kind]} | {self.queries[kind]} | {self.refused[kind]} | {self.chosen[kind]} | {len(self.failed.get(kind, []))} |")
        print(f"\n{sum(self.queries.values())} queries, {sum(map(len, self.failed.values()))} violations")
        for kind, (case, why) in self.examples.items():
            print(f"\nchosen worse, {kind}: {why[:300]}\n" + "\n".join("  " + json.dumps(query) for query in case.queries))
        for kind, rows in self.failed.items():
            for case, why in rows[:SHOWN]:
                least = shrunk(self.program, case)
                answers = answers_of(self.program, [least])[0]
                print(f"\nviolated, {kind}: {judged(least, answers) or why}\n" + "\n".join("  " + json.dumps(query) for query in least.queries))
        for text in self.internal[:SHOWN]:
            print(f"\ninternal: {text}")
        return 4 if self.failed or self.internal else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000, help="queries, about")
    parser.add_argument("--only", default=",".join(PROPERTIES), help="names of properties")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    machine_cases.use(args.program)
    rng, kinds, tally = random.Random(args.seed), args.only.split(","), Tally(args.program)
    wanted = sum(len(PROPERTIES[kind].make(random.Random(1)).queries) for kind in kinds)
    batches = max(1, round(args.count * len(kinds) / wanted / A_BATCH))
    cases = [[PROPERTIES[kinds[at % len(kinds)]].make(rng) for at in range(min(A_BATCH, args.count))] for _ in range(batches)]
    with ThreadPoolExecutor(args.jobs) as pool:
        for batch, answers in zip(cases, pool.map(lambda batch: answers_of(args.program, batch), cases)):
            for case, found in zip(batch, answers):
                tally.add(case, found)
    return tally.show()


if __name__ == "__main__":
    sys.exit(main())
