"""The table of a study: one row a scenario, in the order of the study, the same bytes whoever answered."""
from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from .journal import Journal
from .study import Study, counts_gpus

FIRST = ["time_s", "time_low_s", "time_high_s", "algbw_Bps", "busbw_Bps", "bandwidth_Bps", "latency_s", "algorithm", "protocol",
         "transport", "library", "channels", "makespan_s", "step_time_s", "step_time_low_s", "step_time_high_s",
         "exposed_communication_s", "slowdown", "alone_s", "bottleneck"]
LAST = ["warnings", "error"]
MOST_KEPT = 100_000  # rows, some 100 MB: of more each is read once more


def axis_cell(value: Any) -> Any:
    """Lists as linkcast prints them: GPUs with spaces between, edits with semicolons."""
    if isinstance(value, list):
        if all(isinstance(item, (int, float)) for item in value):
            return " ".join(str(item) for item in value)
        if all(isinstance(item, str) for item in value):
            return "; ".join(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


class Table:
    """Columns and rows of a study that is done; a row is made when it is asked for."""

    def __init__(self, study: Study, journal: Journal):
        self._study, self._journal = study, journal
        self._counted = counts_gpus(study.axes)
        self._types: dict[str, set[type]] = {}
        axes = ["scenario", *(axis.key for axis in study.axes), *["gpu_count"] * self._counted]
        self._read: list[tuple[tuple[str, ...], tuple[Any, ...]]] = []  # keys and values of each row, of a study of not too many
        shapes: Counter[tuple[tuple[str, ...], tuple[type, ...]]] = Counter()
        names: dict[tuple[str, ...], tuple[str, ...]] = {}
        keeps = len(study.scenarios) <= MOST_KEPT
        for number in range(len(study.scenarios)):
            row = journal.row(number)
            keys, values = tuple(row), tuple(row.values())
            shapes[names.setdefault(keys, keys), tuple(map(type, values))] += 1
            if keeps:
                self._read.append((names[keys], values))
        self.errors = sum(count for (keys, _), count in shapes.items() if "error" in keys)
        for keys, types in shapes:
            for key, of in zip(keys, types):
                self._types.setdefault(key, set()).add(of)
        seen = self._types.keys() - set(axes) - {"error", "warnings"}
        self.columns = axes + [key for key in FIRST if key in seen] + sorted(seen - set(FIRST)) + LAST
        self._cells = [[axis_cell(value) for value in axis.values] for axis in study.axes]
        for axis, cells in zip(study.axes, self._cells):
            self._types[axis.key] = {type(cell) for cell in cells}
        self._types |= {"scenario": {int}, "gpu_count": {int}}

    def records(self) -> Iterator[dict[str, Any]]:
        """A value or None for each column."""
        empty = dict.fromkeys(self.columns)
        for scenario in self._study.scenarios:
            record = empty.copy()
            record.update(zip(*self._read[scenario.number]) if self._read else self._journal.row(scenario.number))
            for axis, cells, at in zip(self._study.axes, self._cells, scenario.positions):
                record[axis.key] = cells[at]
            record["scenario"] = scenario.number
            if self._counted:
                record["gpu_count"] = record.get("ranks")
            yield record

    def types_of(self, key: str) -> set[type]:
        return self._types.get(key, set()) - {type(None)}

    def type_of(self, key: str) -> type:
        """Of a column's values: bool, int, float or str."""
        types = self.types_of(key)
        for one in ({bool}, {int}, {int, float}):
            if types and types <= one:
                return float if len(one) > 1 else next(iter(one))
        return str


class CsvWriter:
    def __init__(self, file: IO[str], table: Table):
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(table.columns)
        self._flags = [key for key in table.columns if bool in table.types_of(key)]

    def add(self, record: dict[str, Any]) -> None:
        if self._flags:
            record = record.copy()
            for key in self._flags:
                if isinstance(record[key], bool):
                    record[key] = str(record[key]).lower()
        self._writer.writerow(record.values())

    def close(self) -> None:
        """The file is not its own."""


class ParquetWriter:
    """A group of rows each BLOCK. @raises ImportError  pyarrow is not installed"""
    BLOCK = 100_000

    def __init__(self, file: IO[bytes], table: Table):
        import pyarrow
        from pyarrow import parquet
        self._pyarrow, self._rows = pyarrow, []
        names = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        types = {key: table.type_of(key) for key in table.columns}
        self._mixed = [of is str and not table.types_of(key) <= {str} for key, of in types.items()]
        self._schema = pyarrow.schema([(key, names[of]) for key, of in types.items()])
        self._writer = parquet.ParquetWriter(file, self._schema)

    def add(self, record: dict[str, Any]) -> None:
        self._rows.append(list(record.values()))
        if len(self._rows) == self.BLOCK:
            self._flush()

    def _flush(self) -> None:
        columns = [[value if value is None else str(value) for value in column] if mixed else column
                   for column, mixed in zip(zip(*self._rows), self._mixed)]
        arrays = [self._pyarrow.array(column, field.type) for column, field in zip(columns, self._schema)]
        self._writer.write_table(self._pyarrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()
