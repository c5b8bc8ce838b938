"""Three what-if studies: other wirings of a V100 DGX-1, NVLink against PCIe, a P100 DGX-1 with one broken cable.

  python3 python/run.py plots.what_if --table wirings|nvlink|broken      the figures behind the picture
  python3 python/run.py plots.what_if --out reports/what_if.png
"""
import statistics
from pathlib import Path

from . import common
from .common import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY

DATA = "validate/plots/what_if.json"
GIB = 2**30
LARGE_B = 2**28  # start-up is below 2 % of the time
SETS = {"pairs 0,3 1,2 4,7 5,6": [[0, 3], [1, 2], [4, 7], [5, 6]], "sets 0-3 4-7": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "all eight": [[0, 1, 2, 3, 4, 5, 6, 7]]}
OPERATIONS = ("all_reduce", "alltoall")
LIBRARIES = {"all_reduce": "nccl-2.3", "alltoall": "nccl-2.18"}  # the machine's time; sends and receives came later
MACHINES = {"DGX-1": ("p100-dgx1", [], BLUE), "DGX-1 without NVLink": ("p100-dgx1", ["disable nvlink"], ORANGE),
            "GX8": ("gx8", [], GREEN)}
SIZES = [2**power for power in range(18, 29)]


def collective(platform: str, edits: list[str], gpus: list[int], size_B: int, op: str = "all_reduce", **more) -> dict:
    return {"kind": "collective", "platform": platform, "op": op, "gpus": gpus, "size_B": size_B, "edits": edits, **more}


def wirings(program: str) -> dict:
    """Bus bandwidth by operation, wiring and set; of several sets the sum over all of them, each alone."""
    data = common.load(DATA)
    keys, queries = [], []
    for op in OPERATIONS:
        for name, how in data["wirings"].items():
            for label, sets in SETS.items():
                for gpus in sets:
                    keys.append((op, name, label))
                    queries.append(collective(how["platform"], how.get("edits", []), gpus, LARGE_B, op, library=LIBRARIES[op]))
    rates: dict = {}
    for key, result in zip(keys, common.batch(program, queries), strict=True):
        rates[key] = rates.get(key, 0) + result["busbw_Bps"] / 1e9
    return rates


def against_pcie(program: str) -> dict:
    """Results by machine and number of GPUs, over SIZES and the size of AlexNet."""
    sizes = [*SIZES, common.load(DATA)["alexnet_B"]]
    keys = [(name, count) for name in MACHINES for count in (4, 8)]
    queries = [collective(MACHINES[name][0], MACHINES[name][1], list(range(count)), size) for name, count in keys for size in sizes]
    results = common.batch(program, queries)
    return {key: dict(zip(sizes, results[i * len(sizes):(i + 1) * len(sizes)], strict=True)) for i, key in enumerate(keys)}


def nvlinks(program: str) -> list[str]:
    shown = common.batch(program, [{"kind": "show", "platform": "p100-dgx1"}])[0]
    return [cable["id"] for cable in shown["cables"] if cable["kind"].startswith("nvlink")]


def broken(program: str) -> dict:
    """Bus bandwidth of all_reduce over GPUs 0 to n-1, by n: whole machine, and without each cable in turn."""
    cables = nvlinks(program)
    counts = range(2, 9)
    queries = [collective("p100-dgx1", edits, list(range(count)), LARGE_B)
               for count in counts for edits in [[], *([f"remove {cable}"] for cable in cables)]]
    rates = [result["busbw_Bps"] / 1e9 for result in common.batch(program, queries)]
    each = len(cables) + 1
    return {count: {"whole": rates[i * each], "broken": dict(zip(cables, rates[i * each + 1:(i + 1) * each], strict=True))}
            for i, count in enumerate(counts)}


def records(program: str) -> dict:
    version = common.batch(program, [{"kind": "show", "platform": "p100-dgx1"}])[0]
    return {"wirings": wirings(program), "pcie": against_pcie(program), "broken": broken(program),
            "provenance": common.provenance(version)}


def draw_wirings(axis, rates: dict, op: str) -> None:
    names = list(common.load(DATA)["wirings"])
    for place, (name, colour) in enumerate(zip(names, (GREY, BLUE, SKY, ORANGE), strict=True)):
        heights = [rates[op, name, label] for label in SETS]
        bars = axis.bar([i + 0.2 * (place - 1.5) for i in range(len(SETS))], heights, 0.18, color=colour, label=name)
        axis.bar_label(bars, fmt="%.0f", fontsize=6.5)
    axis.set_xticks(range(len(SETS)), list(SETS), fontsize=8)
    axis.set_ylabel(f"{op}: bus bandwidth, all sets [GB/s]")
    axis.set_title(f"V100 DGX-1 rewired, {LIBRARIES[op]}, {LARGE_B // 2**20} MiB", fontsize=9)
    axis.legend(fontsize=7.5)


