"""Charts of Plotly as plain data. One function a figure: numbers in, figure out."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass

from plotly import graph_objects as go

from units import size_text

COLOURS = ["#1f5fa8", "#d2691e", "#2e8b57", "#a0307a", "#7a6a00", "#4a4a9c", "#b03030", "#00808a", "#6b4c2a", "#808080"]
NAMES = {"algbw_Bps": "algorithm bandwidth", "busbw_Bps": "bus bandwidth", "size_B": "size", "step_time_s": "time of a step",
         "makespan_s": "makespan", "gpu_count": "GPUs", "exposed_communication_s": "exposed communication"}
UNITS = {"_Bps": "B/s", "_B": "B", "_s": "s"}
LOG_FROM = 30  # axes that span a larger factor are logarithmic
ROW_PX, LEAST_PX = 24, 360
MOST_WHOLE_TICKS = 16
LONGEST_BESIDE = 24  # letters of a line's name; longer ones go below the chart


@dataclass
class Series:
    """A line, or bars: y over x, with the ends of an interval where there is one."""
    name: str
    x: list
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None


def name_of(key: str) -> str:
    for end in UNITS:
        if key not in NAMES and key.endswith(end):
            return key[:-len(end)].replace("_", " ").strip() or key
    return NAMES.get(key, key.replace("_", " "))


def is_wide(values: list[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) / min(values) > LOG_FROM


def _axis(key: str, values: list, log: bool | None = None, from_zero: bool = True) -> dict:
    """Title and ticks that fit the unit at the key's end."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    axis: dict = {"title": {"text": name_of(key)}, "showgrid": True, "gridcolor": "#e6e6e6"}
    if len(numbers) < len(values):
        return axis | {"type": "category"}
    log = is_wide(numbers) if log is None else log
    axis["type"] = "log" if log else "linear"
    if not log and from_zero:
        axis["rangemode"] = "tozero"
    if key.endswith("_B") and log:
        first, last = math.floor(math.log2(min(numbers))), math.ceil(math.log2(max(numbers)))
        step = max(1, round((last - first) / 8))
        ticks = [2.0**exponent for exponent in range(first, last + 1, step)]
        return axis | {"tickvals": ticks, "ticktext": [size_text(tick) for tick in ticks]}
    if log:
        axis["dtick"] = 1
    for end, unit in UNITS.items():
        if key.endswith(end):
            return axis | {"tickformat": "~s", "ticksuffix": unit}
    few = not log and all(number == int(number) for number in numbers) and max(numbers, default=0) <= MOST_WHOLE_TICKS
    return axis | ({"dtick": 1} if few else {})


def _figure(traces: list, height: int = LEAST_PX, **layout) -> dict:
    figure = go.Figure(traces)
    figure.update_layout(template="none", height=height, colorway=COLOURS, margin={"l": 80, "r": 20, "t": 30, "b": 60},
                         font={"family": "sans-serif", "size": 13}, legend={"title": {"side": "top"}}, **layout)
    figure.update_layout(xaxis_automargin=True, yaxis_automargin=True)
    return json.loads(figure.to_json())


