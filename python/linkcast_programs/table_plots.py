"""What a plot of a study shows: y over x, a line for each value of `by`. Pure: the page and the pictures share it."""
from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

MOST_LINES = 10  # as many as there are colours
LINE_AXIS_VALUES = 8
MOST_POINTS = 300  # of a line: about two pixels each
MOST_NAMED = 3
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


def columns_for(plot: dict[str, Any]) -> list[str]:
    """What drawing() and chosen() look at."""
    named = [plot["x"], plot["y"], plot.get("by", ""), *plot.get("where", {}), "time_s", *(end for ends in ENDS.values() for end in ends)]
    return list(dict.fromkeys(key for key in named if key))


def _interval(y: str, row: dict[str, Any]) -> tuple[float, float] | None:
    """Of a time as the answer says it; of a rate, which is bytes over time, from that of the time."""
    if y in RATES:
        time_s, low_s, high_s = (row.get(key) for key in ("time_s", "time_low_s", "time_high_s"))
        return (row[y] * time_s / high_s, row[y] * time_s / low_s) if low_s and high_s else None
    low, high = (row.get(key) for key in ENDS.get(y, ("", "")))
    return (low, high) if low is not None and high is not None else None


def _ends(y: str, rows: list[dict[str, Any]]) -> tuple[float, float]:
    interval = _interval(y, rows[0]) if len(rows) == 1 else None
    values = [row[y] for row in rows]
    return interval or (min(values), max(values))


def _thinned(values: list[Any]) -> list[Any]:
    """So many that a picture can show, evenly spread, with both ends."""
    if len(values) <= MOST_POINTS:
        return values
    return [values[round(i * (len(values) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def _line(name: str, x: str, y: str, rows: list[dict[str, Any]]) -> Line:
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row[x], []).append(row)
    if all(isinstance(value, (int, float)) for value in groups):
        groups = {value: groups[value] for value in _thinned(sorted(groups))}
    ends = [_ends(y, group) for group in groups.values()]
    return Line(name, list(groups), [median(row[y] for row in group) for group in groups.values()],
                [low for low, _ in ends], [high for _, high in ends])


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


def drawing(records: list[dict[str, Any]], x: str, y: str, by: str, text_of) -> Drawing | None:
    """None where no scenario has both. @param text_of  (column, value) as a legend shows it"""
    rows = [row for row in records if isinstance(row.get(y), (int, float)) and row.get(x) is not None]
    if not rows:
        return None
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row[by] if by else "", []).append(row)
    lines = [_line(text_of(by, key) if by else "", x, y, group) for key, group in groups.items()]
    single = all(len({row[x] for row in group}) == len(group) for group in groups.values())
    has_ends = all(_interval(y, row) for row in rows)
    band = ("bands are 90 % intervals" if has_ends else "") if single else (
        "medians over the other axes, bands from the least to the most")
    most = max(len({row[x] for row in group}) for group in groups.values())
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
