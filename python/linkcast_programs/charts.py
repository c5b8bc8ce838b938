"""Charts as plain data. One function a figure: numbers in, figure out; svg.py draws them."""
from __future__ import annotations

from dataclasses import dataclass, field

COLOURS = ["#1f5fa8", "#d2691e", "#2e8b57", "#a0307a", "#7a6a00", "#4a4a9c", "#b03030", "#00808a", "#6b4c2a", "#808080"]
DARK_COLOURS = ["#6fa8e8", "#f0985a", "#63c18a", "#d578b0", "#c8b83a", "#9c9cf0", "#e77c7c", "#4fc3cc", "#c29a72", "#b0b0b0"]
NAMES = {"algbw_Bps": "algorithm bandwidth", "busbw_Bps": "bus bandwidth", "size_B": "size", "step_time_s": "time of a step",
         "makespan_s": "makespan", "gpu_count": "GPUs", "exposed_communication_s": "exposed communication"}
UNITS = {"_Bps": "B/s", "_B": "B", "_s": "s"}
LOG_FROM = 30  # axes that span a larger factor are logarithmic
MOST_TICKS = 10


@dataclass
class Series:
    """A line, or bars: y over x, with the ends of an interval where there is one."""
    name: str
    x: list
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None


@dataclass
class Figure:
    """`x` and `y` are keys, which say units, or titles of axes. What `kind` is without has no rows or no cells."""
    kind: str  # lines, bars, stacked, heat, shares, cells
    x: str
    y: str = ""
    series: list[Series] = field(default_factory=list)
    legend: str = ""
    rows: list[str] = field(default_factory=list)
    columns: list = field(default_factory=list)
    cells: list[list[float | None]] = field(default_factory=list)
    colours: list[str] = field(default_factory=list)


def name_of(key: str) -> str:
    for end in UNITS:
        if key not in NAMES and key.endswith(end):
            return key[:-len(end)].replace("_", " ").strip() or key
    return NAMES.get(key, key.replace("_", " "))


def counts(key: str, values: list) -> list[int]:
    """Ticks of a logarithmic axis of a few numbers of nodes or GPUs: these themselves; empty: others."""
    few = sorted(set(values))
    return few if len(few) <= MOST_TICKS and all(isinstance(value, int) for value in few) and not key.endswith(tuple(UNITS)) else []


def is_wide(values: list[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > LOG_FROM


def lines(series: list[Series], x_key: str, y_key: str, legend: str = "") -> Figure:
    """Lines with points, or points alone where x is a name; the interval is a band of the line's colour, or a bar."""
    return Figure("lines", x_key, y_key, series, legend)


def bars(series: Series, y_key: str) -> Figure:
    """One row each, with its interval."""
    return Figure("bars", y_key, series=[series])


def stacked(rows: list[str], parts: dict[str, list[float]], key: str, colours: dict[str, str] | None = None) -> Figure:
    """Each row a bar of parts."""
    series = [Series(part, rows, values) for part, values in parts.items() if any(values)]
    return Figure("stacked", key, series=series, rows=rows, colours=[(colours or {}).get(one.name, "") for one in series])


def heat(rows: dict[str, list[float]], bin_s: float, what: str) -> Figure:
    """Shares over time, a row each."""
    width = max(map(len, rows.values()), default=0)
    return Figure("heat", "time_s", what, rows=list(rows), columns=[bin_s * i for i in range(width + 1)], cells=list(rows.values()))


def cells(rows: list[str], columns: list[str], values: list[list[float | None]], key: str) -> Figure:
    """All pairs: a value a cell, none where there is none."""
    return Figure("cells", "", key, rows=rows, columns=columns, cells=values)


def distribution(series: list[Series], x_key: str, title: str) -> Figure:
    """Share of cases at or below a value."""
    return Figure("shares", title, "share at or below", series)
