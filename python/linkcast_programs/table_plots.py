"""What a plot of a study shows: y over x, a line for each value of `by`. Pure: the page and the pictures share it."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_LINES = 10  # as many as there are colours
LINE_AXIS_VALUES = 8
MOST_POINTS = 300  # of a line: about two pixels each
MOST_NAMED = 3
MOST_LETTERS, LAST_LETTERS = 40, 10  # of a name in a picture, and those of them behind its dots
ENDS = {"time_s": ("time_low_s", "time_high_s"), "makespan_s": ("time_low_s", "time_high_s"),
        "step_time_s": ("step_time_low_s", "step_time_high_s")}  # of 90 % intervals
RATES = ("algbw_Bps", "busbw_Bps", "bandwidth_Bps")
CHOICE = ["busbw_Bps", "step_time_s", "makespan_s", "bandwidth_Bps", "time_s", "library_bandwidth_Bps"]


@dataclass
class Line:
    """Medians over the scenarios that share x, and their spread; where it is one scenario, its 90 % interval."""
    name: str
    x: list[Any]
    y: list[float]
    low: list[float]
    high: list[float]


@dataclass
class Drawing:
    x: str
    y: str
    by: str
    lines: list[Line]
    band: str
    left_out: int


@dataclass
class Column:
    """A few values, and which of them each row has; -1: none."""
    values: list[Any]
    codes: np.ndarray


@dataclass
class Points:
    """Rows of a plot: where they stand, and numbers by column, NaN where a row has none."""
    x: Column
    by: Column
    numbers: dict[str, np.ndarray]


def numbers_for(y: str) -> list[str]:
    """Columns of numbers that drawing() looks at."""
    return list(dict.fromkeys([y, "time_s", *ENDS["time_s"], *ENDS.get(y, ())]))


def columns_for(plot: dict[str, Any]) -> list[str]:
    """All that points_of() and chosen() look at."""
    named = [plot["x"], plot.get("by", ""), *plot.get("where", {}), *numbers_for(plot["y"])]
    return list(dict.fromkeys(key for key in named if key))


def _column(values: list[Any]) -> Column:
    codes: dict[Any, int] = {}
    each = [-1 if value is None else codes.setdefault(value, len(codes)) for value in values]
    return Column(list(codes), np.array(each, dtype=np.int32))


def points_of(records: list[dict[str, Any]], x: str, y: str, by: str) -> Points:
    def numbers(key: str) -> np.ndarray:
        values = (record.get(key) for record in records)
        return np.array([value if isinstance(value, (int, float)) else math.nan for value in values], dtype=float)
    lines = _column([record.get(by) if by else "" for record in records])
    return Points(_column([record.get(x) for record in records]), lines, {key: numbers(key) for key in numbers_for(y)})


def _intervals(y: str, numbers: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of a time as the answer says it; of a rate, which is bytes over time, from that of the time."""
    if y in RATES:
        low_s, high_s = (np.where(numbers[key] == 0, math.nan, numbers[key]) for key in ENDS["time_s"])
        moved = numbers[y] * numbers["time_s"]
        return moved / high_s, moved / low_s
    none = np.full(len(numbers[y]), math.nan)
    low, high = (numbers[key] for key in ENDS[y]) if y in ENDS else (none, none)
    return np.where(np.isnan(high), math.nan, low), np.where(np.isnan(low), math.nan, high)


