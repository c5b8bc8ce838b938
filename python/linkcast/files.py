"""Files of measurements, claims and other tools: the commands diagnose, validate and import, in this process."""
from __future__ import annotations

import html
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import engine
from .answers import Answer, frame_of
from .errors import InputError
from .platform import Platform

if TYPE_CHECKING:
    import pandas

Path = str | os.PathLike[str]


class Diagnosis(Answer):
    """Whether what a benchmark printed is normal for a machine."""
    TABLE = "files"
    platform: str
    files: list[dict[str, Any]]
    normal: bool
    text: str  #: the table that the command prints

    def __init__(self, raw: dict[str, Any], normal: bool, text: str):
        super().__init__(raw)
        self.normal, self.text = normal, text.rstrip("\n")

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """What is slow or fast: a row for each point that is off."""
        if key is not None:
            return super().to_frame(key)
        return frame_of([{"file": file.get("file"), **row} for file in self.files for row in file.get("off", [])])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Validation(Answer):
    """Claims of papers, or measurements, against forecasts."""
    ok: bool

    def __init__(self, raw: dict[str, Any], ok: bool):
        super().__init__(raw)
        self.ok = ok
        self.TABLE = next((key for key in ("claims", "comparisons") if isinstance(raw.get(key), list)), "")

    def _said(self) -> str:
        """Counts by verdict, or each file's worst median error of a group."""
        if self.TABLE == "claims":
            counts = Counter(str(row.get("verdict")) for row in self.raw["claims"])
            return ", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items()))
        return "; ".join(f"{row['file']}: {len(row['points'])} points in {len(row['groups'])} groups, medians up to "
                         f"{max((group['median_abs_rel_error'] for group in row['groups']), default=0):.1%}"
                         for row in self.raw.get("comparisons", []))

    def __repr__(self) -> str:
        return f"Validation(ok={self.ok}, {self._said()})"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}: <code>.to_frame()</code></p>"

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """A row a claim, or of comparisons a row a point."""
        if key is not None or self.TABLE != "comparisons":
            return super().to_frame(key)
        return frame_of([{"file": file.get("file"), **point} for file in self.raw["comparisons"] for point in file.get("points", [])])


class Import(Answer):
    """A record made of other tools' output."""
    text: str
    notes: list[str]

    def __init__(self, raw: dict[str, Any], text: str, notes: list[str]):
        super().__init__(raw)
        self.text, self.notes = text, notes
        self.TABLE = next((key for key in ("points", "cables", "switches") if isinstance(raw.get(key), list)), "")

    def __repr__(self) -> str:
        if not self.raw:  # a trace: a header, then a line an event
            header = json.loads(self.text.split("\n", 1)[0] or "{}")
            return f"Import(schema={header.get('schema')!r}, ranks={header.get('ranks')}, events={max(0, len(self.text.splitlines()) - 1)})"
        rows = f", {self.TABLE}={len(self.raw[self.TABLE])}" if self.TABLE else ""
        return f"Import(schema={self.raw.get('schema')!r}{rows})"

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """A row a point, a cable, or an event of a trace."""
        if self.raw or key is not None:
            return super().to_frame(key)
        return frame_of([json.loads(line) for line in self.text.splitlines()[1:]])


def _edits(platform: str | Platform) -> list[str]:
    if isinstance(platform, Platform):
        return ["--platform", platform.name, *(f"--edit={edit}" for edit in platform.edits)]
    return ["--platform", platform]


def _options(options: dict[str, Any]) -> list[str]:
    return [f"--option={key}={value}" for key, value in options.items()]


def diagnose(platform: str | Platform, *files: Path, library: str = "", format: str = "", force: bool = False,
             baseline: Sequence[Path] = (), **options: Any) -> Diagnosis:
    """Is what a benchmark printed normal for this machine, and if not, where?

    @param force  compare though a file names other GPUs. @param baseline  logs of other machines of the kind, to compare with
    @param options  what the files do not print, as --option of `linkcast import`"""
    if not files:
        raise InputError("diagnose: no file")
    words = ["diagnose", *_edits(platform), *_options(options), *["--force"] * force]
    words += [f"--baseline={os.fspath(path)}" for path in baseline]
    words += [f"--library={library}"] * bool(library) + [f"--format={format}"] * bool(format)
    paths = ["--", *(os.fspath(file) for file in files)]
    raw, code, _ = engine.command(*words, "--json", *paths)
    return Diagnosis(json.loads(raw), code == 0, engine.run(*words, *paths))


def validate(*claims: str, against: Path | list[Path] | None = None, platform: str | Platform | None = None,
             median_limit: float | None = None, p95_limit: float | None = None) -> Validation:
    """Claims of papers by their ids (none: all), or measurement files, against forecasts."""
    words: list[str] = ["validate", "--json"]
    if platform is not None:
        words += _edits(platform)
    if against is not None:
        words += [f"--against={os.fspath(path)}" for path in (against if isinstance(against, list) else [against])]
    for option, limit in (("--median-limit", median_limit), ("--p95-limit", p95_limit)):
        words += [f"{option}={limit!r}"] * (limit is not None)
    raw, code, _ = engine.command(*words, *(["--", *claims] if claims else []))
    return Validation(json.loads(raw), code == 0)


def import_(format: str, *files: Path, out: Path | None = None, machine: str = "", topology: str = "",
            **options: Any) -> Import:
    """Other tools' output as a measurement, a topology or a trace; `linkcast.run("import", "--help")` lists the formats.

    @param out  file to write. @returns  the record (of a trace its lines, in `text`), and what was assumed or left out"""
    words = ["import", *_options(options)]
    words += [f"--machine={machine}"] * bool(machine) + [f"--topology={topology}"] * bool(topology)
    if out is not None:
        words.append(f"--out={os.fspath(out)}")
    text, _, notes = engine.command(*words, "--", format, *(os.fspath(file) for file in files))
    if out is not None:
        with open(out, encoding="utf-8", errors="replace") as file:
            text = file.read()
    try:
        raw = json.loads(text)
    except ValueError:  # a trace has a line an event
        raw = {}
    return Import(raw, text, notes)
