"""Placement: what the choice of GPUs costs on a DGX-1, and what placement policies cost over a day of jobs.

  python3 python/run.py plots.placement --table subsets|days     the figures behind the picture
  python3 python/run.py plots.placement --table seeds            packed and linkcast over nodes, on five days each
  python3 python/run.py plots.placement --out reports/placement.png
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from . import common
from .common import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW

MACHINES = ("p100-dgx1", "v100-dgx1")
JOB = "all_reduce:64MiB"
SIZES = range(2, 9)
COLOURS = {"linkcast": BLUE, "packed": GREEN, "first-fit": ORANGE, "nvlink": PURPLE, "spread": SKY, "random": YELLOW}
# Eight groups of eight nodes, so that 64 nodes have groups to choose among. assumed: one cable between two groups
SMALL_PLUS = ("dragonfly_plus:nodes=64,groups=8,leaves_per_group=2,spines_per_group=2,nodes_per_group=8,endpoints_per_leaf=16,"
              "global_ports_per_spine=4,global_links=1,radix=40")
SMALL = ("dragonfly:nodes=64,groups=8,switches_per_group=4,nodes_per_group=8,switches_per_node=2,endpoints_per_switch=8,"
         "global_ports_per_switch=4,global_links=2,radix=64")
DAYS = {"one V100 DGX-1": ["apps-traces/jobs/day-dgx1.jsonl", "-p", "v100-dgx1"],
        "64 nodes of Leonardo, dragonfly+": ["apps-traces/jobs/day-64-nodes.jsonl", "-p", "leonardo", "--nodes", "64", "--fabric", SMALL_PLUS],
        "64 nodes of Alps, dragonfly": ["apps-traces/jobs/day-64-nodes.jsonl", "-p", "alps", "--nodes", "64", "--fabric", SMALL]}

SEEDS = range(1, 6)  # of the job list over nodes


def subsets(program: str) -> dict:
    queries = [{"id": [machine, size], "kind": "place", "platform": machine, "job": JOB, "ranks": size, "top": 1}
               for machine in MACHINES for size in SIZES]
    return {tuple(answer["id"]): answer for answer in common.batch(program, queries)}


def day(program: str, arguments: list[str]) -> dict:
    run = subprocess.run([program, "schedule", *arguments, "--json"], cwd=common.ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)["policies"]


def records(program: str) -> dict:
    program = str(Path(program).resolve())
    sets = subsets(program)
    return {"subsets": sets, "days": {name: day(program, arguments) for name, arguments in DAYS.items()},
            "provenance": common.provenance(next(iter(sets.values())))}


def draw_subsets(axis, machine: str, sets: dict) -> None:
    """Bus bandwidth, so that sizes can be compared."""
    def rates(time_of) -> list[float]:
        return [2 * (size - 1) / size * 2**26 / time_of(sets[machine, size]) / 1e9 for size in SIZES]

    axis.plot(SIZES, rates(lambda a: a["time_s"]), "o-", color=BLUE, label="best GPUs")
    axis.plot(SIZES, rates(lambda a: a["first_free"]["time_s"]), "s--", color=ORANGE, label="first k free", alpha=0.9)
    axis.plot(SIZES, rates(lambda a: a["worst"]["time_s"]), "v:", color=GREY, label="worst GPUs")
    for size in SIZES:
        regret = sets[machine, size]["first_free"]["regret"]
        if regret > 0.005:
            axis.annotate(f"+{100 * regret:.0f} %", (size, rates(lambda a: a["first_free"]["time_s"])[size - 2]),
                          textcoords="offset points", xytext=(9, 2), ha="left", fontsize=7, color=ORANGE)
    axis.set(title=f"{machine}: {JOB}", xlabel="GPUs of the job", ylabel="bus bandwidth, GB/s", ylim=(0, None), xticks=list(SIZES))
    axis.legend(fontsize=8)


def draw_day(axis, name: str, policies: dict) -> None:
    for policy, result in policies.items():
        slow = sorted(job["slowdown"] for job in result["jobs"])
        shares = [(i + 1) / len(slow) for i in range(len(slow))]
        axis.step(slow, shares, where="post", color=COLOURS[policy], label=f"{policy} (mean {statistics.mean(slow):.3f})")
    axis.set(title=f"{name}: {len(slow)} jobs", xlabel="run time over that on the best GPUs, machine idle",
             ylabel="share of jobs", ylim=(0, 1.02))
    axis.legend(fontsize=7, loc="lower right")


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.6))
    figure.subplots_adjust(left=0.05, right=0.985, top=0.9, bottom=0.1, hspace=0.32, wspace=0.2)
    for axis, machine in zip(axes[0], MACHINES, strict=False):
        draw_subsets(axis, machine, data["subsets"])
    first, *rest = data["days"].items()
    draw_day(axes[0][2], *first)
    for axis, one in zip(axes[1], rest, strict=False):
        draw_day(axis, *one)
    draw_waits(axes[1][2], data["days"])
    figure.suptitle("Which GPUs a job gets: forecasts; job lists, compute times and the fabrics of 64 nodes are assumed", fontsize=10)
    return common.save(plt, figure, f"orange: what the first free GPUs cost; {data['provenance']}", out)


def draw_waits(axis, days: dict) -> None:
    names = list(days)
    width = 0.8 / len(COLOURS)
    for i, (policy, colour) in enumerate(COLOURS.items()):
        axis.bar([k + (i - len(COLOURS) / 2 + 0.5) * width for k in range(len(names))],
                 [days[name][policy]["wait_s"]["mean"] / 60 for name in names], width, color=colour, label=policy)
    axis.set(title="waiting for GPUs, mean", ylabel="minutes", xticks=range(len(names)))
    axis.set_xticklabels([name.replace(", ", ",\n") for name in names], fontsize=7)
    axis.legend(fontsize=7)


def seeded(folder: Path, seed: int) -> str:
    """The shipped list over nodes, drawn anew."""
    with open(common.ROOT / "apps-traces/jobs/day-64-nodes.jsonl", encoding="utf-8") as shipped:
        words = json.loads(shipped.readline())["source"].split()
    words[words.index("--seed") + 1] = str(seed)
    file = folder / f"day-{seed}.jsonl"
    run = subprocess.run([sys.executable, *words], cwd=common.ROOT, capture_output=True, text=True, check=True)
    file.write_text(run.stdout, encoding="utf-8")
    return str(file)


def seeds_table(program: str) -> None:
    """Slow-down less 1 in percent: all of it, and of that what the nodes themselves cost; the rest is neighbours."""
    print("fabric seed packed (alone) linkcast (alone) gain most_gain  wait_packed wait_linkcast")
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, *arguments) in list(DAYS.items())[1:]:
            for seed in SEEDS:
                result = day(program, [seeded(Path(folder), seed), *arguments, "--policy", "packed", "--policy", "linkcast"])
                mean = {policy: one["slowdown"]["mean"] for policy, one in result.items()}
                alone = {policy: 100 * (one["slowdown_alone"]["mean"] - 1) for policy, one in result.items()}
                wait = {policy: one["wait_s"]["mean"] / 60 for policy, one in result.items()}
                print(f"{name.split()[-1]} {seed} {100 * mean['packed'] - 100:.2f} ({alone['packed']:.2f}) {100 * mean['linkcast'] - 100:.2f}"
                      f" ({alone['linkcast']:.2f}) {100 - 100 * mean['linkcast'] / mean['packed']:.2f} {100 - 100 / mean['packed']:.2f}"
                      f"  {wait['packed']:.1f} {wait['linkcast']:.1f} min", flush=True)


def table(data: dict, which: str) -> None:
    if which == "subsets":
        print("machine GPUs best worst first_free regret_first mean_regret best_time worst_time")
        for (machine, size), answer in data["subsets"].items():
            print(machine, size, ",".join(map(str, answer["gpus"])), ",".join(map(str, answer["worst"]["gpus"])),
                  ",".join(map(str, answer["first_free"]["gpus"])), f"{answer['first_free']['regret']:.3f}",
                  f"{answer['mean_regret']:.3f}", f"{answer['time_s'] * 1e3:.3f}ms", f"{answer['worst']['time_s'] * 1e3:.3f}ms")
        return
    for name, policies in data["days"].items():
        print(name)
        for policy, result in policies.items():
            slow, wait = result["slowdown"], result["wait_s"]
            print(f"  {policy:10} slow-down mean {slow['mean']:.3f} median {slow['median']:.3f} p95 {slow['p95']:.3f} max {slow['max']:.3f}"
                  f"  wait mean {wait['mean']:.0f} s  makespan {result['makespan_s']:.0f} s")


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--out", type=Path, default=Path("reports/placement.png"))
    parser.add_argument("--table", choices=("subsets", "days", "seeds"))
    options = parser.parse_args()
    if options.table == "seeds":
        seeds_table(str(Path(options.program).resolve()))
        return
    data = records(options.program)
    if options.table:
        table(data, options.table)
    else:
        print(plot(data, options.out))


if __name__ == "__main__":
    main()
