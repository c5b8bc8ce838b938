#!/usr/bin/env python3
"""What forecasts of collectives are off by beside their parameters: calibrate/data/left-out.json, from points that no fit saw.

usage: calibrate/data/refit.sh PROGRAM models/params FOLDER; calibrate/data/left_out.py PROGRAM FOLDER [--rows ROW ...]
       calibrate/data/left_out.py PROGRAM     keeps the rows of parts left out, which take an hour; doublings of nodes are
                                              then those of what was published

Each row is the least standard deviation of ln t that, on top of what the forecast knows of its errors (parameters, scatter
of the fit), puts 90 % of the points of its kind and sizes inside the interval:

  left_out.nccl, .nccl_network, .mpi, .mpi_network   parts left out in turn (FOLDER); between nodes those without which
                                                     nothing of their operation is left there, since no other
                                                     forecast has these rows; learned_from bench: the operations of
                                                     two hosts of hgx-h200, whose calibration is of linkcast-bench.
                                                     Parts by size are not among them: such sizes are beyond those
                                                     measured
  left_out.size_doubled                              a doubling of size beyond those measured: sweeps of copies and messages
                                                     cut off at an 8th of their largest size, the rest forecast
  left_out.nccl_nodes_doubled, .mpi_nodes_doubled    a doubling of nodes beyond those measured: parts left out that have
                                                     more nodes than the rest, published runs of Alps, MPI on 8 nodes
                                                     of Summit and ABCI; by size
"""
import argparse
import json
import math
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "calibrate/data/left-out.json"
SIZES = [("below 64 KiB", 0), ("64 KiB to 4 MiB", 65536), ("from 4 MiB", 4194304)]
LARGEST = 9007199254740992.0
FEW = 20  # points of a size, below which those of all sizes say what a doubling of nodes adds
NINETY_PERCENT = 1.6448536269514722  # of a normal distribution, in standard deviations
BENCH = [f"calibrate/data/hgx-h200/{occasion}-nccl_ops.json" for occasion in ("20261121a", "20261121e", "20261126b")]
ALPS = {"kind": "collective", "platform": "alps", "op": "all_reduce", "library": "nccl-2.23"}
EIGHT_NODES = {name: f"calibrate/data/{folder}/mpi-eight-nodes.json"
               for name, folder in (("summit", "summit"), ("abci-a100", "abci-a100"), ("abci-v100", "abci-v100x4"))}
# nodes, size, bus bandwidth in GB/s. source: claim SC24-073, from boeschf/nccl-benchmark-on-alps-2025
ALPS_PUBLISHED = [(16, 1 << 28, 89.8), (32, 1 << 28, 46.1), (64, 1 << 30, 87.6), (128, 1 << 30, 65.2), (256, 1 << 30, 35.5),
                  (256, 1 << 32, 85), (512, 1 << 32, 68)]


# Sweeps over sizes. source: calibrate/data/refit.sh
SWEEPS = [("p100-dgx1", "p2p-message-size"), ("abci-v100", "osu-latency"), ("abci-a100", "osu-latency"), ("lassen", "mpi-gpu"),
          ("summit", "mpi-gpu"), ("summit", "mpi-cpu"), ("leonardo", "osu-nv4")]
FOLDERS = {"abci-v100": "abci-v100x4"}  # where they differ from the topology
CUT = 8  # source: ours, so that most sweeps reach their rate below it


def kind_of(point):
    return "left_out." + ("mpi" if point["library"].startswith("mpi") else "nccl") + ("_network" if point["nodes"] > 1 else "")


def shipped_rows():
    return [r for r in json.loads(RECORD.read_text())["rows"] if r["learned_from"] == "collectives"]


def sigma_of(rows, kind, size_B):
    found = [r for r in rows if r["transport"] == kind and r["from_B"] <= size_B < r["to_B"]]
    return found[0]["sigma_log"] if found else 0.0


def with_row_sigma(points, rows):
    """Points that say which row the program had when it made their intervals."""
    return [{**p, "row_sigma": sigma_of(rows, kind_of(p), p["size_B"])} for p in points]


def calibration_rows(platform):
    return json.loads((ROOT / f"models/params/{platform}.json").read_text())["scatter"]


def nodes_kind(point):
    """The row of doublings of nodes of a point between nodes."""
    return kind_of(point).removesuffix("_network") + "_nodes_doubled"


def plain_sigma(point, rows):
    """By the row of its kind; between nodes none where its operation was fitted there."""
    return 0.0 if point["fitted"] else sigma_of(rows, kind_of(point), point["size_B"])


def beyond_rows(point, rows):
    """Sigma of ln t by the rows of its kind and of doublings of nodes."""
    return math.hypot(plain_sigma(point, rows), sigma_of(rows, nodes_kind(point), point["size_B"]) * point["doublings"])


def beyond_nodes(point, measured, rows, fitted=True):
    """The point with its doublings beyond the nodes that a fit saw, and the row as the program had it.
    fitted: its operation was, between nodes"""
    doublings = max(0.0, math.log2(point["nodes"] / max(2, measured)))
    point = {**point, "doublings": doublings, "fitted": fitted}
    return {**point, "row_sigma": beyond_rows(point, rows)}


