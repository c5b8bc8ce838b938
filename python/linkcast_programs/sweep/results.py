"""A finished study in its folder: table, pictures, page. The table has one row a scenario, in the order of the study, the same bytes whoever answered."""
from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from ..records import InputError, Node, atomic_file, open_rows, write_atomically
from ..table_plots import CHOICE, Column, Points, numbers_for, plots_by_default
from .journal import Journal
from .study import Plot, Study, counts_gpus

FIRST = ["time_s", "time_low_s", "time_high_s", "algbw_Bps", "busbw_Bps", "bandwidth_Bps", "latency_s", "algorithm", "protocol",
         "transport", "library", "channels", "makespan_s", "step_time_s", "step_time_low_s", "step_time_high_s",
         "exposed_communication_s", "slowdown", "alone_s", "bottleneck"]
TYPES = {"int": int, "float": float, "bool": bool, "str": str}
BLOCK = 65536  # rows of numbers
BLOCK_B = 32 * 1024 ** 2  # of the table, a group of rows in table.parquet
WRONG_INPUT = 2  # linkcast's exit code


def axis_cell(value: Any) -> Any:
    """Lists as linkcast prints them: GPUs with spaces between, edits with semicolons."""
    if isinstance(value, list):
        if all(isinstance(item, (int, float)) for item in value):
            return " ".join(str(item) for item in value)
        if all(isinstance(item, str) for item in value):
            return "; ".join(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _text_of(cell: Any) -> str | None:
    return None if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)


@dataclass
class Wanted:
    """What a sweep makes of its table: pictures and page, the table once more with types, the summary on standard output."""
    plots: bool
    parquet: bool
    json: bool


def has_parquet() -> bool:
    """Says so if what writes it is not there."""
    there = importlib.util.find_spec("pyarrow") is not None
    if not there:
        print("warning: the Python package pyarrow is not installed (pip install pyarrow): no table.parquet", file=sys.stderr)
    return there


def _write_parquet(file: IO[bytes], rows: IO[bytes], columns: list[str], types: dict[str, type]) -> None:
    """A group of rows each block. @param rows  the table with commas, where only a text that is empty has quotes and nothing in them"""
    import pyarrow
    from pyarrow import csv, parquet
    names = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    schema = pyarrow.schema([(key, names[types[key]]) for key in columns])
    reader = csv.open_csv(rows, csv.ReadOptions(block_size=BLOCK_B), csv.ParseOptions(newlines_in_values=True),
                          csv.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False))
    with parquet.ParquetWriter(file, schema) as writer:
        for block in reader:
            writer.write_batch(block)


