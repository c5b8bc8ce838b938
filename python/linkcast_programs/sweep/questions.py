"""What is asked before anything is written: whether linkcast understands a study's questions, and how long all will take."""
from __future__ import annotations

import json
import re
import time
from itertools import islice
from typing import Any, Iterator

import numpy as np

from ..batch_process import BatchProcess, Died, answer_chunk
from ..pace import refuse_long
from ..records import InputError
from .scenarios import Scenario, type_of
from .study import Study, questions_of

FIRST_QUESTIONS = 8
SAMPLES, LONGEST_S = 32, 2.0  # what sampling may cost
MANY = 8  # of fewer, a slow one may be the usual one
# Errors of the study itself rather than of one scenario.
WRONG_STUDY = re.compile(r"(?P<pointer>/[^:]*): (?P<what>unknown key.*|missing key.*|must be (an?|one of) .*|'.*' is not allowed.*: one of .*)")


def _of_other_types(study: Study) -> Iterator[Scenario]:
    """One scenario for each type of value that an axis has beside that of its first."""
    for i, axis in enumerate(study.axes):
        seen = {type_of(axis.values[0])}
        for value in axis.values:
            if type_of(value) not in seen:
                seen.add(type_of(value))
                yield from islice((scenario for scenario in study.scenarios if scenario.point[i] == value), 1)


class _Asker:
    def __init__(self, study: Study, program: str, data_dir: str):
        self._study, self._start = study, lambda: BatchProcess(program, data_dir, rows=True)
        self.process: BatchProcess | None = None

    def row(self, scenario: Scenario) -> dict[str, Any]:
        """@raises InputError  the study is wrong"""
        rows: list[dict[str, Any]] = []
        question = self._study.lines.lines(np.array([scenario.positions]))
        _, self.process = answer_chunk(self._start, self.process, [0], question, 0, lambda _, come: rows.extend(map(json.loads, come)))
        if wrong := WRONG_STUDY.match(rows[0].get("error", "")):
            place = self._study.pointer_of(scenario, wrong["pointer"])
            raise InputError(f"{self._study.file}:{place}: {wrong['what']}")
        return rows[0]


def check_questions(study: Study, program: str, data_dir: str) -> None:
    """Scenarios from all over the study until one is answered, and one for each type of value.

    @raises OSError  linkcast dies of all of them"""
    asker = _Asker(study, program, data_dir)
    step = max(1, len(study.scenarios) // FIRST_QUESTIONS)
    try:
        for number in range(0, len(study.scenarios), step)[:FIRST_QUESTIONS]:
            row = asker.row(study.scenarios[number])
            if "error" not in row:
                break
        if row.get("crashed"):
            raise OSError(f"{program}: {row['error']}")
        for scenario in _of_other_types(study):
            asker.row(scenario)
    finally:
        if asker.process:
            asker.process.close()


def mean_without_stall(took: list[float]) -> float:
    """Of many the slowest counts as the next one: the machine may have been busy meanwhile."""
    ordered = sorted(took)
    if len(ordered) >= MANY:
        ordered[-1] = ordered[-2]
    return sum(ordered) / len(ordered)


def refuse_long_sweep(study: Study, waiting: np.ndarray, start: Any, jobs: int) -> None:
    """Estimates what the sweep takes: asks questions from all over it, none twice, for two seconds at most.

    @param waiting  numbers of scenarios. @param start  makes a BatchProcess. @raises InputError  longer than what is allowed"""
    if len(waiting) < SAMPLES:
        return
    process: BatchProcess = start()
    begin = time.monotonic()
    took: list[float] = []
    try:
        for question in questions_of(study, waiting[::len(waiting) // SAMPLES]):
            asked = time.monotonic()
            for _ in process.answers([question], begin + LONGEST_S):
                took.append(time.monotonic() - asked)
            if time.monotonic() - begin > LONGEST_S:
                break
    except Died:
        return  # the sweep will say of which question
    finally:
        process.kill()
    refuse_long("sweep", len(waiting), "scenarios", mean_without_stall(took) * len(waiting) / jobs)
