"""Draws what a fit leaves unexplained:  python3 python/run.py plots.residuals DIR
DIR holds residuals.json of `linkcast calibrate fit ... --report DIR`; the pictures go there too."""
import argparse
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

from ..units import size_text
from . import common
from .common import BLUE, GREEN, GREY, ORANGE

MOST_ROWS = 40  # parameters in one picture
UNITS = {"s": (1e6, "us"), "B/s": (1e-9, "GB/s"), "B": (1, "B"), "1": (1, "")}


def transport_of(name: str) -> str | None:
    found = re.match(r"transport\.([^.]+)\.", name)
    return found[1] if found else None


def boundaries(parameters: dict, transport: str) -> list[float]:
    pattern = re.compile(rf"transport\.{re.escape(transport)}\.(r\d+\.to_B|chunk_B)$")
    return sorted(p["value"] for name, p in parameters.items() if pattern.match(name))


def size_axis(axis, sizes: list[float]) -> None:
    axis.set_xscale("log", base=2)
    low, high = min(sizes), max(sizes)
    ticks = [2**k for k in range(0, 41, 4) if low / 2 <= 2**k <= high * 2] or [low]
    axis.set_xticks(ticks, [size_text(tick) for tick in ticks], fontsize=7.5)
    axis.set_xlim(low / 2, high * 2)


def draw_residuals(axis, points: list[dict], cuts: list[float]) -> None:
    """One dot a point, the median of each size as a line; dashed where one range of sizes ends."""
    kinds = (("out of a queue of copies", BLUE, lambda p: not p["from_rest"] and not p["both_ways"]),
             ("from rest", ORANGE, lambda p: p["from_rest"] and not p["both_ways"]),
             ("both ways at once", GREEN, lambda p: p["both_ways"]))
    for label, colour, belongs in kinds:
        mine = [p for p in points if belongs(p)]
        if not mine:
            continue
        by_size = defaultdict(list)
        for p in mine:
            by_size[p["size_B"]].append(100 * p["residual"])
        sizes = sorted(by_size)
        axis.plot([p["size_B"] for p in mine], [100 * p["residual"] for p in mine], ".", ms=2.5, alpha=0.35, color=colour)
        axis.plot(sizes, [statistics.median(by_size[s]) for s in sizes], "-", lw=1.2, color=colour, label=label)
    axis.axhline(0, color=GREY, lw=0.9)
    for cut in cuts:
        axis.axvline(cut, color=GREY, ls="--", lw=0.8)
    size_axis(axis, [p["size_B"] for p in points])
    values = sorted(abs(100 * p["residual"]) for p in points)
    reach = max(5, 1.3 * common.quantile(values, 0.98))
    axis.set(ylim=(-reach, reach), ylabel="measured / modelled - 1 [%]")


def value_text(p: dict) -> str:
    scale, unit = UNITS[p["unit"]]
    return f"{scale * p['value']:.4g} {unit}"


def draw_errors(axis, rows: list[tuple[str, dict]], replicas: int) -> None:
    """Standard errors in per cent of each estimate: from the covariance, from the bootstrap, and as the file has it."""
    for at, (_, p) in enumerate(rows):
        scale = 100 / p["value"] if p["value"] else 0
        for key, colour, offset in (("covariance", BLUE, -0.22), ("bootstrap", ORANGE, 0), ("stderr", GREY, 0.22)):
            if key in p and p["value"]:
                enough = key != "bootstrap" or p["replicas"] >= min(10, replicas)
                axis.errorbar(0, at + offset, xerr=p[key] * scale, color=colour, lw=1.6, capsize=2.5,
                              alpha=1 if enough else 0.35)
        axis.plot(0, at, "k|", ms=7)
    labels = [f"{name}  {value_text(p)}" + (f"  ({p['replicas']} of {replicas})" if "replicas" in p else "") for name, p in rows]
    axis.set_yticks(range(len(rows)), labels, fontsize=6.5)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    errors = sorted(100 * p[key] / p["value"] for _, p in rows for key in ("covariance", "bootstrap", "stderr")
                    if p.get(key) and p["value"])
    reach = 1.25 * min(max(errors, default=1), 60)
    axis.set(xlim=(-reach, reach), xlabel="one standard error [% of the estimate]")
    for key, colour in (("covariance", BLUE), ("bootstrap", ORANGE), ("in the file, with the part between occasions", GREY)):
        axis.plot([], [], color=colour, lw=1.6, label=key)
    axis.legend(fontsize=6.5, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False)


