"""Sections that hold one thing against another: what-if answers, measurements against forecasts."""
from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from ..charts import Series, bars, cells, distribution, lines, name_of, stacked
from ..records import Node
from ..units import size_text
from .forecasts import interval_text, query_of
from .page import Chart, Section, Table, add_facts, is_cell, keep_inputs, table_of, text_of

SIDES = ("before", "after")
LEAVE = ("id", "kind", "inputs", "versions", "warnings", "platform", "solver")
MOST_MATRICES = 6
PAIR = re.compile(r"^(\w+) (?:->|<->|<-) (\w+)$")


def edits_of(after: Node) -> list[str]:
    inputs = after.get("inputs")
    return inputs["edits"].texts() if inputs and inputs.has("edits") else []


def change(before: Any, after: Any) -> str:
    if before == after:
        return "="
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in (before, after)) or before <= 0:
        return "changed"
    return f"{after / before - 1:+.1%}"


def change_table(sides: list[dict[str, Any]]) -> Table:
    rows = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        values = [side.get(key) for side in sides]
        if key in LEAVE or not all(map(is_cell, values)) or (values[0] == values[1] and values[0] in ([], None, 0)):
            continue
        rows.append({"figure": name_of(key), "before": text_of(key, values[0]), "after": text_of(key, values[1]), "change": change(*values)})
    return table_of("Figures", rows)


def listed_changes(sides: list[dict[str, Any]], key: str, name: str) -> Table | None:
    """Of a list of named things, those that are not as they were."""
    known = [{item["id"]: item for item in side.get(key, [])} for side in sides]
    rows = []
    for one in dict.fromkeys([*known[0], *known[1]]):
        values = [side.get(one) for side in known]
        if values[0] == values[1]:
            continue
        for part in dict.fromkeys([*(values[0] or {}), *(values[1] or {})]):
            was, now = ((value or {}).get(part) for value in values)
            if part not in ("id", "source") and was != now and is_cell(was) and is_cell(now):
                rows.append({name: one, "figure": part, "before": text_of(part, was), "after": text_of(part, now), "change": change(was, now)})
    return table_of(f"Changed {name}s", rows) if rows else None


def what_if(result: Node, file: str) -> Section:
    before, after = result["before"], result["after"]
    query = query_of(after)
    kind = after["kind"].text() if after.has("kind") else "answer"
    edits = edits_of(after)
    section = Section(f"What if {', '.join(edits) or 'edited'}: {kind} on {query.get('platform', '?')}", file)
    if all(side.has("time_low_s") for side in (before, after)):
        for label, side in zip(SIDES, (before, after)):
            section.add(label, interval_text(side))
        times = [[side[key].number() for side in (before, after)] for key in ("time_s", "time_low_s", "time_high_s")]
        section.add("change", f"{times[0][1] / times[0][0] - 1:+.1%}" if times[0][0] > 0 else "-")
        section.charts.append(Chart("Time", bars(Series("", list(SIDES), *times), "time_s"), "Lines are 90 % intervals."))
    if all(side.has("critical_path") for side in (before, after)):
        parts = {part[:-2]: [side["critical_path"][part].number() for side in (before, after)] for part in before["critical_path"].value}
        section.charts.append(Chart("Critical path", stacked(list(SIDES), parts, "time_s")))
    sides = [before.value, after.value]
    section.tables.append(change_table(sides))
    for key, name in (("cables", "cable"), ("links", "link")):
        if table := listed_changes(sides, key, name) if all(isinstance(side.get(key), list) for side in sides) else None:
            section.tables.append(table)
    keep_inputs(section, after)
    return section


