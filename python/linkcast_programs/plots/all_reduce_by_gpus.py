"""Bus bandwidth of all_reduce over the first k GPUs, predicted for two DGX-1, beside published figures (held out).

As a program it prints the table:  python3 python/run.py plots.all_reduce_by_gpus --program build/linkcast
"""
from pathlib import Path

from . import common
from .common import BLUE, GREEN, ORANGE

HELD_OUT = "validate/plots/held_out.json"
PLATFORMS = {"p100-dgx1": BLUE, "v100-dgx1": GREEN}


def records(program: str) -> dict:
    published = common.load(HELD_OUT)
    counts = [point["gpus"] for point in published["points"]]
    queries = [{"id": [platform, count], "kind": kind, "platform": platform, "gpus": list(range(count))}
               for kind in ("collective", "rings") for platform in PLATFORMS for count in counts]
    for query in queries:
        if query["kind"] == "collective":
            query |= {"op": published["op"], "size_B": published["size_B"]}
    answers = common.batch(program, queries)
    by_kind = {(query["kind"], *query["id"]): answer for query, answer in zip(queries, answers, strict=True)}
    shown = common.batch(program, [{"kind": "show", "platform": platform} for platform in PLATFORMS])
    links = {platform: max((cable for cable in show["cables"] if cable["kind"].startswith("nvlink")),
                           key=lambda cable: cable["bandwidth_Bps"]) for platform, show in zip(PLATFORMS, shown, strict=True)}
    return {"counts": counts, "published": [point["busbw_Bps"] / 1e9 for point in published["points"]],
            "predicted": {platform: [by_kind["collective", platform, count] for count in counts] for platform in PLATFORMS},
            "nominal": {platform: [by_kind["rings", platform, count]["link_equivalents"] * links[platform]["bandwidth_Bps"] / 1e9
                                   for count in counts] for platform in PLATFORMS},
            "links": links, "size_B": published["size_B"],
            "ids": [published["id"], *(f"parameters {platform}" for platform in PLATFORMS)],
            "provenance": common.provenance(answers[0])}


def rates(answers: list[dict]) -> tuple[list[float], list[float], list[float]]:
    """Bus bandwidth in GB/s, and how far its 90 % interval reaches down and up."""
    middle = [answer["busbw_Bps"] / 1e9 for answer in answers]
    below = [m * (1 - a["time_s"] / a["time_high_s"]) for m, a in zip(middle, answers, strict=True)]
    above = [m * (a["time_s"] / a["time_low_s"] - 1) for m, a in zip(middle, answers, strict=True)]
    return middle, below, above


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, (axis, error_axis) = plt.subplots(2, 1, figsize=(7.4, 6.6), height_ratios=[2.4, 1], sharex=True)
    figure.subplots_adjust(left=0.1, right=0.98, top=0.88, bottom=0.13, hspace=0.1)
    counts = data["counts"]
    for shift, (platform, colour) in zip((-0.06, 0.06), PLATFORMS.items(), strict=True):
        middle, below, above = rates(data["predicted"][platform])
        axis.errorbar([k + shift for k in counts], middle, yerr=[below, above], fmt="-o", ms=4, lw=1.1, capsize=3,
                      color=colour, label=f"simulated, {platform} (bars: 90 % interval)")
        rate = data["links"][platform]["bandwidth_Bps"] / 1e9
        nominal = [value if value > 0 else float("nan") for value in data["nominal"][platform]]
        axis.plot(counts, nominal, "_", ms=16, mew=1.4, color=colour, alpha=0.7,
                  label=f"nominal peak, {platform}: links in rings x {rate:.0f} GB/s")
    axis.plot(counts, data["published"], "D", ms=5, mfc="white", mec=ORANGE, mew=1.4, zorder=5,
              label="measured, P100 DGX-1, published: held out")
    axis.set(ylabel="bus bandwidth [GB/s]", ylim=(0, None))
    axis.legend(loc="upper left", fontsize=7.5)
    middle, below, above = rates(data["predicted"]["p100-dgx1"])
    error = [100 * (m / p - 1) for m, p in zip(middle, data["published"], strict=True)]
    bars = [[100 * e / p for e, p in zip(side, data["published"], strict=True)] for side in (below, above)]
    error_axis.errorbar(counts, error, yerr=bars, fmt="o", ms=4, capsize=3, color=BLUE)
    error_axis.axhline(0, color=ORANGE, lw=1.1)
    for count, value in zip(counts, error, strict=True):
        error_axis.annotate(f"{value:+.1f}", (count, value), xytext=(6, 3), textcoords="offset points", fontsize=7.5)
    error_axis.set(xlabel="GPUs 0 to k-1: k", ylabel="error, p100-dgx1:\nsim. / publ. - 1 [%]", xticks=counts,
                   xlim=(counts[0] - 0.4, counts[-1] + 0.5), ylim=(-16, 28))
    figure.suptitle(f"all_reduce of {data['size_B'] / 1e9:.0f} GB: no collective was fitted; rings and rates follow from wiring "
                    "and copies\n5 GPUs of a P100 DGX-1 have no closed NVLink ring: one hop goes through host memory",
                    fontsize=9.5)
    footer = f"records: {', '.join(data['ids'])}\n{data['provenance']}"
    return common.save(plt, figure, footer, out)


def print_table(data: dict) -> None:
    print("GPUs  predicted GB/s  (90 %)           published GB/s  error  inside 90 %")
    answers = data["predicted"]["p100-dgx1"]
    for count, middle, below, above, published in zip(data["counts"], *rates(answers), data["published"], strict=True):
        inside = "yes" if middle - below <= published <= middle + above else "no"
        print(f"{count:4}  {middle:14.2f}  {f'({middle - below:.2f} to {middle + above:.2f})':15}  {published:14.2f}"
              f"  {100 * (middle / published - 1):+4.1f} %  {inside}")


if __name__ == "__main__":
    parser = common.options(__doc__)
    print_table(records(parser.parse_args().program))
