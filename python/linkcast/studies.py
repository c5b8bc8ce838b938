"""Studies, searches and pages: the commands sweep, wiring and report, each in a process of its own."""
from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import engine
from .answers import Answer, Answers, frame_of
from .errors import InputError
from .platform import Platform

if TYPE_CHECKING:
    import pandas

File = str | os.PathLike[str]
HOLDS_ERRORS = 1


class Sweep(Answer):
    """What a study left in its folder."""
    name: str
    table: str
    scenarios: int
    errors: int
    folder: Path  #: of journal, table.csv, plots and report.html

    def __init__(self, raw: dict[str, Any], folder: Path):
        super().__init__(raw)
        self.folder = folder

    def rows(self) -> Iterator[dict[str, str]]:
        """A scenario each, as the table's text."""
        with open(self.folder / self.table, encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """A row a scenario: axes, answers, error."""
        if key is not None:
            return super().to_frame(key)
        if not self.scenarios:
            return frame_of([])
        import pandas
        return pandas.read_csv(self.folder / self.table)


class Wiring(Answer):
    """Wirings of a machine's GPUs, the best for its mixes of jobs first."""
    TABLE = "best"
    platform: str
    job: str
    own: dict[str, Any]
    best: list[dict[str, Any]]
    looked_at: int


@contextmanager
def _file_of(content: Any, name: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="linkcast-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else engine.dumped(content))
        try:
            yield path
        except InputError as error:  # nobody knows that file
            raise InputError(str(error).replace(path, "study")) from None


def sweep(study: File | Mapping[str, Any], out: File | None = None, *, jobs: int | None = None, resume: bool = False,
          scheduler: str = "", table_only: bool = False) -> Sweep:
    """Every combination of a study's axes, as one table.

    @param study  a file, or what it would hold (docs/sweep.md). @param out  folder of the results (default: NAME.sweep)
    @param jobs  processes (default: one a core). @param resume  go on with what the folder's journal holds
    @param scheduler  address of a Dask scheduler instead. @param table_only  no plots, page and table.parquet
    @returns  also where scenarios have errors: `errors` counts them"""
    if isinstance(study, Mapping):
        with _file_of({"schema": "linkcast/study/1", **study}, "study.json") as path:
            return sweep(path, out if out is not None else f"{study.get('name')}.sweep", jobs=jobs, resume=resume, scheduler=scheduler,
                         table_only=table_only)
    words = ["sweep", "--json", *["--resume"] * resume, *["--table-only"] * table_only]
    words += [f"--out={os.fspath(out)}"] if out is not None else []
    words += [f"--jobs={jobs}"] * (jobs is not None) + [f"--scheduler={scheduler}"] * bool(scheduler)
    text, _, _ = engine.command(*words, "--", os.fspath(study), good=(0, HOLDS_ERRORS))
    raw = json.loads(text)
    return Sweep(raw, Path(raw["folder"]))


def wiring(platform: str | Platform, job: str = "all_reduce:64MiB", mixes: Sequence[str] = (), *, library: str = "",
           steps: int | None = None, seed: int | None = None, top: int | None = None) -> Wiring:
    """Wirings of the GPUs of a machine that would serve mixes of jobs better than its own.

    @param mixes  GPUs of jobs that run at once, e.g. "5+3". @param steps  so many wirings are looked at"""
    if isinstance(platform, Platform):
        if platform.edits:
            raise InputError(f"wiring: takes a machine without edits, {platform} has some")
        platform = platform.name
    words = ["wiring", "--json", f"--platform={platform}", f"--job={job}", *(f"--mix={mix}" for mix in mixes)]
    words += [f"--library={library}"] * bool(library)
    for option, number in (("--steps", steps), ("--seed", seed), ("--top", top)):
        words += [f"{option}={number}"] * (number is not None)
    return Wiring(json.loads(engine.command(*words)[0]))


def report(*results: File | Answer | Answers | Sweep, out: File, title: str = "") -> Path:
    """One page of results, with charts and what they were asked of.

    @param results  answers, batches, sweeps, or files with what the command line printed with --json
    @returns  `out`"""
    if not results:
        raise InputError("report: no result")
    with tempfile.TemporaryDirectory(prefix="linkcast-") as folder:
        paths = []
        for number, result in enumerate(results):
            if isinstance(result, Sweep):
                paths.append(os.fspath(result.folder / "sweep.json"))
            elif isinstance(result, (Answer, Answers)):
                answers = result if isinstance(result, Answers) else [result]
                path = os.path.join(folder, f"{type(result).__name__.lower()}-{number}.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(answer.raw) + "\n" for answer in answers)
                paths.append(path)
            elif isinstance(result, (str, os.PathLike)):
                paths.append(os.fspath(result))
            else:
                raise InputError(f"report: {type(result).__name__} is no answer and no file: {result!r}"[:200])
        engine.command("report", f"--out={os.fspath(out)}", *[f"--title={title}"] * bool(title), "--", *paths)
    return Path(out)
