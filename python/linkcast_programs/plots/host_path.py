"""HGX H200 without peer access (NCCL_P2P_DISABLE=1): a forecast made before measuring, beside what was measured.

  python3 python/run.py plots.host_path                     busbw of both, Markdown
  python3 python/run.py plots.host_path --write reports     the platform of the forecast with today's parameters
"""
import argparse
import json
import pathlib
import statistics

from ..units import bus_factor
from . import common, occasions
from .common import MIB

FORECAST = "validate/forecasts/20261121-h200-host-path.json"
MEASURED = ("20261121c", "host-nccl_ops")


def rows() -> list[dict]:
    """Every row of the forecast with `measured_s`, the median of its repetitions."""
    points = common.load(occasions.path(*MEASURED))["points"]
    times = {(point["op"], len(point["gpus"]), point["size_B"]): statistics.median(point["time_s"]) for point in points}
    found = []
    for row in common.load(FORECAST)["rows"]:
        # Both files round a size down to one float a rank; the forecast kept sizes as asked for.
        unit = 4 * row["gpus"] if row["op"] in ("all_gather", "reduce_scatter") else 4
        size = row["size_B"] // unit * unit
        if (row["op"], row["gpus"], size) in times:
            found.append({**row, "measured_s": times[row["op"], row["gpus"], size]})
    return found


def busbw(row: dict, key: str) -> float:
    return bus_factor(row["op"], row["gpus"]) * row["size_B"] / row[key] / 1e9


def write_platform(folder: pathlib.Path) -> None:
    """hgx-h200 without NVLink, as folder/hgx-h200-host.json and its topology beside it."""
    name = "hgx-h200-host"
    topology, parameters = common.load("topologies/hgx-h200.json"), common.load("models/params/hgx-h200.json")
    topology["name"] = parameters["name"] = parameters["topology"] = name
    topology["cables"] = [cable for cable in topology["cables"] if cable["kind"] != "nvlink4"]
    topology["devices"] = [device for device in topology["devices"] if device["kind"] != "nvswitch"]
    parameters["parameters"] = {key: value for key, value in parameters["parameters"].items()
                                if not key.startswith("cable.nvlink4")}
    folder.mkdir(exist_ok=True)
    (folder / f"{name}-topology.json").write_text(json.dumps(topology, indent=1) + "\n")
    (folder / f"{name}.json").write_text(json.dumps(parameters, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path, help="folder for hgx-h200-host.json and its topology")
    options = parser.parse_args()
    if options.write:
        write_platform(options.write)
        return
    found = rows()
    print("| operation | GPUs | protocol, blocks at 512 MiB | forecast GB/s | measured GB/s | error of time: < 1 MiB | "
          ">= 1 MiB | inside 90 % |")
    print("| --- " * 8 + "|")
    for op, gpus in dict.fromkeys((row["op"], row["gpus"]) for row in found):
        some = [row for row in found if (row["op"], row["gpus"]) == (op, gpus)]
        largest = max(some, key=lambda row: row["size_B"])
        ranges = []
        for low, high in ((0, MIB), (MIB, float("inf"))):
            errors = [100 * (row["time_s"] / row["measured_s"] - 1) for row in some if low <= row["size_B"] < high]
            ranges.append(f"{min(errors):+.0f} to {max(errors):+.0f} %")
        inside = sum(row["low_s"] <= row["measured_s"] <= row["high_s"] for row in some)
        print(f"| {op} | {gpus} | {largest['protocol']}, {largest['blocks']} | {busbw(largest, 'time_s'):.1f} | "
              f"{busbw(largest, 'measured_s'):.1f} | {' | '.join(ranges)} | {inside} of {len(some)} |")
    errors = [abs(row["time_s"] / row["measured_s"] - 1) for row in found]
    print(f"{len(found)} points, median error {100 * statistics.median(errors):.0f} %, "
          f"95 % below {100 * common.quantile(errors, 0.95):.0f} %")


if __name__ == "__main__":
    main()
