"""all_reduce and alltoall on Leonardo with and without noise of other jobs, beside what SC24 says of 1,024 GPUs (held out)."""
from pathlib import Path

from . import common
from .common import BLUE, GREEN, GREY, ORANGE

PER_NODE = 4
NODES = [2, 4, 8, 16, 32, 64, 128, 256]
# Cost of the noise at 1,024 GPUs. source: De Sensi et al., SC24, section VI-B
OPS = {"all_reduce": (2**30, "1 GiB", 0.50), "alltoall": (2**21, "2 MiB", 0.20)}
PLACES = {"packed": BLUE, "random": GREEN}
NOISE = {"noise": 1, "samples": 200}


def records(program: str) -> dict:
    queries = [{"id": [op, place, nodes * PER_NODE], "platform": "leonardo", "kind": "collective", "op": op, "size_B": size,
                "nodes": nodes, "gpus_per_node": PER_NODE, "allocation": place, **NOISE}
               for op, (size, _, _) in OPS.items() for place in PLACES for nodes in NODES]
    answers = common.batch(program, queries)
    return {"answers": answers, "provenance": common.provenance(answers[0])}


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4))
    figure.subplots_adjust(left=0.07, right=0.985, top=0.83, bottom=0.18, wspace=0.2)
    for axis, (op, (size, text, cost)) in zip(axes, OPS.items(), strict=True):
        for place, colour in PLACES.items():
            some = [answer for answer in data["answers"] if answer["id"][:2] == [op, place]]
            gpus = [answer["id"][2] for answer in some]
            goodput = {p: [size / answer["percentiles"][p] / 1e9 for answer in some] for p in ("p5", "p50", "p95")}
            axis.fill_between(gpus, goodput["p95"], goodput["p5"], color=colour, alpha=0.2, lw=0)
            axis.plot(gpus, goodput["p50"], "-o", ms=3, lw=1.1, color=colour, label=f"noise, nodes {place}")
            if place == "packed":
                quiet = [size / answer["quiet_s"] / 1e9 for answer in some]
                axis.plot(gpus, quiet, "--", lw=1.1, color=GREY, label="other service level, nodes packed")
                axis.plot(gpus[-1:], [quiet[-1] * (1 - cost)], "D", ms=6, mfc="white", mec=ORANGE, mew=1.4, zorder=5,
                          label=f"quiet less {100 * cost:.0f} %: SC24, held out")
        axis.set_xscale("log", base=2)
        axis.set(xlabel="GPUs", title=f"{op}, {text}", ylabel="goodput, size / time [GB/s]")
        axis.set_ylim(0, None)
        axis.legend(fontsize=7.5, title="band: 5th to 95th percentile", title_fontsize=7)
    figure.suptitle("Leonardo in the noise of other jobs, fitted to single pairs of GPUs: median of "
                    f"{NOISE['samples']} draws,\nNCCL 2.18 as modelled; 40 GPUs are below one switch", fontsize=9.5)
    return common.save(plt, figure, f"parameters leonardo; seed {NOISE['noise']}; {data['provenance']}", out)
