"""Sections on one forecast each: copies, flows, collectives, rings, routes, placements."""
from __future__ import annotations

from ..charts import Series, bars, distribution
from ..records import Node
from ..units import bandwidth_text, size_text, time_text, value_text
from .page import Chart, Section, Table, keep_inputs, shortened

MOST_ROWS = 200
MOST_BARS = 25
TIMES = ("time_s", "time_low_s", "time_high_s")


def joined(items: list, between: str = "  ") -> str:
    return between.join(str(item) for item in items)


def query_of(result: Node) -> dict:
    """What was asked, as the result embeds it; nothing where it does not."""
    inputs = result.get("inputs")
    query = inputs.get("query") if inputs else None
    return query.value if query else {}


def gpus_text(query: dict) -> str:
    if "nodes" in query:
        return f"{query['nodes']} nodes of {query.get('gpus_per_node', '?')} GPUs"
    return f"GPUs {joined(query['gpus'], ' ')}" if isinstance(query.get("gpus"), list) else ""


def title_of(kind: str, result: Node) -> str:
    query = query_of(result)
    words = {"p2p": f"Copy from {query.get('src', '?')} to {query.get('dst', '?')}", "flows": "Copies that start together",
             "collective": query.get("op", "Collective"), "rings": "Rings",
             "routes": f"Ways from {query.get('src', '?')} to {query.get('dst', '?')}", "place": "Placements"}[kind]
    parts = [words, size_text(query["size_B"]) if isinstance(query.get("size_B"), (int, float)) else "", gpus_text(query),
             query.get("platform", "")]
    return ", ".join(part for part in parts if part)


def interval_text(result: Node) -> str:
    time_s, low_s, high_s = (time_text(result[key].number()) for key in TIMES)
    return f"{time_s}  (90 %: {low_s} to {high_s})"


def add_figures(section: Section, result: Node, keys: list[str]) -> None:
    for key in keys:
        value = result.get(key)
        if value:
            label = {"algbw_Bps": "algorithm bandwidth", "busbw_Bps": "bus bandwidth", "latency_s": "start-up",
                     "alone_s": "alone", "quiet_s": "quiet network"}.get(key, key.rsplit("_", 1)[0].replace("_", " "))
            section.add(label, value_text(key, value.number()))


def add_texts(section: Section, result: Node, keys: list[str]) -> None:
    for key in keys:
        value = result.get(key)
        if value:
            section.add(key.replace("_", " "), joined(value.texts()) if isinstance(value.value, list) else value.text())


def slow_down_chart(section: Section, result: Node) -> None:
    """Of the draws of noise: percentiles of the time over that of a quiet network."""
    drawn, quiet = result.get("percentiles"), result.get("quiet_s")
    if not drawn or not quiet or quiet.number() <= 0:
        return
    points = [(float(key[1:]) / 100, value.number() / quiet.number()) for key, value in drawn.entries()]
    points += [(share, result[key].number() / quiet.number()) for share, key in ((0, "min_s"), (1, "max_s")) if result.has(key)]
    points.sort()
    series = Series("", [slow for _, slow in points], [share for share, _ in points])
    section.charts.append(Chart("Slow-down by the noise of others", distribution([series], "slowdown", "times the quiet network"),
                                f"Percentiles of {result['samples'].whole()} draws." if result.has("samples") else ""))


def rivals_chart(section: Section, title: str, rivals: list[Node], names: list[str]) -> None:
    """@param rivals  those without an interval get a bar alone"""
    times = [rival["time_s"].number() for rival in rivals]
    ends = [[rival[key].number() if rival.has(key) else rival["time_s"].number() for rival in rivals] for key in TIMES[1:]]
    known = any(rival.has(TIMES[1]) for rival in rivals)
    section.charts.append(Chart(title, bars(Series("", names, times, *(ends if known else [])), "time_s"),
                                "Lines are 90 % intervals." if known else ""))


def copies(kind: str, result: Node, file: str) -> Section:
    section = Section(title_of(kind, result), file)
    section.add("time", interval_text(result))
    add_figures(section, result, ["bandwidth_Bps", "latency_s", "quiet_s", "alone_s"])
    add_texts(section, result, ["transport", "via", "route", "bottleneck", "limited_by"])
    if times := result.get("flow_times_s"):
        kinds = result["transports"].texts() if result.has("transports") else [""] * len(times.value)
        flows = query_of(result).get("flows", [])
        rows = [[str(i), joined(flows[i][:2], " to ") if i < len(flows) else "", time_text(time_s), transport]
                for i, (time_s, transport) in enumerate(zip(times.numbers(), kinds))]
        section.tables.append(shortened("Each copy", ["copy", "way", "time", "transport"], rows, MOST_ROWS))
    slow_down_chart(section, result)
    keep_inputs(section, result)
    return section


