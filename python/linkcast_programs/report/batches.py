"""Sections on many answers: a batch, a sweep's table, the verdicts on claims."""
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..charts import Series, cells, distribution, lines, name_of, stacked
from ..records import Node, open_rows, parse, read_text
from ..table_plots import Drawing, Points, chosen, columns_for, drawing, only_text, points_of, value_of
from .forecasts import query_of
from .page import MOST_ROWS, Chart, Section, Table, shortened, text_of

MOST_LINES = 12
MOST_MATRICES = 4
PLACE = re.compile(r"^.* line \d+:\s*")  # of the query in its file
VERDICTS = {"pass": "#2e8b57", "fail": "#b03030", "refuted-by-data": "#d2691e", "not-modelled": "#c0c0c0"}
NUMBERS = ["time_s", "time_low_s", "time_high_s", "algbw_Bps", "busbw_Bps", "bandwidth_Bps", "makespan_s", "step_time_s", "slowdown"]
SHOWN = [*NUMBERS, "algorithm", "protocol", "transport"]


def cell(key: str, value: Any) -> str:
    if isinstance(value, (list, dict)):
        flat = isinstance(value, list) and not any(isinstance(one, (list, dict)) for one in value)
        return " ".join(map(str, value)) if flat else json.dumps(value)
    return text_of(key, value)


def chart_of(shown: Drawing, where: dict[str, list[str]] | None = None) -> Chart:
    series = [Series(line.name, line.x, line.y, line.low, line.high) for line in shown.lines]
    by = f", by {name_of(shown.by)}" if shown.by else ""
    notes = [shown.band[:1].upper() + shown.band[1:] + "."] if shown.band else []
    only = only_text(where or {}, shown.x, name_of, lambda key, value: cell(key, value_of(value)))
    notes += [f"Only {', '.join(only)}."] if only else []
    if shown.left_out:
        notes.append(f"{shown.left_out} more lines are not shown.")
    title = f"{name_of(shown.y)} over {name_of(shown.x)}{by}"
    return Chart(title[:1].upper() + title[1:], lines(series, shown.x, shown.y, name_of(shown.by)), " ".join(notes))


def counted(lines: Iterable[str], of: str, most: int = MOST_LINES) -> list[str]:
    """The most frequent ones, each with its count."""
    counts = Counter(lines)
    shown = [line if count == 1 else f"{line} ({count} {of})" for line, count in counts.most_common(most)]
    return shown + ([f"and {len(counts) - most} others"] if len(counts) > most else [])


def slow_downs(section: Section, found: list[float]) -> None:
    values = sorted(found)
    if len(values) > 2:
        series = Series("", values, [(i + 1) / len(values) for i in range(len(values))])
        section.charts.append(Chart("Slow-down by others", distribution([series], "slowdown", "times as long as alone")))


def title_of(good: list[Node], count: int) -> str:
    """What all have in common."""
    queries = [query_of(answer) for answer in good]
    words = [str(queries[0][key]) for key in ("op", "platform") if queries and key in queries[0]
             and all(query.get(key) == queries[0][key] for query in queries)]
    return ", ".join([*words, f"{count} answers"])


def all_pairs(section: Section, rows: list[dict[str, Any]]) -> None:
    """Copies from many devices to many: a heat map for each size and transport, of the bandwidth."""
    groups: dict[tuple, dict[tuple[str, str], float]] = {}
    for row in rows:
        if row.get("src") and row.get("dst") and "bandwidth_Bps" in row:
            groups.setdefault((row.get("size_B", 0), row.get("platform", "")), {})[row["src"], row["dst"]] = row["bandwidth_Bps"]
    for (size, platform), values in list(groups.items())[:MOST_MATRICES]:
        names = sorted({name for pair in values for name in pair}, key=lambda name: (len(name), name))
        if len(values) > len(names) > 2:
            figure = cells(names, names, [[values.get((a, b)) for b in names] for a in names], "bandwidth_Bps")
            title = f"Bandwidth of all pairs, {cell('size_B', size)}, {platform}"
            section.charts.append(Chart(title, figure, "From the row's device to the column's."))


