"""Section on a replay: where the time went, step by step, rank by rank, link by link."""
from __future__ import annotations

from ..charts import Series, heat, lines, stacked
from ..records import Node
from ..units import size_text, time_text
from .forecasts import query_of
from .page import Chart, Section, keep_inputs, shortened

MOST_LINKS = 40  # a heat map with more rows cannot be read
MOST_RANKS = 64
MOST_STEPS = 40
PARTS = ("compute_s", "communication_s", "exposed_s", "waiting_s", "idle_s")
COLOURS = {"compute": "#2e8b57", "exposed": "#d2691e", "idle": "#c9c9c9"}


def rank_name(rank: Node) -> str:
    job = f"job {rank['job'].whole()} " if rank.has("job") else ""
    return f"{job}rank {rank['rank'].whole()}, GPU {rank['gpu'].value}"


def interval(run: Node, name: str) -> str:
    """Of results that have one."""
    if not run.get(f"{name}_low_s"):
        return ""
    low, high = (time_text(run[f"{name}_{end}_s"].number()) for end in ("low", "high"))
    return f"  (90 %: {low} to {high})"


def facts(section: Section, run: Node) -> None:
    section.add("makespan", time_text(run["makespan_s"].number()) + interval(run, "time"))
    if step := run.get("step_time_s"):
        section.add("step", f"{time_text(step.number())}{interval(run, 'step_time')}, median of {len(run['steps_s'].items())}")
    section.add("exposed communication", f"{time_text(run['exposed_communication_s'].number())}  (median rank)")
    section.add("busiest links", "  ".join(run["bottleneck"].texts()[:4]) or "none")
    if run.has("events"):
        section.add("events", run["events"].whole())
    for job in run["jobs"].items() if run.has("jobs") else []:
        if step := job.get("step_time_s"):
            section.add(f"step of {job['trace'].text()}", time_text(step.number()))


def rank_charts(section: Section, run: Node) -> None:
    ranks = run["ranks"].items()[:MOST_RANKS]
    names = [rank_name(rank) for rank in ranks]
    parts = {part: [rank[f"{part}_s"].number() for rank in ranks] for part in COLOURS}
    section.charts.append(Chart("Where the ranks' time went", stacked(names, parts, "time_s", COLOURS),
                                "Communication beside computation is part of compute; exposed is the rest of it."))


def timeline(section: Section, run: Node) -> None:
    use = run.get("utilisation")
    if not use:
        return
    bin_s = use["bin_s"].number()
    for part, what in (("compute", "compute"), ("exposed", "exposed communication")):
        rows = {f"rank {i}": rank[part].numbers() for i, rank in enumerate(use["ranks"].items()[:MOST_RANKS])}
        if rows:
            section.charts.append(Chart(f"Ranks over time: {what}", heat(rows, bin_s, "share of time")))
    busy = sorted(((link, bins.numbers()) for link, bins in use["links"].entries()), key=lambda link: -sum(link[1]))
    if busy:
        note = f"The busiest {MOST_LINKS} of {len(busy)}." if len(busy) > MOST_LINKS else ""
        section.charts.append(Chart("Links over time", heat(dict(busy[:MOST_LINKS]), bin_s, "share of capacity"), note))


def difference(recorded: float, forecast: float) -> str:
    return f"{forecast / recorded - 1:+.1%}" if recorded > 0 else ""


def recorded_steps(section: Section, run: Node) -> None:
    """Recorded beside forecast, step by step, where the trace carries recorded times of all."""
    forecast = run["steps_s"].numbers()
    recorded = run["recorded_steps_s"].numbers() if run.has("recorded_steps_s") else []
    if not recorded or len(recorded) != len(forecast):
        return
    numbers = list(range(1, len(forecast) + 1))
    if len(forecast) > 2:
        both = [Series("recorded", numbers, recorded), Series("forecast", numbers, forecast)]
        section.charts.append(Chart("Steps, recorded and forecast", lines(both, "step", "time_s")))
    rows = [[str(i), time_text(was), time_text(now), difference(was, now)]
            for i, was, now in zip(numbers, recorded, forecast)]
    if run.get("recorded_step_time_s") and run.get("step_time_s"):
        was, now = run["recorded_step_time_s"].number(), run["step_time_s"].number()
        rows.insert(0, ["median", time_text(was), time_text(now), difference(was, now)])
    section.tables.append(shortened("Steps, recorded and forecast", ["step", "recorded", "forecast", "difference"], rows, MOST_STEPS))


def operations(section: Section, run: Node) -> None:
    rows = []
    for one in run["operations"].items() if run.has("operations") else []:
        time_s, was = one["time_s"].number(), one.get("recorded_s")
        recorded = [time_text(was.number()), difference(was.number(), time_s)] if was else ["-", ""]
        rows.append([one["op"].text(), f"{one['calls'].number():g}", size_text(round(one["size_B"].number())), time_text(time_s),
                     time_text(one["exposed_s"].number()), *recorded])
    if rows:
        section.tables.append(shortened("Collectives and messages of a rank",
                                        ["operation", "calls", "bytes", "forecast", "exposed", "recorded", "difference"], rows,
                                        MOST_STEPS))


def replay(run: Node, file: str) -> Section:
    trace = query_of(run).get("trace")
    platform = run.get("platform") or run["inputs"]["query"]["platform"]
    section = Section(f"Replay{f' of {trace}' if trace else ''} on {platform.text()}", file)
    facts(section, run)
    steps = run["steps_s"].numbers()
    recorded_steps(section, run)
    if len(steps) > 2 and not any(chart.title.startswith("Steps") for chart in section.charts):
        series = Series("", list(range(1, len(steps) + 1)), steps)
        section.charts.append(Chart("Steps", lines([series], "step", "time_s")))
    path = {part[:-2]: [value.number()] for part, value in run["critical_path"].entries()}
    section.charts.append(Chart("Critical path", stacked(["path"], path, "time_s"),
                                ", ".join(f"{part} {time_text(value[0])}" for part, value in path.items() if value[0] > 0)))
    operations(section, run)
    rank_charts(section, run)
    timeline(section, run)
    rows = [[rank_name(rank), *(time_text(rank[part].number()) for part in PARTS)] for rank in run["ranks"].items()]
    section.tables.append(shortened("Ranks", ["rank", *(part[:-2] for part in PARTS)], rows, MOST_RANKS))
    if links := run.get("links"):
        used = sorted(links.items(), key=lambda link: -link["utilisation"].number())
        rows = [[link["id"].text(), size_text(round(link["carried_B"].number())), f"{link['utilisation'].number():.2%}"]
                for link in used]
        section.tables.append(shortened("Links, busiest first", ["link", "carried", "of its capacity"], rows, MOST_LINKS))
    keep_inputs(section, run)
    return section
