"""Panels as SVG that takes its colours from the page: measured, forecast with interval, and the error below."""
from __future__ import annotations

import io
import math
import re
import statistics

from .points import Series

# Stand-ins in the drawing for variables of the page's style, so that one picture serves light, dark and paper.
INK, GRID = "#010203", "#030201"
LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a67c00"]  # source: Okabe and Ito, Color Universal Design, 2008
SCALES = {"time_s": (1e6, "us"), "bandwidth_Bps": (1e-9, "GB/s"), "algbw_Bps": (1e-9, "GB/s"), "busbw_Bps": (1e-9, "GB/s")}
SIZES = {0: "1", 10: "1 Ki", 20: "1 Mi", 30: "1 Gi"}
MOST_REACH = 2.5  # times the largest number that the end of an interval is followed
LEAST_ERROR = 5.0  # per cent: the axis of errors reaches at least as far
MOST_LETTERS = 36  # of names side by side below an axis
WIDE = 30  # spans beyond this factor get a logarithmic axis
MOST_CELLS = 8  # matrices up to this many GPUs have their numbers written into them, larger ones a scale
LEAST_SPAN = 0.1  # of the values: colours of a matrix reach at least as far, so that what is equal looks so


def pyplot():
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 8, "svg.fonttype": "none", "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK,
                         "xtick.color": INK, "ytick.color": INK, "grid.color": GRID, "axes.grid": True, "grid.linewidth": 0.5,
                         "axes.axisbelow": True, "legend.frameon": False, "legend.labelcolor": INK})
    return plt


def svg_text(figure, salt: str, label: str) -> str:
    plt = pyplot()
    plt.rcParams["svg.hashsalt"] = salt
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{label}">', text, count=1)
    text = text.replace(INK, "var(--ink)").replace(GRID, "var(--grid)")
    for i, colour in enumerate(LINES):
        text = text.replace(colour, f"var(--line{i})")
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)  # a hundredth of a point is finer than a screen
    return re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", text)


def spans_wide(values: list[float]) -> bool:
    positive = [value for value in values if value > 0]
    return bool(positive) and len(positive) == len(values) and max(values) / min(values) > WIDE


def unit_of(panel: dict) -> tuple[float, str]:
    return SCALES[panel["y"]] if panel["y"] in SCALES else (1.0, panel.get("unit", ""))


def labels_of(names: list) -> list[str]:
    """Places of an axis without a scale: numbers by size, names as they come."""
    numbers = sorted({name for name in names if not isinstance(name, str)})
    return [str(name) for name in numbers] + list(dict.fromkeys(name for name in names if isinstance(name, str)))


def draw_curves(panel: dict, series: list[Series], salt: str) -> str:
    scale, unit = unit_of(panel)
    names = [point.x for one in series for point in one.points]
    labels = [] if panel["x"] == "size_B" else labels_of(names)
    plt = pyplot()
    tall = 0.35 if any(len(label) > 12 for label in labels) else 0
    figure, (top, low) = plt.subplots(2, 1, figsize=(4.1, 3.5 + tall), sharex=True, height_ratios=[2.4, 1], layout="constrained")
    for i, one in enumerate(series):
        x = [labels.index(str(point.x)) + 0.12 * (i - (len(series) - 1) / 2) if labels else point.x for point in one.points]
        colour = LINES[i % len(LINES)]
        y = [scale * point.forecast for point in one.points]
        line = "" if labels else "-"
        ends = [((point.low or point.forecast) * scale, (point.high or point.forecast) * scale) for point in one.points]
        if labels:
            top.errorbar(x, y, yerr=[[b - a for b, (a, _) in zip(y, ends)], [c - b for b, (_, c) in zip(y, ends)]], fmt="_", ms=11,
                         mew=2, lw=1, capsize=2.5, color=colour, label=f"{one.name} ({one.role})")
        else:
            top.fill_between(x, [a for a, _ in ends], [b for _, b in ends], color=colour, alpha=0.18, lw=0)
            top.plot(x, y, line, color=colour, lw=1.2, label=f"{one.name} ({one.role})")
        top.plot(x, [scale * point.measured for point in one.points], "D", ms=4, mfc="none", mec=colour, mew=1.2)
        low.plot(x, [100 * point.error for point in one.points], "o" + line, ms=3, lw=0.9, color=colour)
    low.axhline(0, color=INK, lw=0.7)
    reach = 1.2 * max([LEAST_ERROR, *(abs(100 * point.error) for one in series for point in one.points)])
    low.set_ylim(-reach, reach)
    every = [scale * value for one in series for point in one.points for value in (point.measured, point.forecast)]
    if spans_wide(every):
        top.set_yscale("log")
    else:
        highest = scale * max(point.high or 0 for one in series for point in one.points)
        top.set_ylim(0, max(1.45 * max(every), 1.3 * min(highest, MOST_REACH * max(every))))
    if labels:
        slanted = bool(tall) or sum(len(label) for label in labels) > MOST_LETTERS
        low.set_xticks(range(len(labels)))
        low.set_xticklabels(labels, rotation=25 if slanted else 0, ha="right" if slanted else "center")
        low.set_xlim(-0.6, len(labels) - 0.4)
    elif spans_wide([float(name) for name in names]):
        low.set_xscale("log", base=2)
        last = math.log2(max(names))
        low.set_xticks([2**power for power in SIZES if power <= last + 1 and 2**power >= min(names) / 4])
        low.set_xticklabels([text for power, text in SIZES.items() if power <= last + 1 and 2**power >= min(names) / 4])
        low.minorticks_off()
    top.set_ylabel(unit)
    low.set_ylabel("error, %")
    if not labels or "x_label" in panel:
        low.set_xlabel(panel.get("x_label", "bytes"))
    top.plot([], [], "D", ms=4, mfc="none", mec=INK, mew=1.2, label="measured")
    top.legend(fontsize=7.5, loc="lower left", bbox_to_anchor=(0, 1), ncol=2, columnspacing=1, borderaxespad=0.2)
    return svg_text(figure, salt, panel["title"])


