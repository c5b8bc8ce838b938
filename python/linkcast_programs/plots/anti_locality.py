"""P100-DGX-1: bandwidth of staged copies for every pair of GPUs, measured and simulated."""
import statistics
from pathlib import Path

from . import common

MATRIX = "calibrate/data/p100-dgx1/p2p-matrix.json"
PLATFORM = "p100-dgx1"
GPUS = 8


def matrix(values: dict) -> list[list[float]]:
    return [[values.get((source, target), float("nan")) for target in range(GPUS)] for source in range(GPUS)]


def records(program: str) -> dict:
    measurement = common.load(MATRIX)
    size = max(point["size_B"] for point in measurement["points"])
    measured = {(int(point["source"][3:]), int(point["target"][3:])): statistics.median(common.times_of(point))
                for point in measurement["points"] if point["transport"] == "staged" and point["size_B"] == size}
    queries = [{"id": [source, target, both], "kind": "p2p", "platform": PLATFORM, "src": f"gpu{source}",
                "dst": f"gpu{target}", "size_B": size, "transport": "staged", "bidirectional": both}
               for both in (False, True) for source, target in measured]
    answers = common.batch(program, queries)
    rate = {tuple(answer["id"]): answer["bandwidth_Bps"] / 1e9 for answer in answers}
    shown = common.batch(program, [{"kind": "show", "platform": PLATFORM}])[0]
    peak = next(cable["bandwidth_Bps"] for cable in shown["cables"] if cable["kind"] == "pcie3")
    return {"measured": matrix({pair: size / time / 1e9 for pair, time in measured.items()}),
            "one_way": matrix({pair: rate[(*pair, False)] for pair in measured}),
            "error": matrix({pair: 100 * (rate[(*pair, False)] * time * 1e9 / size - 1) for pair, time in measured.items()}),
            "both_ways": matrix({pair: rate[(*pair, True)] for pair in measured}),
            "size_B": size, "peak_GBps": peak / 1e9, "ids": [measurement["id"], f"parameters {PLATFORM}"],
            "provenance": common.provenance(answers[0])}


def draw(figure, axis, values: list[list[float]], title: str, label: str, style: dict, digits: int) -> None:
    low, high = style["vmin"], style["vmax"]
    picture = axis.imshow(values, **style)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if value == value:  # not the diagonal, which is nan
                shade = (value - low) / (high - low)
                light = 0.3 < shade < 0.7 if style["cmap"] == "RdBu_r" else shade > 0.55
                axis.text(column, row, f"{value:.{digits}f}", ha="center", va="center", fontsize=7,
                          color="black" if light else "white")
    axis.set(title=title, xlabel="target GPU", ylabel="source GPU", xticks=range(GPUS), yticks=range(GPUS))
    axis.title.set_fontsize(9)
    axis.grid(False)
    figure.colorbar(picture, ax=axis, label=label, shrink=0.9)


def plot(data: dict, out: Path) -> Path:
    """Rows are sources, columns targets; GPUs 2k and 2k+1 hang on one PCIe switch."""
    plt = common.pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(9.2, 8.4))
    figure.subplots_adjust(left=0.06, right=0.97, top=0.88, bottom=0.09, hspace=0.3, wspace=0.12)
    one_way = {"cmap": "viridis", "vmin": 9, "vmax": 11}
    two_way = {"cmap": "viridis", "vmin": 9, "vmax": 21}
    error = {"cmap": "RdBu_r", "vmin": -6, "vmax": 6}
    draw(figure, axes[0][0], data["measured"], "measured, one direction", "GB/s", one_way, 1)
    draw(figure, axes[0][1], data["one_way"], "simulated, one direction", "GB/s", one_way, 1)
    draw(figure, axes[1][0], data["error"], "simulated / measured - 1, one direction", "%", error, 1)
    draw(figure, axes[1][1], data["both_ways"], "simulated, both directions at once (sum): never measured here", "GB/s",
         two_way, 1)
    figure.suptitle(f"Copies of {data['size_B'] / 1e6:.0f} MB through host memory on a P100 DGX-1: slowest under one PCIe switch "
                    "(2-3, 4-5, 6-7; hardly 0-1)\nThe one-way data were also fitted; both directions are a "
                    f"forecast. Nominal PCIe 3.0 x16: {data['peak_GBps']:.2f} GB/s a direction.", fontsize=9.5)
    footer = f"records: {', '.join(data['ids'])}; {data['provenance']}"
    return common.save(plt, figure, footer, out)
