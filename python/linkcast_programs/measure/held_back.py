"""What was measured and kept back from the fit, against forecasts of it: by the box's own calibration, and by one inherited alone."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .program import Linkcast
from .records import Record

MEDIAN = 2  # of the quantiles of a launch record
CALLS = 20  # one behind the other: quantity "short" of a launch record
ONE_GRAPH_B = 1 << 20  # from this size on `steady` of a graph is 20 calls: one graph
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather", "scatter")
GRAPH, CONCURRENT, ENGINE, COPIES = "graph", "concurrent", "engine", "copies"
KIND_OF_BENCH = {"nccl_contention": CONCURRENT, "symmetric_memory": ENGINE}  # of calls that the GPUs alone time; else as in graphs


@dataclass(frozen=True)
class Forecast:
    time_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True)
class Point:
    """A measured time and two forecasts of it."""
    issued: str  # graph; process, threads; process, processes; single_process; concurrent; engine; copies
    op: str
    gpus: int    # 0: copies
    size_B: float
    measured_s: float
    own: Forecast
    inherited: Forecast


def kind_of(point: dict) -> str:
    """Who issues the calls of a point of a launch record."""
    return f"process, {point['issuers']}" if point["launch"] == "process" else point["launch"]


def is_plain(point: dict) -> bool:
    """Plain calls of two GPUs and more; of graphs those of many calls: one that holds a single call is launched anew each time."""
    several = point.get("sends", 1) > 1 or point.get("communicators", 1) > 1
    return (point.get("status", "ok") == "ok" and len(point["gpus"]) > 1 and not several and not point.get("async")
            and "recording" not in point and point.get("calls_per_graph", CALLS) > 1)


def alone(point: dict) -> str:
    """What of a point of calls in graphs is the GPUs' time alone. `steady` is, of many graphs; of a single one it holds what launching
    that and the wait for its end take, 7 us by a process a GPU and 40 by one thread: 17 % of 20 calls of 12 us. `device` does not, and
    was measured up to 16 MiB; above that they are below 1 %."""
    return "device" if point["size_B"] >= ONE_GRAPH_B and "device" in point["times_s"] else "steady"


def seconds_of(point: dict) -> float | None:
    quantiles = point["times_s"].get(alone(point) if point["launch"] == GRAPH else "short")
    return quantiles[MEDIAN] if quantiles else None


def of_launches(linkcast: Linkcast, record: Record, own: Path, inherited: Path) -> tuple[list[Point], list[str]]:
    measured = [point for point in record.points if point.get("op") in OPERATIONS and is_plain(point) and seconds_of(point) is not None]
    library = {"library": record.library} if record.library else {}
    # NVLink multicast is off while linkcast-bench measures.
    queries = [{"kind": "collective", "platform": str(platform), "nvls": False, "op": point["op"], "gpus": point["gpus"],
                "size_B": point["size_B"], "calls": CALLS, "launch": point["launch"], **library} for platform in (own, inherited) for point in measured]
    answers = linkcast.answers(queries)
    errors = [answer["error"] for answer in answers if "error" in answer]
    forecasts = [Forecast(a["time_s"], a["time_low_s"], a["time_high_s"]) if "error" not in a else None for a in answers]
    points = []
    for point, one, other in zip(measured, forecasts[:len(measured)], forecasts[len(measured):], strict=True):
        if one and other:
            points.append(Point(kind_of(point), point["op"], len(point["gpus"]), point["size_B"], seconds_of(point), one, other))
    return points, errors


def of_measurement(linkcast: Linkcast, record: Record, own: Path, inherited: Path) -> tuple[list[Point], list[str]]:
    """Points of a record of schema measurement/1; both platforms answer the same ones."""
    def key(row: dict) -> tuple:
        return row["transport"], row["variant"], row["ends"], row["size_B"], row["measured_s"]

    mine, others = (linkcast.compared(record.path, platform) for platform in (own, inherited))
    theirs = {key(row): row for row in others["points"]}
    points = []
    for row in mine["points"]:
        if (other := theirs.get(key(row))) and row["held_out"]:
            copies = row["transport"] == "flows"
            kind, op = (COPIES, "copies at once") if copies else (KIND_OF_BENCH.get(record.bench, GRAPH), row["transport"])
            gpus = None if copies else re.match(r"x(\d+)", row["variant"])
            points.append(Point(kind, op, int(gpus[1]) if gpus else 0, row["size_B"], row["measured_s"],
                                *(Forecast(one["predicted_s"], one["low_s"], one["high_s"]) for one in (row, other))))
    return points, [str(text) for text in mine["unanswered"]]


def kept_back_points(linkcast: Linkcast, records: list[Record], own: Path, inherited: Path) -> tuple[list[Point], list[str]]:
    """Of all records that the fit did not have, and what could not be forecast, each once."""
    points: list[Point] = []
    errors: dict[str, None] = {}
    for record in records:
        if record.kept_back and record.measured:
            some, wrong = (of_launches if record.schema == "launch/1" else of_measurement)(linkcast, record, own, inherited)
            points += some
            errors.update(dict.fromkeys(wrong))
    return points, list(errors)
