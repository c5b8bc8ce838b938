"""What a finished study leaves in its folder: table, pictures, page."""
from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ..records import atomic_file, write_atomically
from .journal import Journal
from .study import Plot, Study
from .table import CsvWriter, ParquetWriter, Table, axis_cell

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
