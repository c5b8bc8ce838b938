"""HGX H200: collectives of NCCL 2.28.9 beside their forecasts. Base costs were fitted on occasion a's nccl_base only.

  python3 python/run.py plots.collectives --table [--occasion 20261121b]      errors by operation, GPUs and size
  python3 python/run.py plots.collectives [--occasion 20261121b] --out reports/collectives.png
"""
import statistics
from pathlib import Path

from ..units import bus_factor
from . import common, occasions
from .common import BLUE, GREEN, MIB, ORANGE

BENCH = "nccl_ops"
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather", "scatter")
COLOURS = {2: BLUE, 3: ORANGE, 4: GREEN}
RANGES = {"< 1 MiB": (0, MIB), ">= 1 MiB": (MIB, float("inf")), ">= 64 MiB": (64 * MIB, float("inf"))}
LARGEST = 2**33
TARGETS = ((4, MIB, 0.15), (MIB, 64 * MIB, 0.05), (64 * MIB, LARGEST, 0.02))  # from and to bytes, absolute relative error
SIZES = range(3, 32, 4)  # powers of two


def measured() -> list[str]:
    """Every occasion with this bench, those of most GPUs last, then oldest first; `20261121c-host` is of another setting."""
    names = [file.name.removesuffix(f"-{BENCH}.json") for file in (common.ROOT / occasions.path("", BENCH)).parent.glob(f"2*-{BENCH}.json")]

    def gpus_of(name: str) -> int:
        return max(len(point["gpus"]) for point in common.load(occasions.path(name, BENCH))["points"])
    return sorted((name for name in names if "-" not in name), key=lambda name: (gpus_of(name), name))


def compared(program: str, occasion: str) -> list[dict]:
    """Points of `linkcast validate --against`, in the order of the file, with `op` and `ranks`; all are held out."""
    (comparison,) = common.against(program, occasions.path(occasion, BENCH), held_out=True)
    return [{**point, "op": point["transport"], "ranks": int(point["ends"].removeprefix("x"))} for point in comparison["points"]]


def records(program: str, occasion: str | None = None) -> dict:
    occasion = occasion or measured()[-1]
    return {"occasion": occasion, "points": compared(program, occasion), "provenance": occasions.version(program),
            "date": occasions.date_of(occasion, BENCH)}


def errors_of(points: list[dict], size_range: tuple) -> list[float]:
    return [abs(point["rel_error"]) for point in points if size_range[0] <= point["size_B"] < size_range[1]]


def bus_rates(op: str, ranks: int, points: list[dict]) -> tuple[list[int], dict[str, list[float]]]:
    """Sizes, and GB/s as measured, predicted and at the ends of the interval."""
    some = sorted((point for point in points if point["ranks"] == ranks), key=lambda point: point["size_B"])
    return [point["size_B"] for point in some], {key: [bus_factor(op, ranks) * point["size_B"] / point[key] / 1e9 for point in some]
                                                 for key in ("measured_s", "predicted_s", "low_s", "high_s")}


def draw_bandwidth(axis, op: str, points: list[dict]) -> None:
    for ranks, colour in COLOURS.items():
        sizes, rate = bus_rates(op, ranks, points)
        axis.fill_between(sizes, rate["high_s"], rate["low_s"], color=colour, alpha=0.2, lw=0)
        axis.plot(sizes, rate["predicted_s"], "-", color=colour, lw=1)
        axis.plot(sizes, rate["measured_s"], "o", color=colour, ms=4, mew=0, label=f"{ranks} GPUs")
    axis.set(ylim=(0, 415))
    axis.set_title(op, fontsize=9)


def draw_errors(axis, points: list[dict]) -> None:
    for ranks, colour in COLOURS.items():
        some = [point for point in points if point["ranks"] == ranks]
        axis.plot([point["size_B"] * 2 ** (0.35 * (ranks - 3)) for point in some],
                  [100 * point["rel_error"] for point in some], "o", color=colour, ms=3, mew=0)
    for low, high, target in TARGETS:
        for sign in (-1, 1):
            axis.plot([low, high], [sign * 100 * target] * 2, color="black", lw=0.8)
    axis.axhline(0, color="black", lw=0.4)
    ticks = [-80, -15, -5, 5, 15, 80]
    axis.set_yscale("symlog", linthresh=15, linscale=2)
    axis.set_yticks(ticks, [f"{tick:+d}" for tick in ticks])
    axis.set_yticks([], minor=True)
    axis.set(ylim=(-110, 110))


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure = plt.figure(figsize=(11, 13.4))
    outer = figure.add_gridspec(3, 3, left=0.06, right=0.99, top=0.93, bottom=0.055, hspace=0.2, wspace=0.17)
    for place, op in enumerate(OPERATIONS):
        cell = outer[place // 3, place % 3].subgridspec(2, 1, height_ratios=[1.5, 1], hspace=0.06)
        above, below = figure.add_subplot(cell[0]), figure.add_subplot(cell[1])
        points = [point for point in data["points"] if point["op"] == op]
        draw_bandwidth(above, op, points)
        draw_errors(below, points)
        for axis in (above, below):
            common.size_ticks(axis, SIZES, fontsize=7)
            axis.set_xlim(4, LARGEST)
        above.tick_params(labelbottom=False)
        if place % 3 == 0:
            above.set_ylabel("bus bandwidth [GB/s]")
            below.set_ylabel("error of the time [%]")
        if place == 0:
            above.legend(loc="upper left", fontsize=7.5, title="points: measured\nline, band: forecast, 90 %", title_fontsize=7)
        if place >= 6:
            below.set_xlabel("bytes, as in nccl-tests")
    everything = [abs(point["rel_error"]) for point in data["points"]]
    figure.suptitle(f"HGX H200, NCCL 2.28.9, occasion {data['occasion']} ({data['date']}): {len(everything)} points, all HELD OUT; "
                    f"base costs fitted on occasion a's nccl_base only\nabsolute error: median "
                    f"{100 * statistics.median(everything):.1f} %, largest {100 * max(everything):.0f} %; below: predicted / "
                    "measured - 1, and the targets 15 % (below 1 MiB), 5 %, 2 % (from 64 MiB on); scale linear to 15 %",
                    fontsize=9)
    footer = f"records: {occasions.path(data['occasion'], BENCH)}, parameters {occasions.MACHINE}; {data['provenance']}"
    return common.save(plt, figure, footer, out)


def print_table(program: str, occasion: str) -> None:
    points = compared(program, occasion)
    print(f"| operation | GPUs | {' | '.join(f'{name}: median' + ' | max' for name in RANGES)} |")
    print("| --- " * (2 + 2 * len(RANGES)) + "|")
    for op in dict.fromkeys(point["op"] for point in points):
        for ranks in COLOURS:
            some = [point for point in points if point["op"] == op and point["ranks"] == ranks]
            cells = [f"{100 * figure(errors_of(some, size_range)):.1f} %" for size_range in RANGES.values()
                     for figure in (statistics.median, max)]
            print(f"| {op} | {ranks} | {' | '.join(cells)} |")


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--occasion", choices=measured(), default=measured()[-1], help="default: the newest of those with most GPUs")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--table", action="store_true", help="Markdown")
    how.add_argument("--out", type=Path, help="PNG file")
    options = parser.parse_args()
    if options.table:
        print_table(options.program, options.occasion)
    else:
        print(plot(records(options.program, options.occasion), options.out))


if __name__ == "__main__":
    main()
