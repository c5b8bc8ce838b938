"""Draws figures as SVG that follows the page: its colours, light or dark, and its width, by a second drawing for narrow ones."""
from __future__ import annotations

import html
import io
import math
import re

import matplotlib

matplotlib.use("Agg")
from markupsafe import Markup  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator  # noqa: E402

from ..charts import COLOURS, UNITS, Figure, Series, counts, is_wide, name_of  # noqa: E402
from ..units import size_text, value_text  # noqa: E402

INK, GRID = "#010203", "#040506"  # stand for colours of the page
WIDE_IN, NARROW_IN = 9.4, 4.5  # at 80 pixels an inch: 752 and 360 pixels
PIXELS = 80
ROW_IN = 0.28
MOST_MARKED = 50
LONGEST_ROW = 26  # letters of a row's name in a narrow picture
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "linkcast", "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": GRID,
         "xtick.color": INK, "ytick.color": INK, "grid.color": GRID, "legend.frameon": False, "savefig.transparent": True,
         "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": PIXELS}


def _text(key: str):
    def text(value: float, _=None) -> str:
        if value == 0:
            return "0"
        return size_text(round(value)) if key.endswith("_B") and value >= 1 else value_text(key, value)
    return FuncFormatter(text)


def _scale(axis, key: str, values: list[float], narrow: bool, log: bool | None = None, zero: bool = True) -> None:
    log = is_wide(values) if log is None else log
    axes, name = axis.axes, axis.axis_name
    if log:
        binary = key.endswith("_B")
        getattr(axes, f"set_{name}scale")("log", base=2 if binary else 10)
        if binary:
            decades = math.log2(max(values) / min(values))
            axis.set_major_locator(LogLocator(base=2.0 ** max(1, round(decades / (4 if narrow else 8)))))
        axis.set_minor_locator(plt.NullLocator())
        if ticks := counts(key, values):
            axis.set_ticks(ticks, labels=list(map(str, ticks)))
    elif zero:
        getattr(axes, f"set_{name}lim")(left=0) if name == "x" else axes.set_ylim(bottom=0)
    if any(key.endswith(end) for end in UNITS):
        axis.set_major_formatter(_text(key))
    if not log:
        whole = all(value == int(value) for value in values)
        axis.set_major_locator(MaxNLocator(4 if narrow else 8, integer=whole and not key.endswith(tuple(UNITS))))


def _legend(axes, columns: int, title: str = "") -> None:
    axes.legend(title=title or None, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize="small",
                title_fontsize="small", alignment="left", borderaxespad=0.2)


def _line(axes, one: Series, colour: str) -> None:
    if one.low and one.high:
        axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(one.x, one.y, color=colour, marker="o", markersize=3.5, label=one.name)


def _points(axes, one: Series, colour: str, names: list[str]) -> None:
    ends = [[y - low for y, low in zip(one.y, one.low)], [high - y for y, high in zip(one.y, one.high)]] if one.low and one.high else None
    axes.errorbar([names.index(str(x)) for x in one.x], one.y, yerr=ends, fmt="o", color=colour, label=one.name)


def _lines(axes, figure: Figure, narrow: bool) -> None:
    numeric = all(isinstance(x, (int, float)) for one in figure.series for x in one.x)
    names = list(dict.fromkeys(str(x) for one in figure.series for x in one.x))
    for i, one in enumerate(figure.series):
        colour = COLOURS[i % len(COLOURS)]
        _line(axes, one, colour) if numeric else _points(axes, one, colour, names)
    every_y = [y for one in figure.series for y in one.y + (one.low or []) + (one.high or [])]
    _scale(axes.yaxis, figure.y, every_y, False)
    if numeric:
        _scale(axes.xaxis, figure.x, [x for one in figure.series for x in one.x], narrow, zero=False)
    else:
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set(xlabel=name_of(figure.x), ylabel=name_of(figure.y))
    axes.grid()
    if len(figure.series) > 1 or figure.series[0].name:
        _legend(axes, 1 if narrow else 2, figure.legend)


def _shares(axes, figure: Figure, narrow: bool) -> None:
    for i, one in enumerate(figure.series):
        marker = "o" if len(one.x) <= MOST_MARKED else None
        axes.plot(one.x, one.y, color=COLOURS[i % len(COLOURS)], marker=marker, markersize=3.5, label=one.name)
    _scale(axes.xaxis, figure.x, [x for one in figure.series for x in one.x], narrow, zero=False)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
    axes.set(xlabel=figure.x, ylabel=figure.y, ylim=(0, 1.02))
    axes.grid()
    if len(figure.series) > 1:
        _legend(axes, 1 if narrow else 2)


def _short(name: object, narrow: bool) -> str:
    text = str(name)
    return text if not narrow or len(text) <= LONGEST_ROW else text[:LONGEST_ROW - 1] + "…"


def _rows(axes, names: list, narrow: bool) -> None:
    axes.set_yticks(range(len(names)), [_short(name, narrow) for name in names])
    axes.invert_yaxis()