def collective(result: Node, file: str) -> Section:
    section = Section(title_of("collective", result), file)
    section.add("time", interval_text(result))
    add_figures(section, result, ["algbw_Bps", "busbw_Bps", "latency_s", "quiet_s", "alone_s"])
    if result.has("slowdown"):
        section.add("slow-down", f"{result['slowdown'].number():.3g} times as long with the others")
    section.add("algorithm, protocol", f"{result['algorithm'].text()}, {result['protocol'].text()}")
    add_texts(section, result, ["library", "path_class", "bottleneck"])
    rivals = result.get("alternatives")
    if rivals and rivals.value:
        every = [result, *rivals.items()]
        names = [f"{one['algorithm'].text()}, {one['protocol'].text()}" + (" (taken)" if one is result else "") for one in every]
        rivals_chart(section, "What the library could have taken", every, names)
    slow_down_chart(section, result)
    orders_table(section, result, "channels", "Channels, GPUs in order")
    keep_inputs(section, result)
    return section


def orders_table(section: Section, result: Node, key: str, title: str) -> None:
    if (orders := result.get(key)) and orders.value:
        rows = [[str(i), joined(order.value, " ")] for i, order in enumerate(orders.items())]
        section.tables.append(shortened(title, ["number", "GPUs"], rows, MOST_ROWS))


def rings(result: Node, file: str) -> Section:
    section = Section(title_of("rings", result), file)
    section.add("library", result["library"].text() if result.has("library") else "-")
    section.add("rings", f"{len(result['channels'].items())} distinct, {result['blocks'].whole()} thread blocks")
    section.add("class", result["path_class"].text())
    section.add("closed NVLink ring", "no: fallback" if result["fallback"].flag() else "yes")
    section.add("why", result["why"].text())
    add_figures(section, result, ["library_channel_bandwidth_Bps", "library_bandwidth_Bps", "library_tree_bandwidth_Bps"])
    orders_table(section, result, "channels", "Rings, GPUs in order")
    orders_table(section, result, "trees", "Trees, root first")
    if tuner := result.get("tuner"):
        rows = [[row["algorithm"].text(), row["protocol"].text(), time_text(row["time_s"].number()),
                 bandwidth_text(row["bandwidth_Bps"].number()), "yes" if row["enabled"].flag() else "no"] for row in tuner.items()]
        section.tables.append(Table("The library's own cost model", ["algorithm", "protocol", "time", "bandwidth", "enabled"], rows,
                                    "Its belief, no forecast."))
    keep_inputs(section, result)
    return section


def routes(result: Node, file: str) -> Section:
    section = Section(title_of("routes", result), file)
    ways = result["routes"].items()
    add_texts(section, result, ["runtime_takes"])
    names = [f"{i + 1} {way['transport'].text()}" + (f" via {way['via'].text()}" if way.get("via") else "")
             for i, way in enumerate(ways)]
    if ways:
        rivals_chart(section, "Time of each way", ways[:MOST_BARS], names[:MOST_BARS])
    rows = [[name, time_text(way["time_s"].number()), bandwidth_text(way["bandwidth_Bps"].number()),
             joined(way["route"].texts()) if way.has("route") else "", joined(way["bottleneck"].texts())]
            for name, way in zip(names, ways)]
    section.tables.append(shortened("Ways, fastest first", ["way", "time", "bandwidth", "links", "bottleneck"], rows, MOST_ROWS))
    keep_inputs(section, result)
    section.warnings += dict.fromkeys(line for way in ways for line in (way["warnings"].texts() if way.has("warnings") else []))
    return section


def placements(result: Node, file: str) -> Section:
    section = Section(title_of("place", result), file)
    found = result["placements"].items()
    what = "nodes" if result.has("bound_s") else "gpus"
    names = [f"{i + 1}: {joined(one[what].value, ' ')}" for i, one in enumerate(found)]
    job = query_of(result).get("job")
    if job:
        section.add("job", job if isinstance(job, str) else job.get("trace", job.get("op", "")))
    others = [(label, result[key]) for label, key in (("first free", "first_free"), ("worst", "worst")) if result.has(key)]
    for label, one in ([("best", found[0])] if found else []) + others:
        times = one["time_s"].number() / found[0]["time_s"].number()
        section.add(label, f"{what} {joined(one[what].value, ' ')}: {time_text(one['time_s'].number())}"
                    + (f", {times:.3g} times the best" if one is not found[0] else ""))
    add_texts(section, result, ["why", "objective"])
    if found:
        rivals_chart(section, "Time by placement", [*found[:MOST_BARS], *(one for _, one in others)],
                     [*names[:MOST_BARS], *(f"{label}: {joined(one[what].value, ' ')}" for label, one in others)])
    keys = [key for key, value in found[0].value.items() if isinstance(value, (int, float, str))] if found else []
    rows = [[name, *(value_text(key, one[key].value) if isinstance(one.value.get(key), (int, float))
                     else str(one.value.get(key, "")) for key in keys)] for name, one in zip(names, found)]
    section.tables.append(shortened("Placements, best first", [f"{what} by rank", *keys], rows, MOST_ROWS))
    keep_inputs(section, result)
    return section
