"""Topologies that NCCL was told 4 H200 have: forecast against measured.

  python3 python/run.py plots.what_if_proof                                  the table
  python3 python/run.py plots.what_if_proof --out docs/what-if-proof.svg     draws it
"""
from pathlib import Path

from . import common
from .common import BLUE, ORANGE, SKY

DATA = "validate/plots/what_if_proof.json"


def records(program: str) -> dict:
    """The cases, each with time, interval and algorithm of its forecast."""
    data = common.load(DATA)
    collective = {key: data[key] for key in ("platform", "gpus", "op", "size_B", "p2p_level")}
    queries = [{"kind": "collective", "launch": "graph", **collective,
                **({"library_topology": str(common.ROOT / case["xml"])} if "xml" in case else {})} for case in data["cases"]]
    answers = common.batch(program, queries)
    return {**data, "answers": answers, "provenance": common.provenance(answers[0])}


def error(forecast_s: float, measured_s: float) -> str:
    return f"{100 * (forecast_s / measured_s - 1):+.0f} %"


def table(data: dict) -> str:
    rows = ["| topology | NVLinks | taken | measured | before: forecast | now: forecast | 90 % interval |",
            "| --- | --- | --- | --- | --- | --- | --- |"]
    for case, answer in zip(data["cases"], data["answers"], strict=True):
        measured, now = case["measured_s"], answer["time_s"]
        rows.append(f"| {case['name']} | {case['links']} | {answer['algorithm']}, {answer['protocol']} | {1e3 * measured:.2f} ms | "
                    f"{1e3 * case['before_s']:.2f} ms ({error(case['before_s'], measured)}) | "
                    f"{1e3 * now:.2f} ms ({error(now, measured)}) | "
                    f"{1e3 * answer['time_low_s']:.2f} to {1e3 * answer['time_high_s']:.2f} ms |")
    return "\n".join(rows)


def plot(data: dict, out: Path) -> Path:
    plt = common.vector_pyplot()
    figure, axis = plt.subplots(figsize=(6.4, 3.0))
    figure.subplots_adjust(left=0.09, right=0.98, top=0.92, bottom=0.2)
    places = range(len(data["cases"]))
    now = [1e3 * answer["time_s"] for answer in data["answers"]]
    low = [1e3 * (answer["time_s"] - answer["time_low_s"]) for answer in data["answers"]]
    high = [1e3 * (answer["time_high_s"] - answer["time_s"]) for answer in data["answers"]]
    axis.bar(places, [1e3 * case["before_s"] for case in data["cases"]], 0.55, color=SKY, alpha=0.5, label="forecast before trees paid for their chunks")
    axis.errorbar(places, now, yerr=[low, high], fmt="o", ms=4, lw=1, capsize=3, color=BLUE, label="forecast now, 90 % interval")
    axis.plot(places, [1e3 * case["measured_s"] for case in data["cases"]], "D", ms=5.5, mfc="none", mec=ORANGE, mew=1.5, zorder=5,
              label="measured, one try")
    axis.set_xticks(list(places))
    axis.set_xticklabels([f"{case['name']}\n{case['links']}" for case in data["cases"]], fontsize=7)
    axis.set(ylabel="all_reduce of 256 MiB [ms]", ylim=(0, 14))
    axis.set_title("NCCL told that 4 H200 have other NVLinks", fontsize=8.5)
    axis.legend(loc="upper left", fontsize=7.5)
    return common.save_vector(plt, figure, f"NCCL 2.28.9; {data['provenance']}", out)


if __name__ == "__main__":
    parser = common.options(__doc__)
    parser.add_argument("--out", type=Path, help="SVG or PNG file")
    options = parser.parse_args()
    found = records(options.program)
    print(plot(found, options.out) if options.out else table(found))