def batch(answers: list[Node], file: str) -> Section:
    """Answers of `predict --batch`: what varies between the queries becomes columns and lines."""
    good = [answer for answer in answers if not answer.has("error")]
    section = Section(title_of(good, len(answers)), file)
    section.add("answered", f"{len(good)} of {len(answers)}")
    errors = [PLACE.sub("", answer["error"].text()) for answer in answers if answer.has("error")]
    section.errors += counted(errors, "answers")
    rows = []
    for answer in good:
        answer["kind"].text()
        for key in SHOWN:
            if (figure := answer.get(key)) is not None:
                figure.number() if key in NUMBERS else figure.text()
        asked = {key: value for key, value in query_of(answer).items() if key not in ("id", "solver")}
        rows.append({key: cell(key, value) if isinstance(value, (list, dict)) else value for key, value in asked.items()}
                    | {key: answer.value[key] for key in SHOWN if answer.value.get(key) is not None})
    asked_keys = list(dict.fromkeys(key for answer in good for key in query_of(answer) if key not in ("id", "solver")))
    varied = [key for key in asked_keys if len({row.get(key) for row in rows}) > 1]
    for key in asked_keys:
        if key not in varied and rows:
            section.add(key, cell(key, rows[0].get(key)))
    for row in rows:
        row["query"] = ", ".join(cell(key, row[key]) for key in varied if key != "size_B" and row.get(key) is not None)
    all_pairs(section, rows)
    if "size_B" in varied:
        for y in ("time_s", "busbw_Bps", "bandwidth_Bps"):
            shown = drawing(points_of(rows, "size_B", y, "query"), "size_B", y, "query", lambda key, value: str(value))
            if shown and any(len(line.x) > 1 for line in shown.lines):
                shown.by = ", ".join(key for key in varied if key != "size_B")
                section.charts.append(chart_of(shown))
    slow_downs(section, [row["slowdown"] for row in rows if isinstance(row.get("slowdown"), (int, float))])
    columns = varied + [key for key in SHOWN if any(key in row for row in rows)]
    section.tables.append(shortened("Answers", columns, [[cell(key, row.get(key)) for key in columns] for row in rows], MOST_ROWS))
    section.warnings += counted([line for answer in good if answer.has("warnings") for line in answer["warnings"].texts()],
                                "answers")
    versions = {json.dumps(answer.value.get("versions")) for answer in good}
    section.inputs = json.dumps({"versions": [json.loads(text) for text in sorted(versions)],
                                 "topology_sha256": digests(good, "topology_sha256"),
                                 "calibration_sha256": digests(good, "calibration_sha256")}, indent=1)
    return section


def digests(answers: list[Node], key: str) -> dict[str, str]:
    return {answer["inputs"]["query"]["platform"].text(): answer["inputs"][key].text() for answer in answers
            if answer.has("inputs") and answer["inputs"].has(key)}


@dataclass
class SweepTable:
    """What a page shows of a sweep's table."""
    columns: list[str]
    count: int = 0
    first: list[list[str]] = field(default_factory=list)
    not_empty: set[str] = field(default_factory=set)
    errors: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    slow_downs: list[float] = field(default_factory=list)
    shown: list[Points] = field(default_factory=list)  # of each plot

    def add(self, row: dict[str, str]) -> None:
        self.count += 1
        if len(self.first) < MOST_ROWS:
            self.first.append(list(row.values()))
        self.not_empty.update(key for key, cell in row.items() if cell)
        if error := row["error"]:
            self.errors[error] += 1
        if warnings := row["warnings"]:
            self.warnings.update(warnings.split(" | "))
        if isinstance(value := value_of(row.get("slowdown", "")), (int, float)):
            self.slow_downs.append(value)

    def table(self, name: str) -> Table:
        kept = [(key, i) for i, key in enumerate(self.columns) if key != "warnings" and key in self.not_empty]
        rows = [[cell(key, value_of(row[i])) for key, i in kept] for row in self.first]
        note = f"The first {MOST_ROWS} of {self.count}; {name} beside this page has all." if self.count > MOST_ROWS else ""
        return Table("Table", [key for key, _ in kept], rows, note)


