"""Plots of a study as PNG and SVG."""
from __future__ import annotations

import io
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: E402

from ..charts import COLOURS, counts, is_wide, name_of  # noqa: E402
from ..table_plots import Drawing, Points, drawing, only_text, value_of  # noqa: E402
from ..units import value_text  # noqa: E402

DPI = 150


def legend_text(key: str, value: Any) -> str:
    return value_text(key, value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _scale(axis, key: str, values: list[Any], log: bool) -> None:
    if log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log", **({"base": 2} if key.endswith("_B") else {}))
    if key.endswith(("_B", "_s", "_Bps")) and all(isinstance(value, (int, float)) for value in values):
        axis.set_major_formatter(FuncFormatter(lambda value, _: value_text(key, value) if value > 0 else "0"))


def figure(shown: Drawing, title: str):
    fig, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    every_x = [x for line in shown.lines for x in line.x]
    numeric = all(isinstance(x, (int, float)) for x in every_x)
    names = list(dict.fromkeys(map(str, every_x)))
    for line, colour in zip(shown.lines, COLOURS):
        x = line.x if numeric else [names.index(str(value)) for value in line.x]
        if numeric:
            axes.plot(x, line.y, marker="o", markersize=3.5, color=colour, label=line.name)
            axes.fill_between(x, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
        else:
            ends = [[y - low for y, low in zip(line.y, line.low)], [high - y for y, high in zip(line.y, line.high)]]
            axes.errorbar(x, line.y, yerr=ends, fmt="o", markersize=5, color=colour, label=line.name)
    if numeric and all(isinstance(x, int) for x in every_x):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not numeric:
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize="small")
    every_y = [y for line in shown.lines for y in line.low + line.high]
    _scale(axes.xaxis, shown.x, every_x, numeric and is_wide(every_x))
    if numeric and is_wide(every_x) and (ticks := counts(shown.x, every_x)):
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.xaxis.set_minor_locator(plt.NullLocator())
    _scale(axes.yaxis, shown.y, every_y, is_wide(every_y))
    if not is_wide(every_y):
        axes.set_ylim(bottom=min(0, min(every_y)))
    axes.set(xlabel=name_of(shown.x), ylabel=name_of(shown.y))
    axes.set_title("\n".join(filter(None, [title, shown.band])), fontsize="medium")
    axes.grid(alpha=0.3)
    if shown.by:
        more = f" ({shown.left_out} more not shown)" if shown.left_out else ""
        axes.legend(title=name_of(shown.by) + more, fontsize="small", title_fontsize="small")
    return fig


def pictures(name: str, plot: dict[str, Any], points: Points) -> dict[str, bytes]:
    """By the end of the file's name; none where no scenario has the values."""
    shown = drawing(points, plot["x"], plot["y"], plot.get("by", ""), legend_text)
    if not shown:
        return {}
    plt.rcParams["svg.hashsalt"] = "linkcast"  # the same table gives the same picture
    only = only_text(plot.get("where", {}), plot["x"], name_of, lambda key, value: legend_text(key, value_of(value)))
    fig, files = figure(shown, ", ".join([name, *only])), {}
    for end, extra in (("png", {"dpi": DPI}), ("svg", {"metadata": {"Date": None}})):
        out = io.BytesIO()
        fig.savefig(out, format=end, **extra)
        files[end] = out.getvalue()
    plt.close(fig)
    return files