def draw_pcie(axis, results: dict, count: int) -> None:
    published = common.load(DATA)["published"]
    for name, (_, _, colour) in MACHINES.items():
        some = results[name, count]
        rates = {key: [size / some[size][key] / 1e9 for size in SIZES] for key in ("time_s", "time_low_s", "time_high_s")}
        axis.fill_between(SIZES, rates["time_high_s"], rates["time_low_s"], color=colour, alpha=0.15, lw=0)
        axis.plot(SIZES, rates["time_s"], color=colour, label=name)
    for machine, colour in (("dgx1", BLUE), ("gx8", GREEN)):
        axis.plot([SIZES[-1]], [published[machine][str(count)] * GIB / 1e9], "D", color=colour, ms=5, clip_on=False)
    axis.axvline(common.load(DATA)["alexnet_B"], color=PURPLE, lw=0.8, ls="--")
    axis.set_yscale("log")
    common.size_ticks(axis, range(18, 29, 2), fontsize=7)
    axis.set(ylim=(1, 60), xlabel="bytes")
    axis.set_ylabel("all_reduce: bytes / time [GB/s]")
    axis.set_title(f"{count} GPUs, nccl-2.3; diamonds: published largest; dashed: AlexNet", fontsize=9)
    axis.legend(fontsize=7.5, loc="upper left")


def draw_broken(axis, rates: dict) -> None:
    for count, one in rates.items():
        values = sorted(one["broken"].values())
        axis.plot([count - 0.3, count + 0.3], [one["whole"]] * 2, color=BLUE, lw=2, label="whole" if count == 2 else None)
        for place, value in enumerate(values):
            axis.plot(count + 0.5 * (place / (len(values) - 1) - 0.5), value, ".", color=ORANGE, ms=5,
                      label="without one cable: sixteen cases" if count == 2 and place == 0 else None)
    axis.set(ylim=(0, None), xlabel="GPUs 0 to n-1", ylabel="all_reduce: bus bandwidth [GB/s]")
    axis.set_title(f"P100 DGX-1 with one broken NVLink cable, nccl-2.3, {LARGE_B // 2**20} MiB", fontsize=9)
    axis.legend(fontsize=7.5, loc="upper left")


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(2, 3, figsize=(14, 8.2))
    figure.subplots_adjust(left=0.05, right=0.99, top=0.9, bottom=0.09, hspace=0.3, wspace=0.2)
    draw_wirings(axes[0, 0], data["wirings"], "all_reduce")
    draw_wirings(axes[0, 1], data["wirings"], "alltoall")
    draw_broken(axes[0, 2], data["broken"])
    draw_pcie(axes[1, 0], data["pcie"], 4)
    draw_pcie(axes[1, 1], data["pcie"], 8)
    axes[1, 2].axis("off")
    axes[1, 2].text(0, 1, notes(), va="top", fontsize=8, wrap=True)
    figure.suptitle("What-if studies: forecasts of machines that were not measured; wirings A1, A2 and B are ASSUMED from the text of "
                    "Tartan section VI", fontsize=10)
    return common.save(plt, figure, f"records: {DATA}, parameters v100-dgx1, p100-dgx1, gx8; {data['provenance']}", out)


def notes() -> str:
    lines = ["Wirings, as edits of the V100 DGX-1:"]
    for name, how in common.load(DATA)["wirings"].items():
        edits = how.get("edits") or changes(how["platform"])
        if edits:
            lines.append(f"\n{name}" + ("" if "edits" in how else f", platform {how['platform']}"))
            lines += [f"   {', '.join(edits[i:i + 2])}" for i in range(0, len(edits), 2)]
    return "\n".join(lines)


def changes(platform: str) -> list[str]:
    """Edits that a variant consists of; none for a platform of its own."""
    return [change["edit"] for change in common.load(f"topologies/{platform}.json").get("changes", [])]


def table(program: str, what: str) -> None:
    if what == "wirings":
        rates, names = wirings(program), list(common.load(DATA)["wirings"])
        print(f"{'bus bandwidth [GB/s]':33s}" + "".join(f"{name:>10s}" for name in names))
        for op in OPERATIONS:
            for label in SETS:
                print(f"{op:11s}{label:22s}" + "".join(f"{rates[op, name, label]:10.1f}" for name in names))
    elif what == "nvlink":
        results = against_pcie(program)
        sizes = [2**19, 2**20, 2**21, 2**22, common.load(DATA)["alexnet_B"]]
        print(f"{'time':28s}" + "".join(f"{size / 1e6:>11.1f} MB" for size in sizes))
        for (name, count), some in results.items():
            print(f"{name:22s}{count:2d} GPUs" .ljust(28) + "".join(f"{1e3 * some[size]['time_s']:11.3f} ms" for size in sizes))
    else:
        print("GPUs   whole   one cable broken: least  median    most [GB/s]   cables that matter")
        for count, one in broken(program).items():
            values = one["broken"].values()
            hurt = sum(value < 0.99 * one["whole"] for value in values)
            print(f"{count:4d}{one['whole']:8.1f}{min(values):26.1f}{statistics.median(values):8.1f}{max(values):8.1f}{hurt:22d} of 16")


def main() -> None:
    parser = common.options(__doc__)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--table", choices=["wirings", "nvlink", "broken"])
    how.add_argument("--out", type=Path, help="PNG file")
    options = parser.parse_args()
    if options.table:
        table(options.program, options.table)
    else:
        print(plot(records(options.program), options.out))


if __name__ == "__main__":
    main()