def _bars(axes, figure: Figure, narrow: bool) -> None:
    one = figure.series[0]
    ends = [[y - low for y, low in zip(one.y, one.low)], [high - y for y, high in zip(one.y, one.high)]] if one.low and one.high else None
    axes.barh(range(len(one.y)), one.y, color=COLOURS[0], xerr=ends, ecolor=INK)
    _scale(axes.xaxis, figure.x, one.y + (one.high or []), narrow, log=False)
    _rows(axes, one.x, narrow)
    axes.set_xlabel(name_of(figure.x))
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _stacked(axes, figure: Figure, narrow: bool) -> None:
    done = [0.0] * len(figure.rows)
    for i, one in enumerate(figure.series):
        axes.barh(range(len(done)), one.y, left=done, color=figure.colours[i] or COLOURS[i % len(COLOURS)], label=one.name)
        done = [before + more for before, more in zip(done, one.y)]
    _scale(axes.xaxis, figure.x, done, narrow, log=False)
    _rows(axes, figure.rows, narrow)
    axes.set_xlabel(name_of(figure.x))
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    _legend(axes, 3 if narrow else 6)


def _heat(axes, figure: Figure, narrow: bool) -> None:
    width = len(figure.columns) - 1
    image = axes.pcolormesh(figure.columns, [i - 0.5 for i in range(len(figure.rows) + 1)],
                            [row + [0.0] * (width - len(row)) for row in figure.cells], vmin=0, cmap="viridis", rasterized=True)
    axes.figure.colorbar(image, label=figure.y, format=FuncFormatter(lambda share, _: f"{share:.0%}"), shrink=0.9)
    _scale(axes.xaxis, figure.x, figure.columns, narrow, log=False)
    _rows(axes, figure.rows, narrow)
    axes.set_xlabel(name_of(figure.x))


def _cells(axes, figure: Figure, narrow: bool) -> None:
    values = [[math.nan if value is None else value for value in row] for row in figure.cells]
    image = axes.imshow(values, cmap="viridis", aspect="auto")
    axes.set_xticks(range(len(figure.columns)), figure.columns, rotation=90 if narrow or len(figure.columns) > 10 else 0)
    axes.set_yticks(range(len(figure.rows)), figure.rows)
    axes.figure.colorbar(image, label=name_of(figure.y), format=_text(figure.y), shrink=0.9)
    if len(figure.columns) > (9 if narrow else 16):
        return
    low, high = image.get_clim()  # bright above the middle
    for i, row in enumerate(figure.cells):
        for k, value in enumerate(row):
            if value is not None:
                number = value_text(figure.y, value).split()[0]
                axes.text(k, i, f"{float(number):.3g}", ha="center", va="center", fontsize=7 if narrow else 9,
                          color="#111111" if value > (low + high) / 2 else "#ffffff")


DRAW = {"lines": _lines, "shares": _shares, "bars": _bars, "stacked": _stacked, "heat": _heat, "cells": _cells}


def _height_in(figure: Figure, narrow: bool) -> float:
    rows = len(figure.rows) or (len(figure.series[0].y) if figure.kind == "bars" else 0)
    if figure.kind in ("lines", "shares"):
        named = [one for one in figure.series if one.name]
        return 3.4 + 0.22 * math.ceil(len(named) / (1 if narrow else 2)) + (0.3 if figure.legend else 0)
    return 1.2 + ROW_IN * rows + (0.6 if figure.kind == "cells" else 0.0)


def _one(figure: Figure, narrow: bool) -> str:
    with matplotlib.rc_context(STYLE):
        drawn, axes = plt.subplots(figsize=(NARROW_IN if narrow else WIDE_IN, _height_in(figure, narrow)), layout="constrained")
        DRAW[figure.kind](axes, figure, narrow)
        out = io.StringIO()
        drawn.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        plt.close(drawn)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r'\s*<metadata>.*?</metadata>', "", text, flags=re.S)
    text = re.sub(r"\s*<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r' id="[a-z]+[0-9a-z]*_\d+"', "", text)  # axes_1: one of each in a page only
    text = re.sub(r"font: ([\d.]+px) [^;\"]+", r"font: \1 sans-serif", text)
    text = re.sub(r'<svg [^>]*viewBox="([^"]+)"[^>]*>', rf'<svg class="{"narrow" if narrow else "wide"}" viewBox="\1">', text, count=1)
    text = text.replace(INK, "currentColor").replace(GRID, "var(--line)")
    for i, colour in enumerate(COLOURS):
        text = text.replace(colour, f"var(--series-{i})")
    # Ids of what is drawn once and used often are made from its content: two pictures of a page may share them.
    return re.sub(r">\s+<", "><", text)


def draw(figure: Figure, title: str) -> Markup:
    label = html.escape(title, quote=True)
    return Markup("".join(_one(figure, narrow).replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1) for narrow in (False, True)))
