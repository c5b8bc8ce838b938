"""What the figures share: asking linkcast, reading measurement files, colours and the footer."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..units import size_text

ROOT = Path(__file__).resolve().parents[3]
MIB = 2**20
FAILED = 4  # exit code of a comparison that missed a limit

# Colours that stay apart for colour-blind readers. source: Okabe and Ito, Color Universal Design, 2008
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#E69F00"


def options(usage: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    return parser


def batch(program: str, queries: list[dict]) -> list[dict]:
    """Answers of `linkcast predict --batch`, in the order of the queries."""
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    run = subprocess.run([program, "predict", "--batch", "-"], input=lines, capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    for query, result in zip(queries, results, strict=True):
        if "error" in result:
            raise SystemExit(f"error: {json.dumps(query)}: {result['error']}")
    return results


def against(program: str, *files: str, more: tuple[str, ...] = (), held_out: bool = False) -> list[dict]:
    """What `linkcast validate --against` says of measurement files, each whole.

    @param more  options. @param held_out  refuses points that were fitted"""
    run = subprocess.run([program, "validate", "--json", "--against", *files, *more], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode not in (0, FAILED):
        raise SystemExit(run.stderr.strip())
    comparisons = json.loads(run.stdout)["comparisons"]
    for comparison in comparisons:
        if comparison["unanswered"]:
            raise SystemExit(f"error: {comparison['file']}: {comparison['unanswered'][0]}")
        if held_out and not all(point["held_out"] for point in comparison["points"]):
            raise SystemExit(f"error: {comparison['file']}: was fitted")
    return comparisons


def load(path: str) -> dict:
    try:
        return json.loads((ROOT / path).read_text(encoding="utf-8"))
    except OSError:
        raise SystemExit(f"error: {path}: no such file, or not readable") from None


def times_of(point: dict) -> list[float]:
    """Seconds of every repetition of a measured point."""
    if "time_s" in point:
        return point["time_s"]
    return [point["size_B"] * point.get("payload_count", 1) / rate for rate in point["bandwidth_Bps"]]


def quantile(values: list[float], share: float) -> float:
    """As linkcast validate takes it: the smallest value that at least this share does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, and how far the 5th and the 95th percentile lie below and above it."""
    middle = statistics.median(values)
    return middle, middle - quantile(values, 0.05), quantile(values, 0.95) - middle


def summary(points: list[dict]) -> dict:
    """Absolute relative errors, and the share of points inside the 90 % interval."""
    errors = [abs(point["rel_error"]) for point in points]
    return {"points": len(points), "median": statistics.median(errors), "p95": quantile(errors, 0.95),
            "inside": statistics.mean(point["low_s"] <= point["measured_s"] <= point["high_s"] for point in points)}


def provenance(result: dict) -> str:
    return f"linkcast {result['versions']['linkcast']}, git {result['versions']['git'] or 'unknown'}"


def pyplot():
    """matplotlib.pyplot on the Agg backend; exit 77 where it is not installed."""
    os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "build" / "matplotlib"))
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed (Debian and Ubuntu: python3-matplotlib)", file=sys.stderr)
        sys.exit(77)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
                         "legend.framealpha": 0.9, "figure.dpi": 130})
    return plt


def size_ticks(axis, powers: range, **style: Any) -> None:
    """Sizes on a logarithmic axis: the powers of two that are named."""
    axis.set_xscale("log", base=2)
    axis.set_xticks([2**power for power in powers], [size_text(2**power) for power in powers], **style)


def save(plt, figure, footer: str, out: Path) -> Path:
    """Writes the figure with a footer in the strip that the layout keeps free below it."""
    figure.text(0.01, 0.008, footer, fontsize=6.5, color=GREY, va="bottom")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out)
    plt.close(figure)
    return out


def vector_pyplot():
    """pyplot() for pictures that pages show as SVG: text stays text, and the same figures give the same bytes."""
    plt = pyplot()
    plt.rcParams.update({"font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "linkcast"})
    return plt


def save_vector(plt, figure, footer: str, out: Path, description: str = "") -> Path:
    figure.text(0.01, 0.01, footer, fontsize=6.5, color=GREY)
    out.parent.mkdir(parents=True, exist_ok=True)
    named = {"Description": description} if description else {}
    figure.savefig(out, metadata={"Date": None, **named} if out.suffix == ".svg" else None)
    plt.close(figure)
    return out