def _read_table(path: str, plots: list[dict[str, Any]]) -> SweepTable:
    """Row by row: no more of it is kept than a page shows. @param plots  x, y, by, where, of columns"""
    with open_rows(path) as rows:
        table = SweepTable(next(rows, []))
        if table.columns[:1] != ["scenario"] or not {"error", "warnings"} <= set(table.columns):
            raise Node(None, path).fail("is no table of a sweep: it has no columns scenario, warnings and error")
        needed = [[key for key in columns_for(plot) if key in table.columns] for plot in plots]
        shown: list[list[dict[str, Any]]] = [[] for _ in plots]
        for row in rows:
            if len(row) != len(table.columns):
                raise Node(None, path).fail(f"line {table.count + 2} has {len(row)} cells, not {len(table.columns)}")
            record = dict(zip(table.columns, row))
            table.add(record)
            for plot, keys, records in zip(plots, needed, shown):
                records += chosen([{key: value_of(record[key]) for key in keys}], plot.get("where", {}))
    table.shown = [points_of(records, plot["x"], plot["y"], plot["by"]) for plot, records in zip(plots, shown)]
    return table


def _plot_of(plot: Node) -> dict[str, Any]:
    where = {key: [str(value) for value in values.value] for key, values in plot["where"].entries()} if plot.has("where") else {}
    return {"x": plot["x"].text(), "y": plot["y"].text(), "by": plot["by"].text() if plot.has("by") else "", "where": where}


def sweep(summary: Node, file: str, table: SweepTable | None = None) -> Section:
    """@param table  what is known of it already"""
    path = str(Path(file).parent / summary["table"].text())
    plots = [_plot_of(plot) for plot in summary["plots"].items()]
    table = table or _read_table(path, plots)
    section = Section(f"Study {summary['name'].text()}", file)
    if about := summary["about"].text():
        section.add("about", about)
    section.add("scenarios", summary["scenarios"].whole())
    section.add("errors", summary["errors"].whole())
    for axis in summary["axes"].items():
        section.add(f"axis {axis['key'].text()}", f"{axis['values'].whole()} values")
    section.errors += counted(table.errors, "scenarios")
    for node, plot, points in zip(summary["plots"].items(), plots, table.shown):
        for key in (plot["x"], plot["by"]):
            if key and key not in table.columns:
                raise node.fail(f"'{key}' is no column of the table")
        if shown := drawing(points, plot["x"], plot["y"], plot["by"], cell):
            section.charts.append(chart_of(shown, plot["where"]))
    slow_downs(section, table.slow_downs)
    section.tables.append(table.table(summary["table"].text()))
    section.warnings += counted(table.warnings, "scenarios")
    section.inputs = json.dumps({"inputs": summary["inputs"].value, "versions": summary["versions"].value}, indent=1)
    return section


def sweep_table(path: str) -> Section:
    """table.csv: what it means is in sweep.json beside it."""
    beside = str(Path(path).parent / "sweep.json")
    return sweep(parse(read_text(beside), beside), beside)


def _figure(figure: Node | None) -> str:
    """A claim's expected or predicted value with its unit."""
    if figure is None or not isinstance(figure.value, dict) or figure.value.get("value") is None:
        return ""
    values = figure.value["value"] if isinstance(figure.value["value"], list) else [figure.value["value"]]
    text = ", ".join(f"{value:.4g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else "-" for value in values)
    return f"{text} {figure.value.get('unit', '')}".strip()


def claims(board: Node, file: str) -> Section:
    section = Section("Claims of papers against simulation", file)
    papers = [(paper, counts) for paper, counts in board["scoreboard"].entries() if paper != "total"]
    total = board["scoreboard"]["total"]
    for verdict in VERDICTS:
        section.add(verdict, total[verdict].whole())
    parts = {verdict: [counts[verdict].whole() for _, counts in papers] for verdict in VERDICTS}
    if papers:
        section.charts.append(Chart("Verdicts by paper", stacked([paper for paper, _ in papers], parts, "claims", VERDICTS)))
    order = {"fail": 0, "refuted-by-data": 1, "pass": 2, "not-modelled": 3}
    every = sorted(board["claims"].items(), key=lambda claim: order.get(claim["verdict"].choice(list(VERDICTS)), 9))
    rows = [[claim["id"].text(), claim["verdict"].text(), _figure(claim.get("expected")), _figure(claim.get("predicted")),
             claim["why"].text() if claim.get("why") else ""] for claim in every]
    section.tables.append(shortened("Claims, failed ones first", ["claim", "verdict", "claimed", "predicted", "why"], rows, MOST_ROWS))
    return section
