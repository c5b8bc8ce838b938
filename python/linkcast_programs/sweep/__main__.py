"""Runs a study, every combination of some axes, and keeps what is done: `linkcast sweep` calls this program."""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..batch_process import BatchProcess, identity_of, sha256_of
from ..records import InputError
from .journal import Journal, Part, Rows
from .local_workers import LocalWorkers
from .progress import ClusterGone, Interrupts, Progress
from .questions import check_questions, refuse_long_sweep
from .results import Wanted, has_parquet, write_results
from .study import Study, chunks_of, read_study

if TYPE_CHECKING:
    from .dask_workers import DaskWorkers
    Workers = LocalWorkers | DaskWorkers

FILES_OF = ("platform", "trace")
HOLDS_ERRORS = 1


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--program", required=True)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--out")
    parser.add_argument("--scheduler")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--table-only", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def files_named_in(study: Study) -> dict[str, str]:
    """Digests of platforms and traces that are the user's own files."""
    named = {name for key in FILES_OF for name in study.values_of(key) if isinstance(name, str)}
    paths = sorted(name for name in named if Path(name).is_file())
    return {path: sha256_of([Path(path)]) for path in paths}


def run_rest(study: Study, waiting: np.ndarray, workers: Workers, journal: Journal, interrupts: Interrupts) -> None:
    progress = Progress(len(study.scenarios), len(study.scenarios) - len(waiting))

    def take(come: Rows | Part) -> None:
        journal.add(come)
        progress.step(len(come.numbers), come.errors())

    try:
        for come in workers.rows(chunks_of(study, waiting, workers.jobs)):
            with interrupts.held():
                if come is None:
                    journal.sync()
                else:
                    take(come)
    finally:
        with interrupts.held():
            workers.stop()
            for come in workers.left():
                take(come)
            journal.sync()
            progress.end()


def make_workers(study: Study, folder: Path, options: argparse.Namespace, identity: dict[str, str]) -> Workers:
    if options.scheduler:
        from .dask_workers import DaskWorkers  # its libraries take 80 ms
        return DaskWorkers(options.scheduler, study, folder, options.program, options.data_dir, identity)
    return LocalWorkers(study, options.program, options.data_dir, options.jobs)


def stopped(study: Study, journal: Journal | None, why: str, code: int) -> int:
    done = journal.done() if journal else 0
    print(f"{why}: {done} of {len(study.scenarios)} scenarios are done and kept; to go on: the same command with --resume",
          file=sys.stderr)
    return code


def run_study(study: Study, options: argparse.Namespace, interrupts: Interrupts) -> int:
    folder = Path(options.out or f"{study.name}.sweep")
    identity = identity_of(options.program, options.data_dir)
    header = {"name": study.name, "scenarios": len(study.scenarios), "study": study.digest, **identity,
              "files": files_named_in(study)}
    check_questions(study, options.program, options.data_dir)
    workers = make_workers(study, folder, options, identity)
    journal = None
    try:
        journal = Journal(folder / "journal.jsonl", header, options.resume)
        waiting = np.flatnonzero(~journal.is_done())
        if len(waiting):
            refuse_long_sweep(study, waiting, lambda: BatchProcess(options.program, options.data_dir), workers.jobs)
            run_rest(study, waiting, workers, journal, interrupts)
        errors = write_results(study, journal, identity, folder,
                               [options.program, "--data-dir", options.data_dir],
                               Wanted(not options.table_only, not options.table_only and has_parquet(), options.json))
        return HOLDS_ERRORS if errors else 0
    except KeyboardInterrupt as stop:
        return stopped(study, journal, "stopped", 128 + (stop.args[0] if stop.args else signal.SIGINT))
    except ClusterGone as error:
        return stopped(study, journal, f"error: --scheduler: {error}", 1)
    finally:
        workers.stop()
        if journal:
            journal.close()


def main() -> int:
    options = options_of(sys.argv[1:])
    interrupts = Interrupts()
    try:
        study = read_study(options.study)
        if options.dry_run:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # | head
            for scenario in study.scenarios:
                print(json.dumps({"id": scenario.number, **study.query_of(scenario)}))
            return 0
        return run_study(study, options, interrupts)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # of what is no file of this program
        print(f"error: {InputError(error.filename or 'the system')}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