def identity(point):
    return tuple(point[key] for key in ("file", "library", "op", "protocol", "nodes", "gpus_per_node", "size_B"))


def left_out_points(folder):
    """Of each machine: points, with the key that was left out."""
    points = []
    for path in sorted(Path(folder).glob("*.json")):
        record = json.loads(path.read_text())
        parts, rows = record.get("held_out", []), record["left_out_rows"]
        everything = {identity(p): p for part in parts for p in part["points"]}
        for part in parts:
            held = {identity(p) for p in part["points"]}
            kept = [p for key, p in everything.items() if key not in held]
            most = defaultdict(int)  # nodes that are left to learn from
            for p in kept:
                most[kind_of(p)] = max(most[kind_of(p)], p["nodes"])
            operations = {(kind_of(p), p["op"]) for p in kept if p["nodes"] > 1}
            for point in part["points"]:
                made = beyond_nodes(point, most[kind_of(point)], rows, (kind_of(point), point["op"]) in operations)
                points.append({**made, "machine": path.stem, "left_out": part["left_out"]})
    return points


def batch(program, queries):
    out = subprocess.run([program, "predict", "--batch", "-"], input="\n".join(map(json.dumps, queries)),
                         capture_output=True, text=True, check=False, cwd=ROOT).stdout
    answers = [json.loads(line) for line in out.splitlines()]
    for answer in answers:
        if "error" in answer:
            raise SystemExit(f"error: {answer['error']}")
    return answers


def not_fitted(program, path, *options):
    out = subprocess.run([program, "validate", "--against", str(path), "--json", *options], capture_output=True, text=True, cwd=ROOT).stdout
    return [{**p, "modelled_s": p["predicted_s"]} for p in json.loads(out)["comparisons"][0]["points"] if p["held_out"]]


def on_alps(nodes, size_B):
    return ALPS | {"size_B": size_B} | ({"nodes": nodes, "gpus_per_node": 4} if nodes > 1 else {"gpus": [0, 1, 2, 3]})


def alps_published(program):
    """Points of ALPS_PUBLISHED as those left out are written."""
    points, rows, measured = [], calibration_rows("alps"), nodes_measured("alps", "collective_network")
    for (nodes, size, bus), answer in zip(ALPS_PUBLISHED, batch(program, [on_alps(n, s) for n, s, _ in ALPS_PUBLISHED])):
        ranks = 4 * nodes
        point = {"library": "nccl-2.23", "nodes": nodes, "size_B": size, "measured_s": 2 * size * (ranks - 1) / ranks / (bus * 1e9),
                 "modelled_s": answer["time_s"], "low_s": answer["time_low_s"], "high_s": answer["time_high_s"], "machine": "alps"}
        points.append(beyond_nodes(point, measured, rows))
    return points


def on_eight_nodes(program):
    """MPI's points on 8 nodes, which no fit saw."""
    points = []
    for platform, path in EIGHT_NODES.items():
        rows, measured = calibration_rows(platform), nodes_measured(platform, "mpi_collective_network")
        points += [beyond_nodes({**p, "library": "mpi", "nodes": 8, "machine": platform}, measured, rows) for p in not_fitted(program, path)]
    return points


def nodes_measured(platform, transport):
    """Most nodes of the collectives that its fit saw."""
    return max((r.get("nodes", 0) for r in calibration_rows(platform) if r["transport"] == transport), default=0)


def beyond_a_cut(program, platform, name):
    """Forecasts of the sizes of a sweep above those that a fit saw, with the doublings between."""
    path = ROOT / "calibrate/data" / FOLDERS.get(platform, platform) / f"{name}.json"
    record = json.loads(path.read_text())
    most = max(p["size_B"] for p in record["points"]) / CUT
    with tempfile.TemporaryDirectory() as folder:
        cut, fitted = Path(folder) / "cut.json", Path(folder) / "fitted.json"
        cut.write_text(json.dumps(record | {"points": [p for p in record["points"] if p["size_B"] <= most]}))
        subprocess.run([program, "calibrate", "fit", str(cut), "--topology", platform, "--bootstrap", "0", "--out", str(fitted)],
                       capture_output=True, check=True, cwd=ROOT)
        calibration = json.loads(fitted.read_text())
        points = not_fitted(program, path, "--platform", str(fitted))
    valid_to, row = calibration["valid_for"]["to_B"], sigma_of(calibration["scatter"], "left_out.size_doubled", 0)
    return [{**p, "doublings": math.log2(p["size_B"] / valid_to), "row_sigma": row * math.log2(p["size_B"] / valid_to)}
            for p in points if p["size_B"] > valid_to]


def known_variance(point):
    """Of ln t, without the row."""
    sigma = math.log(point["high_s"] / point["modelled_s"]) / NINETY_PERCENT
    return max(0.0, sigma * sigma - point["row_sigma"] ** 2)