def _rgba(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _points(one: Series, colour: str) -> list:
    """Over names: no line between them."""
    error = {"type": "data", "symmetric": False, "array": [high - y for y, high in zip(one.y, one.high)],
             "arrayminus": [y - low for y, low in zip(one.y, one.low)]} if one.low and one.high else None
    return [go.Scatter(x=one.x, y=one.y, name=one.name, mode="markers", marker={"color": colour, "size": 8}, error_y=error)]


def _line(one: Series, colour: str) -> list:
    band = []
    if one.low and one.high:
        band = [go.Scatter(x=one.x + one.x[::-1], y=one.high + one.low[::-1], fill="toself", mode="lines", line={"width": 0},
                           fillcolor=_rgba(colour, 0.18), hoverinfo="skip", showlegend=False, legendgroup=one.name)]
    return [*band, go.Scatter(x=one.x, y=one.y, name=one.name, mode="lines+markers", line={"color": colour},
                              legendgroup=one.name)]


def lines(series: list[Series], x_key: str, y_key: str, legend: str = "") -> dict:
    """Lines with points, or points alone where x is a name; the interval is a band of the line's colour, or a bar."""
    numeric = all(isinstance(x, (int, float)) for one in series for x in one.x)
    traces = [trace for i, one in enumerate(series) for trace in (_line if numeric else _points)(one, COLOURS[i % len(COLOURS)])]
    every_y = [y for one in series for y in one.y + (one.low or []) + (one.high or [])]
    x_axis = _axis(x_key, [x for one in series for x in one.x], from_zero=False)
    figure = _figure(traces, xaxis=x_axis, yaxis=_axis(y_key, every_y), legend_title_text=legend,
                     showlegend=len(series) > 1 or bool(series[0].name))
    if max((len(one.name) for one in series), default=0) > LONGEST_BESIDE:
        figure["layout"]["legend"] |= {"orientation": "h", "yanchor": "top", "y": -0.25}
        figure["layout"]["height"] += ROW_PX * len(series)
    return figure


def bars(series: Series, y_key: str) -> dict:
    """One row each, with its interval."""
    error = None
    if series.low and series.high:
        error = {"type": "data", "symmetric": False, "color": "#333",
                 "array": [high - y for y, high in zip(series.y, series.high)],
                 "arrayminus": [y - low for y, low in zip(series.y, series.low)]}
    trace = go.Bar(x=series.y, y=series.x, orientation="h", error_x=error, marker={"color": COLOURS[0]})
    ends = series.y + (series.high or [])
    return _figure([trace], height=max(160, 110 + ROW_PX * len(series.x)), xaxis=_axis(y_key, ends, log=False),
                   yaxis={"type": "category", "autorange": "reversed"})


def stacked(rows: list[str], parts: dict[str, list[float]], key: str, colours: dict[str, str] | None = None) -> dict:
    """Each row a bar of parts."""
    traces = [go.Bar(x=values, y=rows, name=part, orientation="h", marker={"color": (colours or {}).get(part)})
              for part, values in parts.items() if any(values)]
    whole = [sum(values) for values in zip(*parts.values())]
    return _figure(traces, height=max(170, 120 + ROW_PX * len(rows)), barmode="stack", xaxis=_axis(key, whole, log=False),
                   yaxis={"type": "category", "autorange": "reversed"}, legend_traceorder="normal")


def heat(rows: dict[str, list[float]], bin_s: float, what: str) -> dict:
    """Shares over time, a row each."""
    most = max(max(bins, default=0) for bins in rows.values()) or 1  # links are seldom busy for a whole bin
    trace = go.Heatmap(z=list(rows.values()), y=list(rows), x0=bin_s / 2, dx=bin_s, zmin=0, zmax=most, colorscale="Viridis",
                       colorbar={"title": {"text": what, "side": "right"}, "tickformat": ".0%"},
                       hovertemplate="%{y}, %{x}: %{z:.1%}<extra></extra>")
    return _figure([trace], height=max(200, 130 + 18 * len(rows)), yaxis={"type": "category", "autorange": "reversed"},
                   xaxis={"title": {"text": "time"}, "tickformat": "~s", "ticksuffix": "s"})


def distribution(series: list[Series], x_key: str, title: str) -> dict:
    """Share of cases at or below a value."""
    traces = [go.Scatter(x=one.x, y=one.y, name=one.name, mode="lines+markers", line={"shape": "linear"},
                         showlegend=len(series) > 1) for one in series]
    x_axis = _axis(x_key, [x for one in series for x in one.x], from_zero=False) | {"title": {"text": title}}
    return _figure(traces, xaxis=x_axis, yaxis={"title": {"text": "share at or below"}, "tickformat": ".0%", "range": [0, 1.02],
                                                "gridcolor": "#e6e6e6"})
