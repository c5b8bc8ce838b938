"""A finished study in its folder: table, pictures, page. The table has one row a scenario, in the order of the study, the same bytes whoever answered."""
from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from ..records import atomic_file, write_atomically
from .journal import Journal
from .study import Plot, Study, counts_gpus

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


RUN = Path(__file__).resolve().parents[2] / "run.py"


def _summary(study: Study, plots: list[dict[str, Any]], errors: int, identity: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "linkcast/sweep/1", "name": study.name, "about": study.about, "table": "table.csv",
            "scenarios": len(study.scenarios), "errors": errors,
            "axes": [{"key": axis.key, "values": len(axis.values)} for axis in study.axes], "plots": plots,
            "inputs": {"query": study.base, "study_sha256": study.digest}, "versions": identity}


def _plot(plot: Plot) -> dict[str, Any]:
    """Values of axes as they stand in the table."""
    where = {key: [str(axis_cell(value)) for value in values] for key, values in plot.where.items()}
    return {"x": plot.x, "y": plot.y} | ({"by": plot.by} if plot.by else {}) | ({"where": where} if where else {})


def _draw(study: Study, plots: list[dict[str, Any]], shown: list[list[dict[str, Any]]], folder: Path) -> None:
    from .pictures import pictures
    folder.mkdir(exist_ok=True)
    for old in folder.glob("[0-9]*-over-*.*"):  # the study may name other plots than at the last --resume
        old.unlink()
    for number, (plot, records) in enumerate(zip(plots, shown), 1):
        files = pictures(study.name, plot, records)
        if not files:
            print(f"warning: plot of {plot['y']} over {plot['x']}: no scenario has both", file=sys.stderr)
        for end, data in files.items():
            write_atomically(folder / f"{number}-{plot['y']}-over-{plot['x']}.{end}", data)


def _write_tables(table: Table, plots: list[dict[str, Any]], folder: Path) -> list[list[dict[str, Any]]]:
    """@returns  of each plot what it shows"""
    from ..table_plots import chosen, columns_for
    shown: list[list[dict[str, Any]]] = [[] for _ in plots]
    columns = [columns_for(plot) for plot in plots]
    with ExitStack() as stack:
        writers: list[CsvWriter | ParquetWriter] = []
        try:
            writers.append(ParquetWriter(stack.enter_context(atomic_file(folder / "table.parquet")), table))
        except ImportError:
            stack.pop_all()
            print("warning: the Python package pyarrow is not installed (.ci/prepare installs it): no table.parquet",
                  file=sys.stderr)
        text = TextIOWrapper(stack.enter_context(atomic_file(folder / "table.csv")), encoding="utf-8", newline="")
        writers.append(CsvWriter(text, table))
        for record in table.records():
            for writer in writers:
                writer.add(record)
            for plot, keys, rows in zip(plots, columns, shown):
                rows += chosen([{key: record.get(key) for key in keys}], plot.get("where", {}))
        for writer in writers:
            writer.close()
        text.flush()
        text.detach()
    return shown


def write_results(study: Study, journal: Journal, identity: dict[str, Any], folder: Path,
                  program: list[str], as_json: bool = False) -> int:
    """@param as_json  tells of it in JSON, the summary and its folder. @returns  how many scenarios have an error"""
    from ..table_plots import plots_by_default
    table = Table(study, journal)
    numbers = [axis.key for axis in study.axes if table.type_of(axis.key) in (int, float)]
    axes = [{"key": axis.key, "values": len(axis.values)} for axis in study.axes]
    plots = [_plot(plot) for plot in study.plots] or plots_by_default(axes, table.columns, numbers)
    shown = _write_tables(table, plots, folder)
    errors = table.errors
    summary = _summary(study, plots, errors, identity)
    write_atomically(folder / "sweep.json", json.dumps(summary, indent=1) + "\n")
    _draw(study, plots, shown, folder / "plots")
    page = subprocess.run([sys.executable, "-B", str(RUN), "report", *program, f"--out={folder / 'report.html'}", "--",
                           str(folder / "sweep.json")], check=False, stdout=subprocess.DEVNULL)
    if page.returncode:
        raise OSError(f"{folder / 'report.html'}: could not be made; the table is complete")
    if as_json:
        print(json.dumps({**summary, "folder": str(folder)}, indent=2))
    else:
        print(f"{folder / 'table.csv'}: {len(study.scenarios)} scenarios, {errors} error{'' if errors == 1 else 's'}")
    return errors
