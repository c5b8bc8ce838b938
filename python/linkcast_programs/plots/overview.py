"""The picture of README.md: all_reduce measured by others and by this project, beside the forecasts.

  python3 python/run.py plots.overview --out docs/overview.svg      draws it
"""
from pathlib import Path

from . import all_reduce_by_gpus, collectives, common
from .common import BLUE, GREY, ORANGE

SIZES = range(10, 31, 5)  # powers of two


def records(program: str) -> dict:
    measured = collectives.records(program)
    points = [point for point in measured["points"] if point["op"] == "all_reduce" and point["ranks"] in (2, 4)]
    return {"p100": all_reduce_by_gpus.records(program), "h200": points, "provenance": measured["provenance"]}


def draw_counts(axis, data: dict) -> None:
    middle, below, above = all_reduce_by_gpus.rates(data["predicted"]["p100-dgx1"])
    axis.errorbar(data["counts"], middle, yerr=[below, above], fmt="-o", ms=3.5, lw=1, capsize=2.5, color=BLUE,
                  label="forecast, 90 % interval")
    axis.plot(data["counts"], data["published"], "D", ms=5, mfc="none", mec=ORANGE, mew=1.4, zorder=5, label="measured")
    axis.annotate("5 GPUs: no NVLink ring,\none hop through host memory", (5, middle[3]), xytext=(5.55, 6), fontsize=7, color=GREY,
                  arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7})
    axis.set(xlabel="GPUs 0 to k-1 of a DGX-1 with P100: k", ylabel="bus bandwidth [GB/s]", ylim=(0, 90), xticks=data["counts"])
    axis.set_title(f"all_reduce of {data['size_B'] / 1e9:.0f} GB (measured: published by others)", fontsize=8.5)
    axis.legend(loc="upper left", fontsize=7.5)


def draw_sizes(axis, points: list[dict]) -> None:
    for ranks, style in ((2, "--"), (4, "-")):
        sizes, rate = collectives.bus_rates("all_reduce", ranks, points)
        axis.fill_between(sizes, rate["high_s"], rate["low_s"], color=BLUE, alpha=0.15, lw=0)
        axis.plot(sizes, rate["predicted_s"], style, color=BLUE, lw=1.1, label=f"forecast, {ranks} GPUs")
        axis.plot(sizes, rate["measured_s"], "D" if ranks == 4 else "s", ms=4, mfc="none", mec=ORANGE, mew=1.2,
                  label=f"measured, {ranks} GPUs")
    common.size_ticks(axis, SIZES)
    axis.set(xlabel="size", xlim=(2**10, 2**33), ylim=(0, 420))
    axis.set_title("all_reduce on H200, NCCL 2.28 (measured: this project)", fontsize=8.5)
    axis.legend(loc="upper left", fontsize=7.5)


def figures(data: dict) -> str:
    """What is drawn, in words: kept in the picture, so that tests/lint/picture_check.py can tell whether it is of today."""
    counts = zip(data["p100"]["counts"], all_reduce_by_gpus.rates(data["p100"]["predicted"]["p100-dgx1"])[0], strict=True)
    texts = [f"{count} GPUs {rate:.2f} GB/s" for count, rate in counts]
    return "; ".join(texts + [f"{point['ranks']} H200 {point['size_B']} B {1e6 * point['predicted_s']:.2f} us" for point in data["h200"]])


def plot(data: dict, out: Path) -> Path:
    plt = common.vector_pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.1))
    figure.subplots_adjust(left=0.06, right=0.99, top=0.91, bottom=0.21, wspace=0.15)
    draw_counts(left, data["p100"])
    draw_sizes(right, data["h200"])
    footer = f"Held out, but 2, 4 and 8 GPUs on the left, which entered the fit; {data['provenance']}"
    return common.save_vector(plt, figure, footer, out, figures(data))


if __name__ == "__main__":
    parser = common.options(__doc__)
    parser.add_argument("--out", required=True, type=Path, help="SVG or PNG file")
    options = parser.parse_args()
    print(plot(records(options.program), options.out))
