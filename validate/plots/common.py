"""What the figures share: asking linkcast, reading measurement files, colours and the footer."""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Colours that stay apart for colour-blind readers. source: Okabe and Ito, Color Universal Design, 2008
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#E69F00"


def batch(program: str, queries: list[dict]) -> list[dict]:
    """Answers of `linkcast predict --batch`, in the order of the queries."""
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    run = subprocess.run([program, "predict", "--batch", "-"], input=lines, capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    for query, result in zip(queries, results, strict=True):
        if "error" in result:
            raise SystemExit(f"error: {json.dumps(query)}: {result['error']}")
    return results


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
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, and how far the 5th and the 95th percentile lie below and above it."""
    middle = statistics.median(values)
    return middle, middle - quantile(values, 0.05), quantile(values, 0.95) - middle


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


def save(plt, figure, footer: str, out: Path) -> Path:
    """Writes the figure with a footer in the strip that the layout keeps free below it."""
    figure.text(0.01, 0.008, footer, fontsize=6.5, color=GREY, va="bottom")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out)
    plt.close(figure)
    return out
