#!/usr/bin/env python3
"""One page on a replay: where the time went, step by step, rank by rank, link by link.

    linkcast replay TRACE -p PLATFORM --json --utilisation >run.json
    python3 apps-traces/report.py run.json --out run.html
"""
import argparse
import io
import json
from pathlib import Path

import jinja2
import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from markupsafe import Markup  # noqa: E402

MOST_LINKS = 40  # a heat map with more rows cannot be read
MOST_RANKS = 64

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Replay on {{ run.platform }}</title><style>
body { font: 15px/1.4 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse } td, th { text-align: right; padding: .15em .8em; border-bottom: 1px solid #ddd }
svg { max-width: 100%; height: auto } dt { float: left; width: 13em; color: #555 } dd { font-weight: bold }
</style></head><body>
<h1>Replay on {{ run.platform }}</h1>
<dl><dt>makespan</dt><dd>{{ run.makespan_s | time }}</dd>
{% if run.step_time_s is not none %}<dt>step, median of {{ run.steps_s | length }}</dt><dd>{{ run.step_time_s | time }}</dd>{% endif %}
<dt>exposed communication</dt><dd>{{ run.exposed_communication_s | time }} (median rank)</dd>
<dt>busiest links</dt><dd>{{ run.bottleneck[:4] | join(", ") or "none" }}</dd>
<dt>events</dt><dd>{{ run.events }}</dd></dl>
{% for title, figure in figures %}<h2>{{ title }}</h2>{{ figure }}{% endfor %}
<h2>Ranks</h2>
<table><tr><th>rank</th><th>GPU</th><th>compute</th><th>communication</th><th>exposed</th><th>waiting</th><th>idle</th></tr>
{% for rank in run.ranks[:most_ranks] %}<tr><td>{{ rank.rank }}</td><td>{{ rank.gpu }}</td>
{% for part in parts %}<td>{{ rank[part] | time }}</td>{% endfor %}</tr>
{% endfor %}</table>
{% if run.ranks | length > most_ranks %}<p>The first {{ most_ranks }} of {{ run.ranks | length }}.</p>{% endif %}
{% if run.warnings %}<h2>Assumptions</h2><ul>{% for line in run.warnings %}<li>{{ line }}</li>{% endfor %}</ul>{% endif %}
</body></html>
"""


def time_text(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def svg(figure) -> Markup:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return Markup(text.getvalue()[text.getvalue().index("<svg"):])


def step_figure(run: dict):
    figure, axes = plt.subplots(figsize=(8, 2.2), layout="constrained")
    axes.plot(range(1, len(run["steps_s"]) + 1), [1e3 * step for step in run["steps_s"]], marker="o", markersize=3)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="step", ylabel="time [ms]", ylim=(0, None))
    return figure


def path_figure(run: dict):
    figure, axes = plt.subplots(figsize=(8, 1.2), layout="constrained")
    left = 0.0
    for part, seconds in run["critical_path"].items():
        axes.barh(0, 1e3 * seconds, left=left, label=f"{part[:-2]} {time_text(seconds)}")
        left += 1e3 * seconds
    axes.set(xlabel="time [ms]", yticks=[], xlim=(0, left or 1))
    axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, fontsize="small")
    return figure


def heat_figure(rows: dict[str, list[float]], bin_s: float, what: str):
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.2 * len(rows)), layout="constrained")
    end_ms = 1e3 * bin_s * max(len(bins) for bins in rows.values())
    most = max(max(bins) for bins in rows.values()) or 1  # links are seldom near their capacity for a whole bin
    image = axes.imshow(list(rows.values()), aspect="auto", vmin=0, vmax=most, cmap="viridis", interpolation="nearest",
                        extent=(0, end_ms, len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), list(rows), fontsize="x-small")
    axes.set_xlabel("time [ms]")
    figure.colorbar(image, label=what)
    return figure


def figures(run: dict):
    if run["steps_s"]:
        yield "Steps", svg(step_figure(run))
    yield "Critical path", svg(path_figure(run))
    use = run.get("utilisation")
    if not use:
        return
    for part in ("compute", "exposed"):
        rows = {f"rank {i}": rank[part] for i, rank in enumerate(use["ranks"][:MOST_RANKS])}
        yield f"Ranks over time: {part}" + (" communication" if part == "exposed" else ""), svg(
            heat_figure(rows, use["bin_s"], "share of time"))
    busiest = sorted(use["links"].items(), key=lambda link: -sum(link[1]))
    if busiest:
        shown = dict(busiest[:MOST_LINKS])
        title = "Links over time" + (f", the busiest {MOST_LINKS} of {len(busiest)}" if len(busiest) > MOST_LINKS else "")
        yield title, svg(heat_figure(shown, use["bin_s"], "share of capacity"))


def page(run: dict) -> str:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["time"] = time_text
    parts = ("compute_s", "communication_s", "exposed_s", "waiting_s", "idle_s")
    return environment.from_string(PAGE).render(run=run, figures=list(figures(run)), parts=parts, most_ranks=MOST_RANKS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="result of 'linkcast replay --json --utilisation'")
    parser.add_argument("--out", type=Path, required=True, help="page to write")
    options = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "linkcast"  # the same result gives the same page
    options.out.write_text(page(json.loads(options.run.read_text())))


if __name__ == "__main__":
    main()