class Table:
    """table.csv, which the program writes from the journal, and what it says of its columns. Numbers of answers lie in a file."""

    def __init__(self, study: Study, journal: Journal, program: list[str], folder: Path, also: Wanted):
        """@raises InputError  a row of the journal is damaged, the disk is full"""
        self._study, self._count = study, len(study.scenarios)
        self._cells = {axis.key: [axis_cell(value) for value in axis.values] for axis in study.axes}
        wanted = [key for y in [plot.y for plot in study.plots] or CHOICE for key in numbers_for(y)]
        self._numeric = list(dict.fromkeys([*wanted, "slowdown", "ranks"])) if also.plots else []
        with ExitStack() as stack:
            parquet = stack.enter_context(atomic_file(folder / "table.parquet")) if also.parquet else None
            table, numbers = stack.enter_context(atomic_file(folder / "table.csv")), TemporaryFile(dir=folder)
            # A session of its own: Ctrl-C is for the sweep.
            process = subprocess.Popen([*program, "sweep", "--table", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, pass_fds=(table.fileno(), numbers.fileno()), start_new_session=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            files, begins, file_of = journal.places()
            spec = {"journal": files, "table": f"/dev/fd/{table.fileno()}", "numbers": f"/dev/fd/{numbers.fileno()}", "columns": FIRST,
                    "numeric": self._numeric, "counts_gpus": counts_gpus(study.axes), "typed": parquet is not None, "scenarios": self._count,
                    "axes": [{"key": key, "cells": list(map(_text_of, cells))} for key, cells in self._cells.items()]}
            assert process.stdin and process.stdout
            with suppress(BrokenPipeError):
                for data in (json.dumps(spec).encode() + b"\n", study.scenarios.places(), begins, file_of):
                    process.stdin.write(data)
                process.stdin.close()
            self.facts = json.loads(process.stdout.readline() or b"{}")
            if parquet and self.facts:
                _write_parquet(parquet, process.stdout, self.columns, {key: self.type_of(key) for key in self.columns})
            errors = process.stderr.read().decode(errors="replace") if process.stderr else ""
            if process.wait():
                why = errors.strip().rpartition("\n")[2].removeprefix("error: ")
                raise InputError(why) if process.returncode == WRONG_INPUT else OSError(f"{folder / 'table.csv'}: cannot be made: {why}")
            self._file = numbers

    @property
    def columns(self) -> list[str]:
        return self.facts["columns"]

    def type_of(self, key: str) -> type:
        """Of a column's values: bool, int, float or str."""
        if key in self._cells:
            types = {type(cell) for cell in self._cells[key]} - {type(None)}
        elif key in ("scenario", "gpu_count"):
            types = {int}
        else:
            types = {TYPES[name] for name in self.facts["types"].get(key, [])}
        for one in ({bool}, {int}, {int, float}):
            if types and types <= one:
                return float if len(one) > 1 else next(iter(one))
        return str

    def numbers(self, key: str) -> np.ndarray:
        """Of each scenario, NaN where it has none."""
        if key in self._cells:
            cells = [cell if isinstance(cell, (int, float)) else np.nan for cell in self._cells[key]]
            return np.array(cells, dtype=float)[self._at(key)]
        column, width, numbers = self._numeric.index("ranks" if key == "gpu_count" else key), len(self._numeric), np.empty(self._count)
        self._file.seek(0)
        for begin in range(0, self._count, BLOCK):
            numbers[begin:begin + BLOCK] = np.fromfile(self._file, count=BLOCK * width).reshape(-1, width)[:, column]
        return numbers

    def _at(self, key: str) -> np.ndarray:
        return self._study.scenarios.positions_on(list(self._cells).index(key))

    def _column(self, key: str) -> Column:
        if key in self._cells:
            cells, codes = self._cells[key], self._at(key)
        elif key:
            counts, codes = np.unique(self.numbers(key), return_inverse=True)
            cells = [None if np.isnan(count) else int(count) for count in counts]
        else:
            cells, codes = [""], np.zeros(self._count, dtype=np.int32)
        return Column(cells, np.where([cell is None for cell in cells], -1, np.arange(len(cells), dtype=np.int32))[codes])

    def points(self, plot: dict[str, Any]) -> Points:
        kept = np.ones(self._count, dtype=bool)
        for key, values in plot.get("where", {}).items():
            kept &= np.array([str(cell) in values for cell in self._cells[key]])[self._at(key)]
        x, by = (self._column(plot.get(key, "")) for key in ("x", "by"))
        return Points(Column(x.values, x.codes[kept]), Column(by.values, by.codes[kept]),
                      {key: self.numbers(key)[kept] for key in numbers_for(plot["y"])})


def _summary(study: Study, plots: list[dict[str, Any]], errors: int, identity: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "linkcast/sweep/1", "name": study.name, "about": study.about, "table": "table.csv",
            "scenarios": len(study.scenarios), "errors": errors,
            "axes": [{"key": axis.key, "values": len(axis.values)} for axis in study.axes], "plots": plots,
            "inputs": {"query": study.base, "study_sha256": study.digest}, "versions": identity}


def _plot(plot: Plot) -> dict[str, Any]:
    """Values of axes as they stand in the table."""
    where = {key: [str(axis_cell(value)) for value in values] for key, values in plot.where.items()}
    return {"x": plot.x, "y": plot.y} | ({"by": plot.by} if plot.by else {}) | ({"where": where} if where else {})


def _draw(study: Study, plots: list[dict[str, Any]], shown: list[Points], folder: Path) -> None:
    from .pictures import pictures
    folder.mkdir(exist_ok=True)
    for old in folder.glob("[0-9]*-over-*.*"):  # the study may name other plots than at the last --resume
        old.unlink()
    for number, (plot, points) in enumerate(zip(plots, shown), 1):
        files = pictures(study.name, plot, points)
        if not files:
            print(f"warning: plot of {plot['y']} over {plot['x']}: no scenario has both", file=sys.stderr)
        for end, data in files.items():
            write_atomically(folder / f"{number}-{plot['y']}-over-{plot['x']}.{end}", data)


def _write_page(summary: dict[str, Any], table: Table, shown: list[Points], folder: Path, program: str) -> None:
    from ..report.__main__ import version_of
    from ..report.batches import MOST_ROWS, SweepTable, sweep
    from ..report.page import render
    warnings: Counter[str] = Counter()
    for texts, count in table.facts["warnings"]:
        for text in texts.split(" | "):
            warnings[text] += count
    slow_downs = table.numbers("slowdown")
    with open_rows(folder / "table.csv") as rows:
        first = list(islice(rows, 1, MOST_ROWS + 1))
    whole = SweepTable(table.columns, len(slow_downs), first, set(table.facts["not_empty"]), Counter(dict(table.facts["error_texts"])),
                       warnings, slow_downs[~np.isnan(slow_downs)].tolist(), shown)
    file = str(folder / "sweep.json")
    section = sweep(Node(summary, file), file, whole)
    write_atomically(folder / "report.html", render(section.title, [section], version_of(program)))


def write_results(study: Study, journal: Journal, identity: dict[str, Any], folder: Path,
                  program: list[str], also: Wanted) -> int:
    """@returns  how many scenarios have an error"""
    table = Table(study, journal, program, folder, also)
    numbers = [axis.key for axis in study.axes if table.type_of(axis.key) in (int, float)]
    axes = [{"key": axis.key, "values": len(axis.values)} for axis in study.axes]
    plots = ([_plot(plot) for plot in study.plots] or plots_by_default(axes, table.columns, numbers)) if also.plots else []
    errors = table.facts["errors"]
    summary = _summary(study, plots, errors, identity)
    write_atomically(folder / "sweep.json", json.dumps(summary, indent=1) + "\n")
    if also.plots:
        shown = [table.points(plot) for plot in plots]
        _draw(study, plots, shown, folder / "plots")
        _write_page(summary, table, shown, folder, program[0])
    if also.json:
        print(json.dumps({**summary, "folder": str(folder)}, indent=2))
    else:
        print(f"{folder / 'table.csv'}: {len(study.scenarios)} scenarios, {errors} error{'' if errors == 1 else 's'}")
    return errors
