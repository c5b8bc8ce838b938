"""Sections on schedules of a day of jobs, on searched wirings and on machines."""
from __future__ import annotations

import re
from typing import Any

from ..charts import Series, bars, cells, distribution
from ..records import Node
from .page import Chart, Section, add_facts, keep_inputs, table_of

CABLE = re.compile(r"(\d+)-(\d+)(?:x(\d+))?")


def schedule(result: Node, file: str) -> Section:
    section = Section(f"Jobs {result['jobs'].text()} on {result['platform'].text()}", file)
    policies = list(result["policies"].entries())
    add_facts(section, result, ("jobs", "platform"))
    names = [name for name, _ in policies]
    means = [one["slowdown"]["mean"].number() for _, one in policies]
    section.charts.append(Chart("Mean slow-down by policy", bars(Series("", names, means), "times as long as alone on the best GPUs")))
    section.charts.append(Chart("Use of the GPUs by policy", bars(Series("", names, [one["utilisation"].number() for _, one in policies]), "share")))
    series = []
    for name, one in policies:
        slow = sorted(job["slowdown"].number() for job in one["jobs"].items()) if one.has("jobs") else []
        series.append(Series(name, slow, [(i + 1) / len(slow) for i in range(len(slow))]))
    if all(one.x for one in series):
        section.charts.append(Chart("Slow-down of the jobs", distribution(series, "slowdown", "times as long as alone on the best GPUs")))
    rows: list[dict[str, Any]] = []
    for name, one in policies:
        rows.append({"policy": name, **{f"slow-down {key}": round(value.number(), 3) for key, value in one["slowdown"].entries()},
                     **{f"wait {key}_s": value.number() for key, value in one["wait_s"].entries()},
                     "makespan_s": one["makespan_s"].number(), "utilisation": round(one["utilisation"].number(), 3)})
    section.tables.append(table_of("Policies", rows))
    keep_inputs(section, result)
    return section


def cable_matrix(text: str, gpus: int) -> list[list[float | None]]:
    """Cables between GPUs, of "0-1 0-3x2"."""
    counts: list[list[float | None]] = [[None] * gpus for _ in range(gpus)]
    for a, b, count in CABLE.findall(text):
        counts[int(a)][int(b)] = counts[int(b)][int(a)] = int(count or 1)
    return counts


def wiring(result: Node, file: str) -> Section:
    section = Section(f"Wirings of {result['platform'].text()} for {result['job'].text()}", file)
    add_facts(section, result, ("platform", "job"))
    found = [("own", result["own"]), *((str(i + 1), one) for i, one in enumerate(result["best"].items()))]
    worst = [one["worst"].number() for _, one in found]
    section.charts.append(Chart("Worst mix of jobs", bars(Series("", [name for name, _ in found], worst), "times the own wiring"),
                                "Time of the slowest job of the worst mix; below 1 is better than the machine's own wiring."))
    gpus = result["gpus"].whole()
    names = [f"gpu{i}" for i in range(gpus)]
    for name, one in found[:3]:
        title = "Cables, own wiring" if name == "own" else f"Cables, wiring {name}"
        section.charts.append(Chart(title, cells(names, names, cable_matrix(one["wiring"].text(), gpus), "cables")))
    rows = [{"name": name, "worst": round(one["worst"].number(), 3), "mean": round(one["mean"].number(), 3),
             **{f"mix {mix}": round(value.number(), 3) for mix, value in one["mixes"].entries()}, "wiring": one["wiring"].text()}
            for name, one in found]
    section.tables.append(table_of("Wirings, best first", rows))
    section.warnings += result["warnings"].texts() if result.has("warnings") else []
    return section


def show(result: Node, file: str) -> Section:
    section = Section(result["title"].text(), file)
    add_facts(section, result, ("kind", "title"))
    gpus = [device["id"].text() for device in result["devices"].items() if device["kind"].value == "gpu"]
    rates: dict[tuple[str, str], float] = {}
    for cable in result["cables"].items():
        a, b = cable["a"].text(), cable["b"].text()
        if a in gpus and b in gpus:
            rates[a, b] = rates[b, a] = cable["count"].number() * cable["bandwidth_Bps"].number()
    if rates:
        matrix = [[rates.get((a, b)) for b in gpus] for a in gpus]
        section.charts.append(Chart("Cables between GPUs", cells(gpus, gpus, matrix, "nominal_Bps"), "Nominal rate of all cables of a pair, one direction."))
    section.tables.append(table_of("Cables", result["cables"].value))
    section.tables.append(table_of("Links", result["links"].value, "Bottlenecks are named by these."))
    rows = [{"parameter": name, **parameter.value} for name, parameter in result["parameters"].entries()]
    section.tables.append(table_of("Parameters", rows))
    keep_inputs(section, result)
    return section