def least_sigma(points, weights=None):
    """points: (|ln(modelled / measured)|, variance known); weights: of the sigma in each. To three digits."""
    weights = weights or [1.0] * len(points)
    needed = sorted(math.sqrt(max(0.0, (error / NINETY_PERCENT) ** 2 - variance)) / weight
                    for (error, variance), weight in zip(points, weights))
    return round(needed[math.ceil(0.9 * len(needed)) - 1] + 5e-4, 3)


def error_of(point):
    return abs(math.log(point["modelled_s"] / point["measured_s"]))


def rows_of(points, learned_from):
    rows = []
    for kind in sorted({kind_of(p) for p in points}):
        for least, end in ends_of_sizes():
            some = [(error_of(p), known_variance(p)) for p in points if kind_of(p) == kind and least <= p["size_B"] < end]
            if some:
                rows.append({"transport": kind, "learned_from": learned_from, "from_B": least, "to_B": end,
                             "sigma_log": least_sigma(some), "samples": len(some)})
    return rows


def doubling_row(points, kind, others=(), from_B=0.0, to_B=LARGEST):
    """others: rows that the points' errors have besides."""
    doublings = [p["doublings"] for p in points]
    besides = [plain_sigma(p, others) if others else 0.0 for p in points]
    some = [(error_of(p), known_variance(p) + sigma * sigma) for p, sigma in zip(points, besides)]
    return {"transport": kind, "learned_from": "collectives", "from_B": from_B, "to_B": to_B,
            "sigma_log": least_sigma(some, doublings), "samples": len(some)}


def ends_of_sizes():
    """Of each class of SIZES: least, end."""
    return [(float(least), float(end or LARGEST)) for (_, least), (_, end) in zip(SIZES, SIZES[1:] + [("", 0)])]


def measured_sizes(points):
    """Without parts by size: such sizes are beyond those measured, which have a row of their own."""
    return [p for p in points if not p["left_out"].startswith("size=")]


def plain_points(points):
    """Those that the rows of their kind alone are of."""
    return [p for p in points if p["doublings"] == 0 and not (p["fitted"] and p["nodes"] > 1)]


def rows_of_left_out(points, plain=None):
    """All rows of collectives; of doublings those that such points show. plain: the others, if known."""
    rows = list(plain or rows_of(plain_points(points), "collectives"))
    plain = list(rows)
    for kind in ("left_out.nccl_nodes_doubled", "left_out.mpi_nodes_doubled"):
        every = [p for p in points if p["doublings"] > 0 and nodes_kind(p) == kind]
        for least, end in ends_of_sizes():
            if some := [p for p in every if least <= p["size_B"] < end]:
                rows.append(doubling_row(some if len(some) >= FEW else every, kind, plain, least, end))
    return rows


def with_rows(points, rows):
    """Points with the intervals that forecasts have with other rows."""
    made = []
    for p in points:
        row = beyond_rows(p, rows)
        factor = math.exp(NINETY_PERCENT * math.hypot(math.sqrt(known_variance(p)), row))
        made.append({**p, "low_s": p["modelled_s"] / factor, "high_s": p["modelled_s"] * factor, "row_sigma": row})
    return made


def without_own_machine(points):
    """Intervals whose rows come from the other machines' points alone."""
    made = []
    for machine in sorted({p["machine"] for p in points}):
        others = rows_of_left_out(measured_sizes([p for p in points if p["machine"] != machine]))
        made += with_rows([p for p in points if p["machine"] == machine], others)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/linkcast")
    parser.add_argument("folder", nargs="?", help="what calibrate/data/refit.sh PROGRAM models/params FOLDER left there")
    parser.add_argument("--rows", nargs="*", help="of parts left out: make these alone, e.g. left_out.nccl_network, if FOLDER has all "
                                                  "machines with such points; keep the others (default: make all)")
    args = parser.parse_args()
    program = str(Path(args.program).resolve())
    points = alps_published(program) + on_eight_nodes(program)
    if args.folder:
        points += [p for p in measured_sizes(left_out_points(args.folder)) if not args.rows or kind_of(p) in args.rows]
    bench = [{**p, "library": "nccl", "nodes": 1} for record in BENCH for p in not_fitted(program, record)]
    bench = with_row_sigma(bench, calibration_rows("hgx-h200"))
    kept = [row for row in shipped_rows() if "doubled" not in row["transport"]]
    if args.folder:
        fresh = rows_of(plain_points(points), "collectives")
        anew = {row["transport"] for row in fresh}
        kept = sorted([row for row in kept if args.rows and row["transport"] not in anew] + fresh,
                      key=lambda row: (row["transport"], row["from_B"]))
    rows = rows_of_left_out(points, kept) + rows_of(bench, "bench")
    beyond = [p for platform, name in SWEEPS for p in beyond_a_cut(program, platform, name)]
    rows.append(doubling_row(beyond, "left_out.size_doubled"))
    source = ("calibrate/data/left_out.py: forecasts of parts left out of the fits of calibrate/data/refit.sh; "
              f"{', '.join(BENCH)}; {', '.join(EIGHT_NODES.values())}; claim SC24-073 (Alps, 16 to 512 nodes)")
    RECORD.write_text(json.dumps({"schema": "left-out/1", "source": source, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
