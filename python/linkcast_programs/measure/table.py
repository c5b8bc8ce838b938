"""How right forecasts of what was kept back are: by who issues the calls, operation and size, and in one sentence."""
from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from .held_back import CONCURRENT, COPIES, ENGINE, GRAPH, OPERATIONS, Forecast, Point

KIB, MIB = 2**10, 2**20
CLASSES = {"below 64 KiB": 64 * KIB, "to 1 MiB": MIB, "to 64 MiB": 64 * MIB, "above": float("inf")}  # each below its end
KINDS = {GRAPH: "in CUDA graphs", "single_process": "by one thread for all GPUs", "process, threads": "by a thread a GPU",
         "process, processes": "by a process a GPU", "pytorch": "by PyTorch", CONCURRENT: "of concurrent communicators",
         ENGINE: "by an inference engine's kernel", COPIES: ""}
NOTICED = 1e-3  # two medians that differ by less are alike: what a table shows


def class_of(size_B: float) -> str:
    return next(name for name, end in CLASSES.items() if size_B < end)


def error_of(point: Point, forecast: Forecast) -> float:
    return abs(forecast.time_s / point.measured_s - 1)


@dataclass(frozen=True)
class Group:
    issued: str
    op: str  # empty: all operations
    gpus: int  # 0: all numbers of them
    sizes: str
    points: int
    median: float     # of |forecast / measured - 1|, own calibration
    inherited: float  # the same of the inherited forecast
    inside: float     # share inside the 90 % interval of the own
    width: float      # median of its upper end over its lower
    inherited_width: float

    @property
    def is_worse(self) -> bool:
        return self.median > self.inherited + NOTICED

    def as_json(self) -> dict:
        return {"issued": self.issued, "op": self.op or "all", "gpus": self.gpus or "all", "sizes": self.sizes, "points": self.points, "median_error": self.median,
                "inherited_median_error": self.inherited, "share_in_interval": self.inside, "interval_high_over_low": self.width,
                "inherited_interval_high_over_low": self.inherited_width, "worse_than_inherited": self.is_worse}


def group_of(issued: str, op: str, gpus: int, sizes: str, points: list[Point]) -> Group:
    return Group(issued, op, gpus, sizes, len(points), statistics.median(error_of(p, p.own) for p in points),
                 statistics.median(error_of(p, p.inherited) for p in points),
                 statistics.mean(p.own.low_s <= p.measured_s <= p.own.high_s for p in points),
                 statistics.median(p.own.high_s / p.own.low_s for p in points),
                 statistics.median(p.inherited.high_s / p.inherited.low_s for p in points))


def groups_of(points: list[Point]) -> list[Group]:
    """Calls in graphs by operation, number of GPUs and size; other calls by who issues them and size, since the host is most of them."""
    found: dict[tuple[str, str, int, str], list[Point]] = {}
    counts = {point.gpus for point in points if point.issued == GRAPH}
    for point in points:
        op = point.op if point.issued in (GRAPH, CONCURRENT, COPIES) else ""
        found.setdefault((point.issued, op, 0, class_of(point.size_B)), []).append(point)
        if point.issued == GRAPH:
            for gpus in (point.gpus, 0) if len(counts) > 1 else (0,):
                found.setdefault((GRAPH, "", gpus, class_of(point.size_B)), []).append(point)
    order = (*OPERATIONS, "")

    def place(key: tuple[str, str, int, str]) -> tuple[int, int, float, int]:
        issued, op, gpus, sizes = key
        return list(KINDS).index(issued), order.index(op) if op in order else 0, gpus or math.inf, list(CLASSES).index(sizes)

    return [group_of(*key, found[key]) for key in sorted(found, key=place)]


def worse_lines(groups: list[Group]) -> list[str]:
    """Groups whose own calibration is worse than the inherited forecast, those of one operation in one line."""
    found: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        if group.is_worse:
            text = f"{group.sizes} ({percent(group.median)} instead of {percent(group.inherited)})"
            name = group.op or operation_text(group).replace("all", "all operations")
            found.setdefault((group.issued, name), []).append(text)
    return [f"{name} {KINDS[issued]}".strip() + ": " + ", ".join(texts) for (issued, name), texts in found.items()]


def operation_text(group: Group) -> str:
    return group.op or (f"all, {group.gpus} GPUs" if group.gpus else "all")


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def table_text(groups: list[Group]) -> str:
    rows = [("calls", "operation", "sizes", "points", "own", "inherited", "inside", "high/low")]
    for g in groups:
        rows.append((g.issued, operation_text(g), g.sizes, str(g.points), percent(g.median), percent(g.inherited) + (" <" if g.is_worse else ""),
                     f"{100 * g.inside:.0f} %", f"{g.width:.2f}"))
    rows = [(row[0] if i == 0 or row[0] != rows[i - 1][0] else "", row[1] if i == 0 or row[:2] != rows[i - 1][:2] else "", *row[2:])
            for i, row in enumerate(rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = (0, 1, 2)
    lines = ["  ".join(text.ljust(width) if i in left or (i == 5 and text.endswith(" <")) else text.rjust(width)
                       for i, (text, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
    return "\n".join(lines)


def sentence(points: list[Point]) -> str:
    """Errors of what was kept back in one line."""
    if not points:
        return "forecasts of this box: nothing was kept back to compare them with"
    def median(some: list[Point]) -> str:
        return percent(statistics.median(error_of(p, p.own) for p in some))

    parts = []
    for small, text in ((False, "from 1 MiB"), (True, "below")):
        if some := [p for p in points if p.issued == GRAPH and (p.size_B < MIB) == small]:
            parts.append(f"{median(some)} {text}")
    said = ", ".join(parts) + (" in CUDA graphs" if parts else "")
    if hosts := [p for p in points if p.issued not in (GRAPH, CONCURRENT, ENGINE, COPIES)]:
        said += ("; " if said else "") + f"{median(hosts)} where the host issues each call"
    inside = statistics.mean(p.own.low_s <= p.measured_s <= p.own.high_s for p in points)
    return f"forecasts of this box: {said + '; ' if said else ''}{100 * inside:.0f} % of {len(points)} inside their 90 % intervals"