def shown(parameters: dict, belongs) -> list[tuple[str, dict]]:
    """Estimates, no bounds of ranges."""
    return [(name, p) for name, p in parameters.items() if belongs(name) and p["unit"] != "B"][:MOST_ROWS]


def draw_transport(plt, report: dict, transport: str, footer: str, out: Path) -> Path:
    points = [p for p in report["points"] if p["transport"] == transport]
    rows = shown(report["parameters"], lambda name: transport_of(name) == transport)
    inches = 0.9 + 0.34 * max(len(rows), 2)
    figure = plt.figure(figsize=(9, 4.3 + inches))
    grid = figure.add_gridspec(2, 1, height_ratios=[3, inches], left=0.09, right=0.98, top=1 - 0.45 / (4.3 + inches),
                               bottom=0.75 / (4.3 + inches), hspace=1.05 / (1.5 + inches / 2))
    upper, lower = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    draw_residuals(upper, points, boundaries(report["parameters"], transport))
    upper.set_xlabel("size of the copy; dashed: a range of sizes ends", labelpad=2)
    upper.legend(fontsize=7, loc="upper right")
    if rows:
        draw_errors(lower, rows, report["bootstrap"])
        box = lower.get_position()
        lower.set_position([0.42, box.y0, 0.56, box.height])
    else:
        lower.set_axis_off()
        lower.text(0.5, 0.5, "no parameter of its own", ha="center", color=GREY)
    figure.suptitle(f"{report['name']}, {transport}: what the fit leaves unexplained of the data that it was made from", fontsize=9.5)
    return common.save(plt, figure, footer, out)


def draw_cables(plt, report: dict, footer: str, out: Path) -> Path | None:
    rows = shown(report["parameters"], lambda name: transport_of(name) is None)
    if not rows:
        return None
    height = 1.5 + 0.34 * max(len(rows), 3)
    figure, axis = plt.subplots(figsize=(9, height))
    figure.subplots_adjust(left=0.47, right=0.98, top=1 - 0.7 / height, bottom=0.65 / height)
    draw_errors(axis, rows, report["bootstrap"])
    figure.suptitle(f"{report['name']}: rates of cables and what is derived from them", fontsize=9.5)
    return common.save(plt, figure, footer, out)


def draw_overview(plt, report: dict, footer: str, out: Path) -> Path:
    """Every transport on one page, on one scale."""
    by_transport = defaultdict(list)
    for p in report["points"]:
        by_transport[p["transport"]].append(p)
    columns = min(3, len(by_transport))
    lines = -(-len(by_transport) // columns)
    height = 1.1 + 2 * lines
    figure, axes = plt.subplots(lines, columns, figsize=(3.2 * columns + 0.6, height), squeeze=False)
    figure.subplots_adjust(left=0.55 / (3.2 * columns), right=0.985, top=1 - 0.65 / height, bottom=0.5 / height, hspace=0.55,
                           wspace=0.22)
    for axis in axes.flat[len(by_transport):]:
        axis.set_axis_off()
    for axis, (transport, points) in zip(axes.flat, sorted(by_transport.items())):
        draw_residuals(axis, points, boundaries(report["parameters"], transport))
        axis.set(ylabel="", ylim=(-30, 30))
        ticks = axis.get_xticks()[::2]
        axis.set_xticks(ticks, [size_text(tick) for tick in ticks], fontsize=6.5)
        middle = statistics.median(abs(100 * p["residual"]) for p in points)
        axis.set_title(f"{transport}: {len(points)} points, median {middle:.1f} %", fontsize=7.5)
    figure.suptitle(f"{report['name']}: measured / modelled - 1 [%] against size, on the data that were fitted\n"
                    "blue out of a queue of copies, orange from rest, green both ways at once", fontsize=9)
    return common.save(plt, figure, footer, out)


def pictures(folder: Path) -> list[Path]:
    try:
        report = json.loads((folder / "residuals.json").read_text(encoding="utf-8"))
    except OSError:
        raise SystemExit(f"error: {folder}/residuals.json: no such file; linkcast calibrate fit --report writes it") from None
    plt = common.pyplot()
    footer = f"residuals.json of {report['name']}, {report['bootstrap']} bootstrap refits; (n of N): refits with that parameter"
    made = [draw_overview(plt, report, footer, folder / "overview.png")]
    for transport in sorted({p["transport"] for p in report["points"]}):
        made.append(draw_transport(plt, report, transport, footer, folder / f"{transport}.png"))
    cables = draw_cables(plt, report, footer, folder / "cables.png")
    return made + ([cables] if cables else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with residuals.json")
    for picture in pictures(parser.parse_args().folder):
        print(picture)


if __name__ == "__main__":
    main()
