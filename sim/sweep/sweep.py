#!/usr/bin/env python3
"""Runs a study, every combination of some axes, and keeps what is done: `linkcast sweep` calls this program."""
from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))  # records, units and charts are shared

from batch_process import BatchProcess, answer_chunk  # noqa: E402
from chunks import chunks_of  # noqa: E402
from dask_workers import DaskWorkers  # noqa: E402
from identity import identity_of, sha256_of  # noqa: E402
from journal import Journal  # noqa: E402
from local_workers import LocalWorkers  # noqa: E402
from progress import Progress  # noqa: E402
from records import InputError  # noqa: E402
from results import write_results  # noqa: E402
from study import Scenario, Study, read_study  # noqa: E402

FIRST_QUESTIONS = 8
FILES_OF = ("platform", "trace")
# Errors of the study itself rather than of one scenario.
WRONG_STUDY = re.compile(r"(?P<pointer>/[^:]*): (?P<what>unknown key.*|missing key.*|must be (an?|one of) .*)")


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--program", required=True)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--out")
    parser.add_argument("--scheduler")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    return parser.parse_args(arguments)


def files_named_in(study: Study) -> dict[str, str]:
    """Digests of platforms and traces that are the user's own files."""
    named = {study.query_of(scenario).get(key) for scenario in study.scenarios for key in FILES_OF}
    paths = sorted(name for name in named if isinstance(name, str) and Path(name).is_file())
    return {path: sha256_of([Path(path)]) for path in paths}


def check_questions(study: Study, options: argparse.Namespace) -> None:
    """Asks scenarios until one is answered, so that a wrong key ends the study before it begins."""
    step = max(1, len(study.scenarios) // FIRST_QUESTIONS)
    process = None
    for scenario in study.scenarios[::step][:FIRST_QUESTIONS]:
        rows: list[dict[str, Any]] = []
        _, process = answer_chunk(lambda: BatchProcess(options.program, options.data_dir), process,
                                  [(0, json.dumps(study.query_of(scenario)))], 0, lambda _, row: rows.append(row))
        wrong = WRONG_STUDY.match(rows[0].get("error", ""))
        if wrong or "error" not in rows[0]:
            break
    if process:
        process.close()
    if wrong:
        raise InputError(f"{study.file}:{study.pointer_of(scenario, wrong['pointer'])}: {wrong['what']}")


def interrupt(number: int, _frame: Any) -> None:
    raise KeyboardInterrupt(number)


def take(row: tuple[int, dict[str, Any]], journal: Journal, progress: Progress) -> None:
    journal.add(*row)
    progress.step("error" in row[1])


def run_rest(study: Study, waiting: list[Scenario], workers: Any, journal: Journal) -> None:
    progress = Progress(len(study.scenarios), len(study.scenarios) - len(waiting))
    try:
        for row in workers.rows(chunks_of(study, waiting, workers.jobs)):
            if row is None:
                journal.sync()
            else:
                take(row, journal, progress)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending is quick, and must not be torn
        workers.stop()
        for row in workers.left():
            take(row, journal, progress)
        journal.sync()
        progress.end()
        signal.signal(signal.SIGINT, interrupt)


def make_workers(options: argparse.Namespace, identity: dict[str, str]) -> Any:
    if options.scheduler:
        return DaskWorkers(options.scheduler, options.program, options.data_dir, identity)
    return LocalWorkers(options.program, options.data_dir, options.jobs)


def run_study(study: Study, options: argparse.Namespace) -> int:
    folder = Path(options.out or f"{study.name}.sweep")
    identity = identity_of(options.program, options.data_dir)
    header = {"name": study.name, "scenarios": len(study.scenarios), "study": study.digest(), **identity,
              "files": files_named_in(study)}
    check_questions(study, options)
    journal = Journal(folder / "journal.jsonl", header, options.resume)
    try:
        waiting = [scenario for scenario in study.scenarios if scenario.number not in journal.rows]
        if waiting:
            run_rest(study, waiting, make_workers(options, identity), journal)
        write_results(study, journal.rows, identity, folder,
                      ["--program", options.program, "--data-dir", options.data_dir])
    except KeyboardInterrupt as stop:
        print(f"stopped: {len(journal.rows)} of {len(study.scenarios)} scenarios are done and kept; to go on: "
              "the same command with --resume", file=sys.stderr)
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)
    finally:
        journal.close()
    return 0


def main() -> int:
    options = options_of(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        study = read_study(options.study)
        if options.dry_run:
            for scenario in study.scenarios:
                print(json.dumps({"id": scenario.number, **study.query_of(scenario)}))
            return 0
        return run_study(study, options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
