"""all_reduce over many nodes, forecast: no measurement is in it. Alps from 4 to 2,048 GPUs, Leonardo and LUMI beside."""
from pathlib import Path

from . import common
from .common import BLUE, GREEN, ORANGE

PLATFORMS = {"alps": (4, BLUE), "leonardo": (4, ORANGE), "lumi": (8, GREEN)}  # GPUs of a node
SIZES = {"8 B": 8, "1 MiB": 2**20, "1 GiB": 2**30}
MOST_GPUS = 2048


def query_of(platform: str, per_node: int, nodes: int, size: int) -> dict:
    query = {"id": [platform, nodes * per_node, size], "platform": platform, "kind": "collective", "op": "all_reduce", "size_B": size}
    return query | ({"gpus": list(range(per_node))} if nodes == 1 else {"nodes": nodes, "gpus_per_node": per_node})


def records(program: str) -> dict:
    queries = []
    for platform, (per_node, _) in PLATFORMS.items():
        nodes = 1
        while nodes * per_node <= MOST_GPUS:
            queries += [query_of(platform, per_node, nodes, size) for size in SIZES.values()]
            nodes *= 2
    answers = common.batch(program, queries)
    return {"answers": answers, "provenance": common.provenance(answers[0])}


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.4))
    figure.subplots_adjust(left=0.06, right=0.985, top=0.83, bottom=0.18, wspace=0.22)
    for axis, (name, size) in zip(axes, SIZES.items(), strict=True):
        for platform, (_, colour) in PLATFORMS.items():
            some = [answer for answer in data["answers"] if answer["id"][0] == platform and answer["id"][2] == size]
            gpus = [answer["id"][1] for answer in some]
            large = size >= 2**30
            def value(key):
                return [size / answer[key] / 1e9 if large else answer[key] * 1e6 for answer in some]
            axis.fill_between(gpus, value("time_low_s"), value("time_high_s"), color=colour, alpha=0.2, lw=0)
            axis.plot(gpus, value("time_s"), "-o", ms=3, lw=1.1, color=colour, label=platform)
            for answer, at, height in zip(some, gpus, value("time_s"), strict=True):
                if answer["algorithm"] == "tree":
                    axis.plot([at], [height], "o", ms=6, mfc="white", mec=colour, zorder=3)
        axis.set_xscale("log", base=2)
        axis.set(xlabel="GPUs", title=name, ylabel="goodput, size / time [GB/s]" if large else "time [us]")
        axis.set_ylim(0, None)
    axes[0].legend(fontsize=8, title="band: 90 % interval\nopen circle: tree", title_fontsize=7)
    figure.suptitle("all_reduce by NCCL 2.18 as modelled, forecast; collectives between nodes were never measured for this repository\n"
                    "(Slingshot and InfiniBand HDR as in SC24; on LUMI NCCL's rings stand in for RCCL's)", fontsize=9)
    return common.save(plt, figure, f"platforms {', '.join(PLATFORMS)}; {data['provenance']}", out)