def what_if_curve(points: list[Node], file: str) -> Section:
    after = points[0]["after"]
    section = Section(f"What if {', '.join(edits_of(after))}: {after['kind'].text()} on {query_of(after).get('platform', '?')}", file)
    sizes = [point["size_B"].number() for point in points]
    keys = ["time_s", *(key for key in ("busbw_Bps", "bandwidth_Bps") if after.has(key))]
    for key in keys:
        series = [Series(side, sizes, [point[side][key].number() for point in points]) for side in SIDES]
        if key == "time_s":
            for one in series:
                one.low, one.high = ([point[one.name][f"time_{end}_s"].number() for point in points] for end in ("low", "high"))
        section.charts.append(Chart("Time" if key == "time_s" else "Bandwidth", lines(series, "size_B", key),
                                    "Bands are 90 % intervals." if key == "time_s" else ""))
    rows = [{"size_B": int(size), **{f"{key.split('_')[0]} {side}": text_of(key, point[side][key].number()) for key in keys for side in SIDES},
             "change of time": change(*(point[side]["time_s"].number() for side in SIDES))} for size, point in zip(sizes, points)]
    section.tables.append(table_of("By size", rows))
    keep_inputs(section, after)
    return section


def pair_matrices(section: Section, rows: list[dict[str, Any]], key: str, what: str) -> None:
    """One heat map for each sort and size of copies that was made between pairs of devices."""
    groups: dict[tuple, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows:
        pair = PAIR.match(str(row.get("ends", "")))
        if pair and isinstance(row.get(key), (int, float)):
            groups[row.get("transport", ""), row.get("variant", ""), row.get("size_B", 0)][pair.group(1), pair.group(2)] = row[key]
    large = [(group, values) for group, values in groups.items() if sum(a != b for a, b in values) > 3]
    for (transport, variant, size), values in large[:MOST_MATRICES]:
        names = sorted({name for pair in values for name in pair}, key=lambda name: (len(name), name))
        figure = cells(names, names, [[values.get((row, column)) for column in names] for row in names], key)
        words = " ".join(filter(None, [transport, variant, size_text(size)]))
        section.charts.append(Chart(f"{what}: {words}", figure, "From the row's device to the column's."))


def diagnosis(result: Node, file: str) -> list[Section]:
    sections = []
    for one in result["files"].items():
        section = Section(f"Is {one['file'].text()} normal for {one['platform'].text()}?", file)
        add_facts(section, one, ("file", "normal"))
        off = one["off"].value if one.has("off") else []
        if off:
            names = [f"{row.get('transport', '')} {row.get('ends', '')} {size_text(row['size_B'])}".strip() for row in off[:30]]
            section.charts.append(Chart("Measured time over expected", bars(Series("", names, [row["factor"] for row in off[:30]]), "times as long"),
                                        f"The first 30 of {len(off)}." if len(off) > 30 else ""))
            pair_matrices(section, off, "factor", "Times the expected")
        for key, value in one.entries():
            if isinstance(value.value, list) and value.value and isinstance(value.value[0], dict):
                section.tables.append(table_of({"off": "What is off", "suspects": "Suspects"}.get(key, key.replace("_", " ")), value.value))
        section.errors += one["unanswered"].texts() if one.has("unanswered") else []
        sections.append(section)
    return sections


def against(result: Node, file: str) -> list[Section]:
    sections = []
    for one in result["comparisons"].items():
        section = Section(f"{one['file'].text()} against {one['platform'].text()}", file)
        add_facts(section, one, ("file",))
        points = one["points"].value if one.has("points") else []
        section.add("points", len(points))
        errors = sorted(abs(point["rel_error"]) for point in points)
        if len(errors) > 2:
            shares = [(i + 1) / len(errors) for i in range(len(errors))]
            section.charts.append(Chart("Errors of all points", distribution([Series("", errors, shares)], "error", "size of the relative error")))
        for point in points:
            point["error in %"] = round(100 * point["rel_error"], 1)
        pair_matrices(section, points, "error in %", "Error of the forecast in %")
        section.tables.append(table_of("By sort of copy", one["groups"].value))
        section.tables.append(table_of("Worst points", one["worst"].value))
        section.errors += one["unanswered"].texts() if one.has("unanswered") else []
        sections.append(section)
    return sections