def draw_matrix(panel: dict, series: list[Series], salt: str) -> str:
    """Rows are sources, columns targets."""
    scale, unit = unit_of(panel)
    points = series[0].points
    count = 1 + max(max(point.pair) for point in points)
    plt = pyplot()
    figure, axes = plt.subplots(3, 1, figsize=(4.1, 9.2), layout="constrained")
    values = [scale * value for point in points for value in (point.measured, point.forecast)]
    middle, half = (max(values) + min(values)) / 2, (max(values) - min(values)) / 2
    half = max(half, LEAST_SPAN / 2 * middle)
    views = (("measured", lambda point: scale * point.measured, unit), (f"forecast ({series[0].role})", lambda point: scale * point.forecast, unit),
             ("error", lambda point: 100 * point.error, "%"))
    for axis, (name, value, of) in zip(axes, views):
        grid = [[math.nan] * count for _ in range(count)]
        for point in points:
            grid[point.pair[0]][point.pair[1]] = value(point)
        spread = max(LEAST_ERROR, max(abs(100 * point.error) for point in points))
        low, high = (-spread, spread) if of == "%" else (middle - half, middle + half)
        shown = axis.imshow(grid, cmap="PuOr" if of == "%" else "viridis", vmin=low, vmax=high, interpolation="nearest", extent=(0, count, count, 0))
        named = range(0, count, 1 if count <= MOST_CELLS else 2)  # two digits next to each other run together on a phone
        axis.set(title=f"{name}, {of}", xticks=[k + 0.5 for k in named], yticks=[k + 0.5 for k in named], aspect="equal")
        axis.set_xticklabels(named)
        axis.set_yticklabels(named)
        axis.grid(False)
        if count <= MOST_CELLS:
            write_cells(axis, grid, low, high, of == "%")
        else:
            figure.colorbar(shown, ax=axis, shrink=0.85, label=of)
    return svg_text(figure, salt, panel["title"])


def write_cells(axis, grid: list[list[float]], low: float, high: float, signed: bool) -> None:
    for row, cells in enumerate(grid):
        for column, cell in enumerate(cells):
            if math.isnan(cell):
                continue
            place = (cell - low) / (high - low) if high > low else 0.5
            dark = 0.12 < place < 0.88 if signed else place > 0.6
            text = f"{round(cell)}" if abs(cell) >= 100 or signed else f"{cell:.3g}"
            axis.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color="#000000" if dark else "#ffffff")


def draw(panel: dict, series: list[Series], salt: str) -> str:
    return (draw_matrix if panel.get("kind") == "matrix" else draw_curves)(panel, series, salt)


def summary(series: list[Series]) -> list[dict]:
    """One row a series: points, median and largest error, share inside the interval."""
    rows = []
    for one in series:
        errors = [abs(point.error) for point in one.points]
        with_ends = [point for point in one.points if point.low is not None]
        inside = sum(point.low <= point.measured <= point.high for point in with_ends)
        worst = max(one.points, key=lambda point: abs(point.error))
        rows.append({"name": one.name, "role": one.role, "points": len(errors), "median": f"{100 * statistics.median(errors):.1f} %",
                     "worst": f"{100 * worst.error:+.0f} %", "inside": f"{inside} of {len(with_ends)}" if with_ends else "no interval"})
    return rows
