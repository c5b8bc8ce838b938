#!/usr/bin/env python3
"""Writes the tables of docs/accuracy.md: parts of measured collectives that were left out of fits and forecast from the
rest, other measurements that no fit saw, and every row of the published results of the DGX-1 and SummitDev.

usage: calibrate/data/accuracy.py --program build/linkcast [--left-out FOLDER] [--page docs/accuracy.md]
Without --left-out the parts are left out first (calibrate/data/refit.sh), which takes some ten minutes.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from left_out import (ROOT, SIZES, alps_published, batch, left_out_points, not_fitted, on_alps, shipped_rows, with_rows,
                      without_own_machine)

KEYS = {"nodes": "nodes", "gpus": "counts of GPUs", "op": "operations", "size": "sizes"}
WORTH_SHOWING = 0.2
LEAST_COVERAGE, ENOUGH = 0.85, 20  # of 90 %; points of a kind
ALPS_SIZES = {8: "8 B", 65536: "64 KiB", 1048576: "1 MiB", 16777216: "16 MiB", 268435456: "256 MiB", 4294967296: "4 GiB"}
TARTAN = ["p100-dgx1/tartan-nccl1.json", "p100-dgx1/tartan-nccl2.json", "summitdev/tartan-nccl2.json"]


def size_class(size_B):
    return [text for text, least in SIZES if size_B >= least][-1]


def figures(points):
    errors = [p["modelled_s"] / p["measured_s"] for p in points]
    sizes = sorted(abs(e - 1) for e in errors)
    inside = sum(p["low_s"] <= p["measured_s"] <= p["high_s"] for p in points)
    p95 = sizes[math.ceil(0.95 * len(sizes)) - 1]
    return len(points), statistics.median(sizes), p95, statistics.median(errors) - 1, inside / len(points)


def row(names, points):
    n, median, p95, bias, coverage = figures(points)
    cells = [*names, str(n), f"{100 * median:.0f} %", f"{100 * p95:.0f} %", f"{100 * bias:+.0f} %", f"{100 * coverage:.0f} %"]
    return "| " + " | ".join(cells) + " |"


def table(heads, groups):
    heads = [*heads, "points", "median", "95 %", "bias", "in interval"]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join(lines + [row(names, points) for names, points in groups if points])


def grouped(points, *keys):
    groups = defaultdict(list)
    for point in points:
        groups[tuple(key(point) for key in keys)].append(point)
    return sorted(groups.items())


def where(point):
    return "between nodes" if point["nodes"] > 1 else "one node"


def family(point):
    return "MPI" if point["library"].startswith("mpi") else "NCCL"


def held_out_tables(points):
    order = [text for text, _ in SIZES]
    by_kind = sorted(grouped(points, where, family, lambda p: size_class(p["size_B"])),
                     key=lambda g: (g[0][1], g[0][0] != "one node", order.index(g[0][2])))
    overall = table(["", "library", "sizes"], by_kind)
    kind = lambda p: (where(p), family(p), size_class(p["size_B"]))
    others = {key: f"{100 * figures(some)[-1]:.0f} % |" for (key,), some in grouped(without_own_machine(points), kind)}
    lines = overall.splitlines()
    lines = [lines[0] + " machine's own rows left out |", lines[1] + " --- |"] + [
        line + " " + others[key] for line, (key, _) in zip(lines[2:], by_kind)]
    overall = "\n".join(lines)
    detail = []
    for key, text in KEYS.items():
        of_key = [p for p in points if p["left_out"].startswith(key + "=")]
        groups = sorted(grouped(of_key, lambda p: p["machine"], lambda p: p["library"], lambda p: p["left_out"].split("=")[1],
                                lambda p: str(p["nodes"]), lambda p: p["op"], lambda p: size_class(p["size_B"])),
                        key=lambda g: (*g[0][:5], order.index(g[0][5])))
        if groups:
            detail.append(f"### {text[0].upper() + text[1:]} left out in turn\n\n" + table(
                ["machine", "library", "left out", "nodes", "operation", "sizes"], groups))
    return overall, "\n\n".join(detail)


def tartan(program):
    lines = ["| library | operation | ranks | size | measured | forecast | |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name in TARTAN:
        record = json.loads((ROOT / "calibrate/data" / name).read_text())
        queries = []
        for point in record["points"]:
            query = {"kind": "collective", "platform": record["topology"], "op": point["op"], "size_B": point["size_B"],
                     "library": record["library"], "launch": point["launch"]}
            query |= ({"nodes": point["nodes"], "gpus_per_node": len(point["gpus"])} if "nodes" in point else
                      {"gpus": point["gpus"]})
            queries.append(query)
        rows = zip(record["points"], batch(program, queries))
        for point, answer in sorted(rows, key=lambda r: (r[0]["op"], len(r[0]["gpus"]), r[0]["size_B"])):
            measured = point["time_s"][0]
            if "error" in answer:
                forecast, error = answer["error"], ""
            else:
                off = answer["time_s"] / measured - 1
                forecast, error = f"{answer['time_s'] * 1e6:.4g} us", f"{100 * off:+.0f} %"
                if abs(off) > WORTH_SHOWING:
                    error = f"**{error}**"
            ranks = len(point["gpus"]) * point.get("nodes", 1)
            lines.append(f"| {record['topology']}, {record['library']} | {point['op']} | {ranks} | {point['size_B']} | "
                         f"{measured * 1e6:.4g} us | {forecast} | {error} |")
    return "\n".join(lines)


def measured_on_h200(program):
    """Collectives in the repository that no fit saw."""
    groups = []
    for path in sorted((ROOT / "calibrate/data/hgx-h200").glob("*nccl_ops.json")):
        points = not_fitted(program, path.relative_to(ROOT))
        for (sizes,), some in grouped(points, lambda p: size_class(p["size_B"])):
            groups.append(((path.stem, sizes), some))
    return table(["measurement", "sizes"], groups)


def time_text(seconds):
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def alps(program):
    """Forecasts by nodes and size, with intervals; measured ones beside those that were fitted."""
    records = [json.loads((ROOT / f"calibrate/data/alps/{name}.json").read_text()) for name in ("nccl-2.23", "nccl-2.23-nodes")]
    measured = {(p.get("nodes", 1), p["size_B"]): p["time_s"][0] for record in records for p in record["points"]}
    heads = ["nodes", *ALPS_SIZES.values()]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for nodes in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]:
        cells = [str(nodes)]
        for size, answer in zip(ALPS_SIZES, batch(program, [on_alps(nodes, size) for size in ALPS_SIZES])):
            cell = f"{time_text(answer['time_s'])} ({time_text(answer['time_low_s'])} to {time_text(answer['time_high_s'])})"
            if (nodes, size) in measured:
                cell += f", measured {time_text(measured[nodes, size])}"
            cells.append(cell)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def alps_table(program):
    lines = ["| GPUs | size | published | forecast | inside the interval |", "| --- | --- | --- | --- | --- |"]
    for p in alps_published(program):
        bus = [2 * p["size_B"] * (4 * p["nodes"] - 1) / (4 * p["nodes"]) / p[key] / 1e9 for key in ("measured_s", "modelled_s")]
        inside = "yes" if p["low_s"] <= p["measured_s"] <= p["high_s"] else "no"
        lines.append(f"| {4 * p['nodes']} | {p['size_B'] >> 20} MiB | {bus[0]:.1f} GB/s | {bus[1]:.1f} GB/s | {inside} |")
    return "\n".join(lines)


def put(page, marker, text):
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    head, rest = page.split(begin)
    return head + begin + "\n" + text + "\n" + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="build/linkcast")
    parser.add_argument("--left-out", help="folder of an earlier calibrate/data/refit.sh PROGRAM models/params FOLDER")
    parser.add_argument("--check", action="store_true", help="exit code 4 where intervals of a kind are too narrow")
    parser.add_argument("--page", default=str(ROOT / "docs/accuracy.md"))
    args = parser.parse_args()
    program = str(Path(args.program).resolve())
    folder = args.left_out
    if folder is None:
        folder = tempfile.mkdtemp(prefix="left-out-")
        print(f"leaving parts out, into {folder}", file=sys.stderr)
        subprocess.run(["bash", str(ROOT / "calibrate/data/refit.sh"), program, str(ROOT / "models/params"), folder], check=True)
    points = left_out_points(folder)
    if not points:
        sys.exit(f"accuracy.py: --left-out: {folder} holds no JSON of machines with parts left out")
    overall, detail = held_out_tables(with_rows(points, shipped_rows()))
    # With the shipped rows 90 % are inside by construction.
    narrow = [key for key, some in grouped(without_own_machine(points), where, family, lambda p: size_class(p["size_B"]))
              if len(some) >= ENOUGH and figures(some)[-1] < LEAST_COVERAGE]
    page = Path(args.page)
    text = page.read_text()
    for marker, table_text in [("overall", overall), ("left-out", detail), ("not-fitted", measured_on_h200(program)),
                               ("alps", alps(program)), ("alps-published", alps_table(program)),
                              ("tartan", tartan(program))]:
        text = put(text, marker, table_text)
    page.write_text(text)
    if args.check and narrow:
        print(f"accuracy.py: fewer than {100 * LEAST_COVERAGE:.0f} % inside the interval: "
              + "; ".join(", ".join(key) for key in narrow), file=sys.stderr)
        sys.exit(4)


if __name__ == "__main__":
    main()
