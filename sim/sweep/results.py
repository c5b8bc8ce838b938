"""What a finished study leaves in its folder: table, pictures, page."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import table
from records import write_atomically
from study import Plot, Study

REPORT = Path(__file__).resolve().parents[1] / "report" / "report.py"


def _summary(study: Study, plots: list[dict[str, Any]], errors: int, identity: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "linkcast/sweep/1", "name": study.name, "about": study.about, "table": "table.csv",
            "scenarios": len(study.scenarios), "errors": errors,
            "axes": [{"key": axis.key, "values": len(axis.values)} for axis in study.axes], "plots": plots,
            "inputs": {"query": study.base, "study_sha256": study.digest}, "versions": identity}


def _plot(plot: Plot) -> dict[str, Any]:
    """Values of axes as they stand in the table."""
    where = {key: [str(table.axis_cell(value)) for value in values] for key, values in plot.where.items()}
    return {"x": plot.x, "y": plot.y} | ({"by": plot.by} if plot.by else {}) | ({"where": where} if where else {})


def _draw(study: Study, plots: list[dict[str, Any]], records: list[dict[str, Any]], folder: Path) -> None:
    from pictures import pictures
    from table_plots import chosen
    folder.mkdir(exist_ok=True)
    for old in folder.glob("[0-9]*-over-*.*"):  # the study may name other plots than at the last --resume
        old.unlink()
    for number, plot in enumerate(plots, 1):
        files = pictures(study.name, plot, chosen(records, plot.get("where", {})))
        if not files:
            print(f"warning: plot of {plot['y']} over {plot['x']}: no scenario has both", file=sys.stderr)
        for end, data in files.items():
            write_atomically(folder / f"{number}-{plot['y']}-over-{plot['x']}.{end}", data)


def write_results(study: Study, rows: dict[int, dict[str, Any]], identity: dict[str, Any], folder: Path,
                  program: list[str], as_json: bool = False) -> int:
    """@param as_json  tells of it in JSON, the summary and its folder. @returns  how many scenarios have an error"""
    from table_plots import plots_by_default
    columns = table.columns_of(study, rows)
    records = table.records_of(study, rows, columns)
    write_atomically(folder / "table.csv", table.to_csv(columns, records))
    parquet = table.to_parquet(columns, records)
    if parquet is None:
        print("warning: the Python package pyarrow is not installed (.ci/prepare installs it): no table.parquet",
              file=sys.stderr)
    else:
        write_atomically(folder / "table.parquet", parquet)
    axes = [{"key": axis.key, "values": len(axis.values)} for axis in study.axes]
    plots = [_plot(plot) for plot in study.plots] or plots_by_default(axes, columns, records)
    errors = sum(record["error"] is not None for record in records)
    summary = _summary(study, plots, errors, identity)
    write_atomically(folder / "sweep.json", json.dumps(summary, indent=1) + "\n")
    _draw(study, plots, records, folder / "plots")
    page = subprocess.run([sys.executable, "-B", str(REPORT), *program, f"--out={folder / 'report.html'}", "--",
                           str(folder / "sweep.json")], check=False, stdout=subprocess.DEVNULL)
    if page.returncode:
        raise OSError(f"{folder / 'report.html'}: could not be made; the table is complete")
    if as_json:
        print(json.dumps({**summary, "folder": str(folder)}, indent=2))
    else:
        print(f"{folder / 'table.csv'}: {len(records)} scenarios, {errors} error{'' if errors == 1 else 's'}")
    return errors
