"""What a figure shows: measured numbers, and the forecast of each with its 90 % interval."""
from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ..units import bus_factor

Number = float | int


class GalleryError(Exception):
    """One line: file, place, what is wrong."""


@dataclass
class Point:
    """SI units, or those of the claim it comes from. Interval: None where the forecast is made of several queries."""
    x: Number | str
    measured: float
    forecast: float = float("nan")
    low: float | None = None
    high: float | None = None
    query: dict | None = None
    pair: tuple[int, int] | None = None  # GPUs of a matrix: source, target

    @property
    def error(self) -> float:
        """Share by which the forecast lies above what was measured."""
        return self.forecast / self.measured - 1


@dataclass
class Series:
    name: str
    role: str  # fitted, held out, or model input
    points: list[Point] = field(default_factory=list)


def read_json(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise GalleryError(f"{path}: no such file, or not readable") from None
    except json.JSONDecodeError as wrong:
        raise GalleryError(f"{path}: no JSON: {wrong}") from None


def measured_values(point: dict, y: str) -> list[float]:
    """Every repetition of a measurement's point as the quantity y."""
    payload = point["size_B"] * point.get("payload_count", 1)
    if y == "time_s":
        return point["time_s"] if "time_s" in point else [payload / rate for rate in point["bandwidth_Bps"]]
    if y == "bandwidth_Bps":
        return point[y] if y in point else [payload / time for time in point["time_s"]]
    if y == "algbw_Bps":
        return [point["size_B"] / time for time in point["time_s"]]
    if y == "busbw_Bps":
        ranks = len(point["gpus"]) * point.get("nodes", 1)
        return [bus_factor(point["op"], ranks) * point["size_B"] / time for time in point["time_s"]]
    raise GalleryError(f"'{y}' is no quantity of a measurement: time_s, bandwidth_Bps, algbw_Bps or busbw_Bps")


def query_of(form: dict, point: dict) -> dict:
    """The question that a measured point answers."""
    query = dict(form)
    query["size_B"] = point["size_B"]
    if form["kind"] == "collective":
        query["op"] = point["op"]
        query["launch"] = point.get("launch", "graph")
        if point.get("nodes", 1) > 1:
            query |= {"nodes": point["nodes"], "gpus_per_node": len(point["gpus"])}
        else:
            query["gpus"] = point["gpus"]
        return query
    far = point.get("between_nodes", False)
    query |= {"src": ("node0/" if far else "") + point["source"], "dst": ("node1/" if far else "") + point["target"]}
    if "via" in point:
        query["via"] = point["via"]
    return query


def x_of(point: dict, x: str) -> Number:
    if x == "ranks":
        return len(point["gpus"]) * point.get("nodes", 1)
    return point[x]


def chosen(series: dict, data_dir: Path) -> list[dict]:
    record = read_json(data_dir / "calibrate" / "data" / series["file"])
    wanted = series.get("select", {})
    points = [point for point in record["points"]
              if all(x_of(point, key) in value if isinstance(value, list) else x_of(point, key) == value
                     for key, value in wanted.items() if key in point or key == "ranks")
              and all(key in point or key == "ranks" for key in wanted)]
    if not points:
        raise GalleryError(f"{series['file']}: no point of {json.dumps(wanted)}")
    return points


def from_file(series: dict, panel: dict, data_dir: Path) -> list[Point]:
    """One point for each x: of all pairs measured there, the one in the middle. A matrix has every pair."""
    y = panel["y"]
    points = [(point, statistics.median(measured_values(point, y))) for point in chosen(series, data_dir)]
    if panel.get("kind") == "matrix":
        return [Point(0, value, query=query_of(series["query"], point),
                      pair=(int(point["source"][3:]), int(point["target"][3:]))) for point, value in points]
    groups: dict[Number, list[tuple[dict, float]]] = {}
    for point, value in points:
        groups.setdefault(x_of(point, panel["x"]), []).append((point, value))
    out = []
    for x, group in sorted(groups.items()):
        group.sort(key=lambda one: one[1])
        point, value = group[len(group) // 2]
        out.append(Point(x, value, query=query_of(series["query"], point)))
    return out


def from_claim(entry: dict, claims: dict[str, dict]) -> Point | None:
    """A printed figure and its forecast, as the claim has them; None where nothing was simulated.

    index: of several figures; scale: from the unit printed to that of the forecast.
    """
    claim = claims[entry["claim"]]
    at = entry.get("index", 0)
    expected, predicted = claim["expected"]["value"], (claim["predicted"] or {}).get("value")
    if isinstance(expected, list):
        expected = expected[at]
    if isinstance(predicted, list):
        predicted = predicted[at]
    if not isinstance(expected, (int, float)) or not isinstance(predicted, (int, float)):
        return None
    return Point(entry["x"], expected * entry.get("scale", 1), predicted)


def printed(series: dict, claims: dict[str, dict]) -> list[Point]:
    points = []
    for entry in series["points"]:
        if "claim" in entry:
            point = from_claim(entry, claims)
            if point:
                points.append(point)
        else:
            points.append(Point(entry["x"], entry["measured"] * series.get("scale", 1), query=series.get("query", {}) | entry["query"]))
    return points


def ask(program: str, points: list[Point], y: str) -> None:
    """Fills forecasts in; `linkcast predict --batch` answers all of them at once."""
    unanswered = [point for point in points if point.query is not None]
    if not unanswered:
        return
    lines = "".join(json.dumps(point.query) + "\n" for point in unanswered)
    run = subprocess.run([program, "predict", "--batch", "-"], input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if len(answers) != len(unanswered):
        raise GalleryError(f"predict --batch: {run.stderr.strip().splitlines()[-1:] or 'no answer'}")
    for point, answer in zip(unanswered, answers, strict=True):
        if "error" in answer:
            raise GalleryError(f"{json.dumps(point.query)}: {answer['error']}")
        point.forecast = answer[y]
        if answer.get("time_low_s"):
            rate = y != "time_s"
            ends = [answer["time_s"] / answer[key] if rate else answer[key] / answer["time_s"] for key in ("time_low_s", "time_high_s")]
            point.low, point.high = min(ends) * point.forecast, max(ends) * point.forecast


def panel_series(panel: dict, claims: dict[str, dict], data_dir: Path, program: str) -> list[Series]:
    result = []
    for series in panel["series"]:
        points = from_file(series, panel, data_dir) if "file" in series else printed(series, claims)
        ask(program, points, panel["y"])
        result.append(Series(series["name"], series["role"], points))
    return [series for series in result if series.points]
