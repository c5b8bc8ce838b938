"""HGX H200: copies that start together, predicted and measured. No parameter was fitted to any of them.

  python3 python/run.py plots.patterns --table [--occasion 20261121b]     the last copy of each pattern
  python3 python/run.py plots.patterns --copies [--occasion 20261121b]    every copy of 256 MiB
"""
import statistics
from pathlib import Path

from . import common, occasions
from .common import BLUE, GREY, MIB, ORANGE

COLUMNS = {("ce", "write"): "copy engines, pushed", ("ce", "read"): "copy engines, pulled",
           ("sm", "write"): "kernels, stores", ("sm", "read"): "kernels, loads"}
SHOWN_B = 256 * MIB  # of the finishing times
TABLE_B = (64 * MIB, 256 * MIB)
WHAT = {"same_pair": "0>1 twice", "same_source": "out-cast from 0", "same_destination": "in-cast to 0",
        "disjoint": "0>1, 2>3", "opposite": "0>1, 1>0", "through": "0>1>2", "ring": "0>1>2>3>0", "ring_both": "rings both ways",
        "all_to_all": "every pair"}


def query_of(point: dict, flows: list) -> dict:
    return {"kind": "flows", "platform": occasions.MACHINE, "flows": flows, "timing": "single",
            "engine": "sm" if point["engine"] == "sm" else "copy_engine", "direction": point["direction"]}


def records(program: str, occasion: str | None = None) -> dict:
    """cells[pattern, copies][engine, direction][size] = the point with `predicted`; lone: one copy alone, by column."""
    occasion = occasion or occasions.held_out()[-1]
    points = common.load(occasions.path(occasion, "concurrency"))["points"]
    answers = common.batch(program, [query_of(point, point["flows"]) for point in points])
    cells = {}
    for point, answer in zip(points, answers, strict=True):
        row = cells.setdefault((point["pattern"], len(point["flows"])), {})
        row.setdefault((point["engine"], point["direction"]), {})[point["flows"][0][2]] = {
            **point, "predicted": answer, "measured_s": statistics.median(point["time_s"])}
    first = next(iter(next(iter(cells.values())).values()))[SHOWN_B]["flows"][:1]
    lone = common.batch(program, [query_of({"engine": engine, "direction": direction}, first) for engine, direction in COLUMNS])
    order = {pattern: place for place, pattern in enumerate(WHAT)}
    return {"occasion": occasion, "cells": dict(sorted(cells.items(), key=lambda cell: (order[cell[0][0]], cell[0][1]))),
            "lone": {column: answer["time_s"] for column, answer in zip(COLUMNS, lone, strict=True)},
            "provenance": common.provenance(answers[0])}


def error(cell: dict) -> float:
    return cell["predicted"]["time_s"] / cell["measured_s"] - 1


def finishing(cell: dict) -> tuple[list[float], list[float]]:
    """Milliseconds after which the first, second, ... copy is done: predicted, and the median measured."""
    measured = [sorted(times) for times in zip(*cell["flow_times_s"], strict=True)]
    return (sorted(1e3 * time for time in cell["predicted"]["flow_times_s"]),
            [1e3 * statistics.median(times) for times in zip(*measured, strict=True)])


def draw_finishing(axis, data: dict, column: tuple) -> None:
    lone = 1e3 * data["lone"][column]
    for turn in range(1, 8):
        axis.axvline(turn * lone, color=GREY, lw=0.7, ls=":", alpha=0.8)
    for row, by_column in enumerate(data["cells"].values()):
        predicted, measured = finishing(by_column[column][SHOWN_B])
        axis.plot([0, max(*predicted, *measured)], [row, row], color=GREY, lw=0.5, alpha=0.5)
        axis.plot(predicted, [row - 0.17] * len(predicted), "o", ms=4.5, mfc="none", mec=BLUE, mew=1.1)
        axis.plot(measured, [row + 0.17] * len(measured), "D", ms=3.4, mew=0, color=ORANGE)
    axis.set(xlim=(0, 5.2), ylim=(len(data["cells"]) - 0.4, -0.6), xlabel="copy done after [ms]")
    axis.set_title(COLUMNS[column], fontsize=9)
    axis.grid(False)


