"""P100-DGX-1: time and bandwidth of copies against message size, measured and simulated, by class of pair."""
from collections import defaultdict
from pathlib import Path

from . import common
from .common import BLUE, GREEN, ORANGE

SWEEP = "calibrate/data/p100-dgx1/p2p-message-size.json"
PLATFORM = "p100-dgx1"
COLOURS = {"peer over NVLink": BLUE, "staged, no PCIe switch in common": GREEN, "staged, one PCIe switch": ORANGE}


def class_of(point: dict) -> str | None:
    if point["transport"] == "peer":
        return "peer over NVLink"
    if point["transport"] != "staged":
        return None
    under_one_switch = int(point["source"][3:]) // 2 == int(point["target"][3:]) // 2  # switch k has GPUs 2k and 2k+1
    return "staged, one PCIe switch" if under_one_switch else "staged, no PCIe switch in common"


def records(program: str) -> dict:
    """classes[name][size] = [(measured times, prediction), ...], one entry a pair."""
    sweep = common.load(SWEEP)
    points = [point for point in sweep["points"] if class_of(point)]
    queries = [{"id": i, "kind": "p2p", "platform": PLATFORM, "src": point["source"], "dst": point["target"],
                "size_B": point["size_B"], "transport": point["transport"]} for i, point in enumerate(points)]
    answers = common.batch(program, queries)
    classes = {name: defaultdict(list) for name in COLOURS}
    for point, answer in zip(points, answers, strict=True):
        classes[class_of(point)][point["size_B"]].append((common.times_of(point), answer))
    shown = common.batch(program, [{"kind": "show", "platform": PLATFORM}])[0]
    peaks = {cable["kind"]: cable["bandwidth_Bps"] for cable in shown["cables"]}
    return {"classes": classes, "peaks": peaks, "ids": [sweep["id"], f"parameters {PLATFORM}"],
            "provenance": common.provenance(answers[0])}


def draw_class(axes, name: str, by_size: dict) -> None:
    time_axis, rate_axis, error_axis = axes
    sizes = sorted(by_size)
    style = {"fmt": "o", "ms": 3, "lw": 0.8, "color": COLOURS[name]}
    times = [common.spread([t for measured, _ in by_size[s] for t in measured]) for s in sizes]
    rates = [common.spread([s / t / 1e9 for measured, _ in by_size[s] for t in measured]) for s in sizes]
    errors = [common.spread([100 * (answer["time_s"] / t - 1) for measured, answer in by_size[s] for t in measured])
              for s in sizes]
    for axis, values, scale in ((time_axis, times, 1e6), (rate_axis, rates, 1), (error_axis, errors, 1)):
        middle, below, above = ([scale * v for v in column] for column in zip(*values, strict=True))
        axis.errorbar(sizes, middle, yerr=[below, above], **style)
    simulated = [common.spread([answer["time_s"] for _, answer in by_size[s]])[0] for s in sizes]
    time_axis.plot(sizes, [1e6 * t for t in simulated], color=COLOURS[name], lw=1.2, label=name)
    rate_axis.plot(sizes, [s / t / 1e9 for s, t in zip(sizes, simulated, strict=True)], color=COLOURS[name], lw=1.2)


def plot(data: dict, out: Path) -> Path:
    """Points: medians over pairs and repetitions with bars from the 5th to the 95th percentile; lines: simulated."""
    plt = common.pyplot()
    figure = plt.figure(figsize=(9, 6.2))
    grid = figure.add_gridspec(2, 2, height_ratios=[2, 1], left=0.07, right=0.98, top=0.9, bottom=0.12, hspace=0.22,
                               wspace=0.18)
    time_axis, rate_axis = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    error_axis = figure.add_subplot(grid[1, :])
    for name, by_size in data["classes"].items():
        draw_class((time_axis, rate_axis, error_axis), name, by_size)
    for axis in (time_axis, rate_axis, error_axis):
        common.size_ticks(axis, range(0, 29, 4), fontsize=7.5)
    time_axis.set(ylabel="time of one copy [us]", yscale="log")
    rate_axis.set(ylabel="bandwidth, one direction [GB/s]", ylim=(0, 22))
    for kind, label in (("nvlink1", "nominal NVLink 1: {:.0f} GB/s"), ("pcie3", "nominal PCIe 3.0 x16: {:.2f} GB/s")):
        peak = data["peaks"][kind] / 1e9
        rate_axis.axhline(peak, color=common.GREY, ls="--", lw=0.9)
        rate_axis.text(1, peak + 0.25, label.format(peak), color=common.GREY, fontsize=7.5)
    error_axis.axhline(0, color=common.GREY, lw=0.9)
    error_axis.set(xlabel="message size", ylabel="sim. / meas. - 1 [%]", ylim=(-35, 35))
    time_axis.legend(loc="upper left", fontsize=8)
    figure.suptitle("Copies between GPUs of a P100 DGX-1: points measured (median, 5th to 95th percentile), lines simulated\n"
                    "The parameters were fitted on these data: this shows the fit, not a forecast.", fontsize=9.5)
    footer = f"records: {', '.join(data['ids'])}; {data['provenance']}"
    return common.save(plt, figure, footer, out)
