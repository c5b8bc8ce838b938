#!/usr/bin/env python3
"""Physics as properties, over all platforms, on random questions: what fails is made smaller and listed.

    python3 tests/properties/properties.py --count 100000 --seed 1     # about so many queries
    python3 tests/properties/properties.py --only size,bandwidth

Failures whose cause is found are counted apart and listed: the library chose otherwise (protocol, algorithm, way) and worse; the hardware
picks which copy is first at a copy engine; fair shares: another flow gets more of what two share, and alone none is slower. Exit code 4:
another one."""
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
from cases import Answers, Case, alone, chose_otherwise, picked_by_hardware, smaller

PROPERTIES = {**OF_QUESTIONS, **machine_cases.MACHINES}

A_BATCH = 400
MOST_SHRINKS = 60
SHOWN = 5
CAUSES = ("the library chooses worse", "the hardware picks the order", "fair shares")


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
                 if judged(one, answers) and not cause_of(program, one, answers)[0]]
        if not fails:
            return case
        case = fails[0]
    return case


def cause_of(program: str, case: Case, answers: Answers) -> tuple[str, str]:
    """Of a failure that is none of physics: one of CAUSES, and more words; else nothing."""
    if choice := chose_otherwise(answers):
        return CAUSES[0], choice
    if order := picked_by_hardware(case, answers):
        return CAUSES[1], order
    slower = alone(case, answers)
    if slower and not any(judged(one, found) for one, found in zip(slower, answers_of(program, slower))):
        return CAUSES[2], "alone no flow is slower"
    return "", ""


class Tally:
    def __init__(self, program: str):
        self.program = program
        self.cases, self.queries, self.refused = Counter(), Counter(), Counter()
        self.explained: Counter[tuple[str, str]] = Counter()  # by property and cause
        self.internal: list[str] = []
        self.failed: dict[str, list[tuple[Case, str]]] = {}
        self.examples: list[tuple[Case, str]] = []

    def add(self, case: Case, answers: Answers) -> None:
        self.cases[case.kind] += 1
        self.queries[case.kind] += len(case.queries)
        self.refused[case.kind] += any("error" in answer for answer in answers)
        self.internal += [f"{query}: {answer['error']}" for query, answer in zip(case.queries, answers) if answer.get("error", "").startswith("internal")]
        why = judged(case, answers)
        cause, words = cause_of(self.program, case, answers) if why else ("", "")
        if cause:
            self.explained[case.kind, cause] += 1
            if cause != CAUSES[0] or self.explained[case.kind, cause] == 1:
                self.examples.append((case, f"{cause}: {why}; {words}"))
        elif why:
            self.failed.setdefault(case.kind, []).append((case, why))

    def show(self) -> int:
        print(f"| property | cases | queries | refused | {' | '.join(CAUSES)} | violations |\n|{' --- |' * (5 + len(CAUSES))}")
        for kind, known in PROPERTIES.items():
            if self.cases[kind]:
                print(f"| {known.what} | {self.cases[kind]} | {self.queries[kind]} | {self.refused[kind]} | "
                      f"{' | '.join(str(self.explained[kind, cause]) for cause in CAUSES)} | {len(self.failed.get(kind, []))} |")
        print(f"\n{sum(self.queries.values())} queries, {sum(map(len, self.failed.values()))} violations")
        for case, why in self.examples:
            print(f"\nexplained, {case.kind}: {why[:300]}\n" + "\n".join("  " + json.dumps(query) for query in case.queries))
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