def draw_error(axis, data: dict, column: tuple) -> None:
    sizes = sorted(next(iter(data["cells"].values()))[column])
    values = [[100 * error(by_column[column][size]) for size in sizes] for by_column in data["cells"].values()]
    axis.imshow(values, cmap="RdBu_r", vmin=-30, vmax=30, aspect="auto")
    for row, line in enumerate(values):
        for place, value in enumerate(line):
            axis.text(place, row, f"{value:+.1f}", ha="center", va="center", fontsize=6.8,
                      color="white" if abs(value) > 20 else "black")
    axis.set_xticks(range(len(sizes)), [f"{size / MIB:.0f}" for size in sizes])
    axis.set(xlabel="bytes of each copy [MiB]")
    axis.grid(False)


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(2, len(COLUMNS), figsize=(12.4, 9.4))
    figure.subplots_adjust(left=0.155, right=0.99, top=0.89, bottom=0.085, hspace=0.22, wspace=0.06)
    names = [f"{pattern} x{copies}\n{WHAT[pattern]}" for pattern, copies in data["cells"]]
    for place, column in enumerate(COLUMNS):
        draw_finishing(axes[0][place], data, column)
        draw_error(axes[1][place], data, column)
        for row in (0, 1):
            axes[row][place].set_yticks(range(len(names)), names if place == 0 else [""] * len(names), fontsize=7.5)
            axes[row][place].tick_params(axis="y", length=0)
    legend = [plt.Line2D([], [], ls="", marker="o", mfc="none", mec=BLUE, mew=1.1, label="predicted"),
              plt.Line2D([], [], ls="", marker="D", ms=4, mew=0, color=ORANGE, label="measured"),
              plt.Line2D([], [], color=GREY, lw=0.8, ls=":", label="1, 2, ... lone copies")]
    axes[0][0].legend(handles=legend, loc="upper right", fontsize=7.5)
    axes[1][0].text(0, 1.02, "predicted / measured - 1 of the last copy [%]", transform=axes[1][0].transAxes, fontsize=9)
    figure.suptitle(f"Copies that start together on an HGX H200, occasion {data['occasion']}: HELD OUT, no parameter was fitted "
                    f"to copies at once\nabove: when each copy of {SHOWN_B / MIB:.0f} MiB is done: copy engines serve one copy "
                    "after the other, kernels share; below: error", fontsize=9.5)
    footer = (f"records: {occasions.path(data['occasion'], 'concurrency')}, parameters {occasions.MACHINE}; "
              f"{data['provenance']}")
    return common.save(plt, figure, footer, out)


def print_table(data: dict) -> None:
    """Milliseconds until the last copy is done."""
    print("| pattern | moved by | size | predicted ms | measured ms | error |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (pattern, copies), by_column in data["cells"].items():
        for column, name in COLUMNS.items():
            for size in TABLE_B:
                cell = by_column[column][size]
                print(f"| {pattern} x{copies} | {name} | {size / MIB:.0f} MiB | {1e3 * cell['predicted']['time_s']:.3f} | "
                      f"{1e3 * cell['measured_s']:.3f} | {100 * error(cell):+.1f} % |")


def print_copies(data: dict) -> None:
    """Milliseconds until the first, second, ... copy is done, whichever that is."""
    print("pattern              moved by              predicted ms                        measured ms")
    for (pattern, copies), by_column in data["cells"].items():
        for column, name in COLUMNS.items():
            predicted, measured = (" ".join(f"{time:.3f}" for time in times) for times in finishing(by_column[column][SHOWN_B]))
            print(f"{f'{pattern} x{copies}':19}  {name:20}  {predicted:34}  {measured}")


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--occasion", help="default: the newest that was not fitted")
    parser.add_argument("--out", type=Path, default=Path("reports/patterns.png"))
    parser.add_argument("--table", action="store_true", help="print the Markdown table instead of drawing")
    parser.add_argument("--copies", action="store_true", help="print when each copy is done instead of drawing")
    options = parser.parse_args()
    data = records(options.program, options.occasion)
    if options.table:
        print_table(data)
    elif options.copies:
        print_copies(data)
    else:
        print(plot(data, options.out))


if __name__ == "__main__":
    main()
