"""The table of a study: one row a scenario, in the order of the study, the same bytes whoever answered."""
from __future__ import annotations

import csv
import io
import json
from typing import Any

from study import Study

FIRST = ["time_s", "time_low_s", "time_high_s", "algbw_Bps", "busbw_Bps", "bandwidth_Bps", "latency_s", "algorithm", "protocol",
         "transport", "library", "channels", "makespan_s", "step_time_s", "step_time_low_s", "step_time_high_s",
         "exposed_communication_s", "slowdown", "alone_s", "bottleneck"]
LAST = ["warnings", "error"]
COUNTED = ("gpus", "placement")


def axis_cell(value: Any) -> Any:
    """Lists as linkcast prints them: GPUs with spaces between, edits with semicolons."""
    if isinstance(value, list):
        if all(isinstance(item, (int, float)) for item in value):
            return " ".join(str(item) for item in value)
        if all(isinstance(item, str) for item in value):
            return "; ".join(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def columns_of(study: Study, rows: dict[int, dict[str, Any]]) -> list[str]:
    axes = ["scenario", *(axis.key for axis in study.axes)]
    if any(axis.key in COUNTED for axis in study.axes):
        axes.append("gpu_count")
    seen = {key for row in rows.values() for key in row if key not in axes} - {"error", "warnings"}
    return axes + [key for key in FIRST if key in seen] + sorted(seen - set(FIRST)) + LAST


def records_of(study: Study, rows: dict[int, dict[str, Any]], columns: list[str]) -> list[dict[str, Any]]:
    """A value or None for each column."""
    counted = next((i for i, axis in enumerate(study.axes) if axis.key in COUNTED), None)
    records = []
    for scenario in study.scenarios:
        record = dict.fromkeys(columns) | {key: rows[scenario.number][key] for key in columns if key in rows[scenario.number]}
        record |= {axis.key: axis_cell(value) for axis, value in zip(study.axes, scenario.point)}
        record["scenario"] = scenario.number
        if counted is not None:
            record["gpu_count"] = len(scenario.point[counted])
        records.append(record)
    return records


def _csv_cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def to_csv(columns: list[str], records: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(record[key]) for key in columns] for record in records)
    return text.getvalue()


def to_parquet(columns: list[str], records: list[dict[str, Any]]) -> bytes | None:
    """None where pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return None
    arrays = []
    for key in columns:
        values = [record[key] for record in records]
        types = {type(value) for value in values if value is not None}
        if types <= {bool} and types:
            arrays.append(pyarrow.array(values, pyarrow.bool_()))
        elif types <= {int} and types:
            arrays.append(pyarrow.array(values, pyarrow.int64()))
        elif types <= {int, float} and types:
            arrays.append(pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64()))
        else:
            arrays.append(pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string()))
    out = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(dict(zip(columns, arrays))), out)
    return out.getvalue().to_pybytes()
