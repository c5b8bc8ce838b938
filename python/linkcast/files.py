"""Files of measurements, claims and other tools: diagnose, validate, import, fit and init, in this process."""
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
    verdict: str  #: normal, faulty or cannot tell; of several files the worst
    normal: bool
    text: str  #: the table that the command prints

    def __init__(self, raw: dict[str, Any], verdict: str, text: str):
        super().__init__(raw)
        self.verdict, self.normal, self.text = verdict, verdict == "normal", text.rstrip("\n")

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """Measured against expected: a row for each point."""
        if key is not None:
            return super().to_frame(key)
        return frame_of([{"file": file.get("file"), **row} for file in self.files for row in file.get("table", [])])

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


class Fit(Answer):
    """The calibration of a machine, fitted to measurements."""
    TABLE = "parameters"
    text: str  #: the calibration file
    learned: dict[str, Any]  #: what was learned from and held out of collectives

    def __init__(self, raw: dict[str, Any], text: str, learned: dict[str, Any]):
        super().__init__(raw)
        self.text, self.learned = text, learned

    def __repr__(self) -> str:
        return f"Fit({self.raw.get('platform')!r}, parameters={len(self.raw.get('parameters', {}))})"

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """A row a parameter: value, standard error, provenance."""
        if key is not None:
            return super().to_frame(key)
        return frame_of([{"name": name, **row} for name, row in self.raw["parameters"].items()])


class Initialised(Answer):
    """A machine as init() found it, and its files."""
    found: str
    topology: str
    platform: str
    notes: list[str]


def _machine(platform: str | Platform | None) -> tuple[str, list[str]]:
    if isinstance(platform, Platform):
        return platform.name, list(platform.edits)
    return platform or "", []


def _paths(given: Path | Sequence[Path]) -> list[str]:
    return [os.fspath(given)] if isinstance(given, (str, os.PathLike)) else [os.fspath(path) for path in given]


def _options(options: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in options.items()}


def _write(out: Path | None, text: str) -> None:
    if out is None:
        return
    try:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"out: {os.fspath(out)}: {error.strerror}") from None


def diagnose(platform: str | Platform, *files: Path, library: str = "", format: str = "", force: bool = False,
             baseline: Sequence[Path] = (), **options: Any) -> Diagnosis:
    """Is what a benchmark printed normal for this machine, and if not, where?

    @param force  compare though a file names other GPUs. @param baseline  logs of other machines of the kind, to compare with
    @param options  what the files do not print, as --option of `linkcast import`"""
    if not files:
        raise InputError("diagnose: no file")
    name, edits = _machine(platform)
    raw, text, verdict = engine.catalogues().diagnose(_paths(files), name, edits, _paths(baseline), format, _options(options), library, force)
    return Diagnosis(json.loads(raw), verdict, text)


def validate(*claims: str, against: Path | list[Path] | None = None, platform: str | Platform | None = None,
             median_limit: float | None = None, p95_limit: float | None = None) -> Validation:
    """Claims of papers by their ids (none: all), or measurement files, against forecasts."""
    if against is None:
        for key, value in (("platform", platform), ("median_limit", median_limit), ("p95_limit", p95_limit)):
            if value is not None:
                raise InputError(f"validate: {key}: needs against: claims name the platforms they are about")
        raw, ok = engine.catalogues().validate(list(claims))
        return Validation(json.loads(raw), ok)
    if claims:
        raise InputError("validate: give claims or against, not both")
    for key, limit in (("median_limit", median_limit), ("p95_limit", p95_limit)):
        if limit is not None and not limit >= 0:
            raise InputError(f"{key}: must be 0 or more, e.g. 0.02")
    name, edits = _machine(platform)
    raw, ok = engine.catalogues().compare(_paths(against), name, edits, median_limit, p95_limit)
    return Validation(json.loads(raw), ok)


def import_(format: str, *files: Path, out: Path | None = None, machine: str = "", topology: str = "",
            **options: Any) -> Import:
    """Other tools' output as a measurement, a topology or a trace; `linkcast.run("import", "--help")` lists the formats.

    @param out  file to write. @returns  the record (of a trace its lines, in `text`), and what was assumed or left out"""
    if not files:
        raise InputError("import_: no file")
    text, notes = engine.catalogues().import_(format, _paths(files), machine, topology, _options(options))
    _write(out, text)
    try:
        raw = json.loads(text)
    except ValueError:  # a trace has a line an event
        raw = {}
    return Import(raw, text, notes)


def fit(topology: Path, *measurements: Path, out: Path | None = None, name: str = "", library: str = "", unmeasured: bool = False,
        only: Sequence[str] = (), inherit: Sequence[Path] = (), inherit_library: Sequence[Path] = (), hold_out: Sequence[str] = (),
        leave_out: Sequence[str] = (), bootstrap: int = 50) -> Fit:
    """Parameters of a machine from measurements, with standard errors: `linkcast calibrate fit`.

    @param topology  id, topology file, or calibration file with its topology. @param out  calibration file to write
    @param hold_out  parts of the collectives to forecast instead of learning from them, e.g. "nodes=2"
    @param leave_out  keys (nodes, gpus, op, library, size): each part that they tell apart is held out in turn"""
    text, learned = engine.catalogues().fit(
        measurements=_paths(measurements), topology=os.fspath(topology), name=name, library=library, unmeasured=unmeasured,
        only=list(only), inherit=_paths(inherit), inherit_library=_paths(inherit_library), hold_out=list(hold_out),
        leave_out=list(leave_out), bootstrap=bootstrap)
    _write(out, text)
    return Fit(json.loads(text), text, json.loads(learned))


def init(*files: Path, out: Path = ".", machine: str = "", force: bool = False, **options: Any) -> Initialised:
    """This machine, or outputs of its tools in files, as a topology and a platform: `linkcast init`.

    @param out  folder of the two files. @param machine  name (default: that of the host). @param force  replace files that are there"""
    raw, _ = engine.catalogues().init(_paths(files), os.fspath(out), machine, _options(options), force)
    return Initialised(json.loads(raw))