def _thinned(values: list[Any]) -> list[Any]:
    """So many that a picture can show, evenly spread, with both ends."""
    if len(values) <= MOST_POINTS:
        return values
    return [values[round(i * (len(values) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def chosen(records: list[dict[str, Any]], where: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Records with one of the values in each of these columns."""
    return [record for record in records if all(str(record.get(key)) in values for key, values in where.items())]


def only_text(where: dict[str, list[str]], x: str, name_of, text_of) -> list[str]:
    """What a plot leaves out, axis by axis: "size 64 MiB"; x shows itself."""
    texts = []
    for key, values in where.items():
        if key != x:
            shown = ", ".join(text_of(key, value) for value in values[:MOST_NAMED])
            texts.append(f"{name_of(key)} {shown}" + (f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""))
    return texts


def value_of(text: str) -> Any:
    """A cell of the table as it was written."""
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text or None


def _groups(points: Points, y: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with both values, those with the same `by` and x together, the least y first; where each group begins; and which is the first
    row of it in the table."""
    kept = np.flatnonzero((points.x.codes >= 0) & ~np.isnan(points.numbers[y]))
    key = (points.by.codes[kept].astype(np.int64) + 1) * len(points.x.values) + points.x.codes[kept]
    order = np.lexsort((points.numbers[y][kept], key))
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    rows = kept[order]
    return rows, begins, np.minimum.reduceat(rows, begins) if len(rows) else begins


def short_names(names: list[str]) -> list[str]:
    """Names that a picture has room for, each another one."""
    short: dict[str, str] = {}
    for name in names:
        cut = name if len(name) <= MOST_LETTERS else f"{name[:MOST_LETTERS - LAST_LETTERS].rstrip()} ... {name[-LAST_LETTERS:].lstrip()}"
        alike = sum(other.startswith(cut) for other in short.values())
        short.setdefault(name, cut if cut == name or not alike else f"{cut} ({alike + 1})")
    return [short[name] for name in names]


def drawing(points: Points, x: str, y: str, by: str, text_of) -> Drawing | None:
    """None where no scenario has both. @param text_of  (column, value) as a legend shows it"""
    rows, begins, first = _groups(points, y)
    if not len(rows):
        return None
    sizes = np.diff(np.append(begins, len(rows)))
    values, (low, high) = points.numbers[y][rows], (each[rows] for each in _intervals(y, points.numbers))
    middle, has_ends = begins + sizes // 2, ~np.isnan(low)
    medians = np.where(sizes % 2 == 1, values[middle], (values[np.maximum(middle - 1, 0)] + values[middle]) / 2)
    alone = (sizes == 1) & has_ends[begins]
    lows, highs = np.where(alone, low[begins], values[begins]), np.where(alone, high[begins], values[begins + sizes - 1])
    at_x, at_by = points.x.codes[rows[begins]], points.by.codes[rows[begins]]
    lines, most = [], 0
    texts = [value for value in points.x.values if isinstance(value, str)]
    short = dict(zip(texts, short_names(texts)))
    for code in dict.fromkeys(at_by[np.argsort(first)].tolist()):  # lines and names as the table has them first
        of = np.flatnonzero(at_by == code)
        of = of[np.argsort(first[of])]
        most = max(most, len(of))
        names = [short.get(points.x.values[i], points.x.values[i]) for i in at_x[of].tolist()]
        if all(isinstance(name, (int, float)) for name in names):
            kept = _thinned(sorted(range(len(names)), key=names.__getitem__))
            names, of = [names[i] for i in kept], of[kept]
        name = text_of(by, points.by.values[code] if code >= 0 else None) if by else ""
        lines.append(Line(name, names, medians[of].tolist(), lows[of].tolist(), highs[of].tolist()))
    for line, name in zip(lines, short_names([line.name for line in lines])):
        line.name = name
    band = ("bands are 90 % intervals" if has_ends.all() else "") if (sizes == 1).all() else (
        "medians over the other axes, bands from the least to the most")
    if any(len(line.x) < most for line in lines):
        band = "; ".join(filter(None, [band, f"{MOST_POINTS} of {most} values of {x}"]))
    return Drawing(x, y, by, lines[:MOST_LINES], band, max(0, len(lines) - MOST_LINES))


def plots_by_default(axes: list[dict[str, Any]], columns: list[str], numbers: list[str]) -> list[dict[str, str]]:
    """One plot that says most: over the longest axis of numbers, a line for each value of another axis.

    @param numbers  keys of the axes whose values are numbers"""
    y = next((key for key in CHOICE if key in columns), "")
    if not y:
        return []
    numeric = [axis for axis in axes if axis["key"] in numbers]
    x = max(numeric, key=lambda axis: axis["values"])["key"] if numeric else (
        "gpu_count" if "gpu_count" in columns else axes[0]["key"])
    by = next((axis["key"] for axis in axes if axis["key"] != x and 2 <= axis["values"] <= LINE_AXIS_VALUES), "")
    return [{"x": x, "y": y} | ({"by": by} if by else {})]
