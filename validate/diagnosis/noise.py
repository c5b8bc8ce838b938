"""What healthy machines scatter by around their forecasts: the constants of noise.cpp, from calibrate/data on one node.

Residuals are ln(measured / forecast). Each file counts once, whatever the number of its points; root mean squares over files.
"""
import argparse
import collections
import json
import math
import re
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIES = ("p2p", "host_copy", "memcpy", "nvbandwidth", "host-copy")
OCCASIONS = ("20261121a", "20261121b", "20261121c")  # three sessions on machines of one type
KINDS = {"h100": "hgx-h100", "h200": "hgx-h200"}  # folders of machines of no platform of their own
RANGES = ((65536, "< 64 KiB"), (1048576, "< 1 MiB"), (math.inf, "larger"))
Table = dict[tuple[str, str], list[float]]


def range_of(size: float) -> str:
    return next(name for below, name in RANGES if size < below)


def compared(program: str, files: list[Path]) -> list[dict]:
    """Comparisons with the machine itself, or where it was measured alone with the shipped one of its kind."""
    kinds = collections.defaultdict(list)
    for file in files:
        kinds[KINDS.get(file.parent.name.split("-")[0])].append(str(file))
    found = []
    for kind, of_kind in kinds.items():
        command = [program, "validate", "--json", *(["--platform", kind] if kind else []), "--against", *of_kind]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not run.stdout:
            raise SystemExit(run.stderr)
        found += json.loads(run.stdout)["comparisons"]
    return found


def residuals(points: list[dict]) -> dict[tuple[str, str, float], dict[tuple[str, str], float]]:
    """Of each transport, variant and size: ends -> residual around the median."""
    found = collections.defaultdict(dict)
    for p in points:
        ends = re.match(r"(\S+) <?-> (\S+)$", p["ends"])
        if ends and p["transport"] in ("peer", "staged", "local", "host"):
            found[p["transport"], p["variant"], p["size_B"]][ends[1], ends[2]] = math.log(p["measured_s"] / p["predicted_s"])
    whole = {}
    for key, cells in found.items():
        middle = statistics.median(cells.values())
        if len(cells) >= 4:
            whole[key] = {ends: value - middle for ends, value in cells.items()}
    return whole


def ends_and_rest(cells: dict[tuple[str, str], float]) -> tuple[float, float]:
    """Variance that the GPUs at the ends explain, each, and the rest: a two-way layout without repetition."""
    effects: list[dict[str, float]] = [{}, {}]
    for _ in range(30):
        for side in (0, 1):
            for name in {ends[side] for ends in cells}:
                effects[side][name] = statistics.mean(value - effects[1 - side].get(ends[1 - side], 0)
                                                      for ends, value in cells.items() if ends[side] == name)
    freedom = max(len(cells) - len(effects[0]) - len(effects[1]) + 1, 1)
    rest = sum((value - effects[0][ends[0]] - effects[1][ends[1]]) ** 2 for ends, value in cells.items()) / freedom
    explained = statistics.mean(statistics.variance(side.values()) for side in effects)
    return max(explained - rest * len(effects[0]) / len(cells), 0), rest


def of_devices(cells_of_sizes: dict[float, dict], wanted: str) -> tuple[float, float]:
    """Copies of one GPU each: what a GPU's sizes share, and the rest."""
    some = {size: cells for size, cells in cells_of_sizes.items() if range_of(size) == wanted}
    total = statistics.mean(statistics.variance(cells.values()) for cells in some.values())
    shared = [a[ends] * b[ends] for size, a in some.items() for other, b in some.items() if size < other for ends in a if ends in b]
    both = min(max(statistics.mean(shared), 0), total) if shared else total / 2
    return both, total - both


def family_of(transport: str, variant: str, single: bool) -> str:
    read = "read " if single and transport == "peer" and variant.startswith("copy_engine read") else ""
    return transport + " " + read + "from rest" if single else transport


def copies(comparisons: list[dict]) -> None:
    gpu, own = collections.defaultdict(list), collections.defaultdict(list)
    for comparison in comparisons:
        of_file = collections.defaultdict(list)
        alone = collections.defaultdict(dict)
        single = "single" in comparison["file"]
        for (transport, variant, size), cells in residuals(comparison.get("points", [])).items():
            if transport in ("peer", "staged"):
                of_file[family_of(transport, variant, single), range_of(size)].append(ends_and_rest(cells))
            else:
                alone[transport, variant][size] = cells
        for (transport, variant), sizes in alone.items():
            for name in {range_of(size) for size in sizes}:
                of_file[family_of(transport, variant, single), name].append(of_devices(sizes, name))
        for key, values in of_file.items():
            gpu[key].append(statistics.mean(value[0] for value in values))
            own[key].append(statistics.mean(value[1] for value in values))
    print("copies: standard deviation of a GPU, of the rest, largest file over all")
    for key in sorted(own):
        print(f"  {key[0]:20}{key[1]:10}{len(own[key]):3} files  {math.sqrt(statistics.mean(gpu[key])):.3f}  "
              f"{math.sqrt(statistics.mean(own[key])):.3f}  {math.sqrt(max(own[key]) / max(statistics.mean(own[key]), 1e-12)):.1f}")


def collectives() -> None:
    times = collections.defaultdict(list)
    for occasion in OCCASIONS:
        record = json.loads((ROOT / f"calibrate/data/hgx-h200/{occasion}-nccl_ops.json").read_text())
        for p in record["points"]:
            if isinstance(p.get("time_s"), list):
                times[p["op"], str(p["gpus"]), str(p.get("algorithm")), p["size_B"]].append(math.log(statistics.median(p["time_s"])))
    spread = collections.defaultdict(list)
    for key, values in times.items():
        if len(values) > 1:
            spread[range_of(key[-1])].append(statistics.variance(values))
    print("collectives: standard deviation between occasions")
    for _, name in RANGES:
        print(f"  {name:10}{len(spread[name]):4} points  {math.sqrt(statistics.mean(spread[name])):.3f}")


def sizes(comparisons: list[dict]) -> None:
    """Half the mean squared difference of two sizes' residuals over intervals; 1 - exp(-doublings / length) of what it reaches."""
    steps = collections.defaultdict(list)
    for comparison in comparisons:
        curves = collections.defaultdict(list)
        for p in comparison.get("points", []):
            if p.get("held_out"):
                sigma = math.log(p["high_s"] / p["low_s"]) / 2 / statistics.NormalDist().inv_cdf(0.95)
                curves[p["transport"], p["variant"]].append((p["size_B"], math.log(p["measured_s"] / p["predicted_s"]) / max(sigma, 1e-4)))
        for curve in curves.values():
            for size, value in curve:
                for other, second in curve:
                    if other > size:
                        steps[round(math.log2(other / size))].append((value - second) ** 2 / 2)
    print("collectives held out: doublings apart, half the mean squared difference in sigmas of the interval")
    for distance in (1, 2, 4, 6, 8, 10, 12):
        print(f"  {distance:3}{len(steps[distance]):6} pairs  {statistics.mean(steps[distance]):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast")
    program = parser.parse_args().program
    files = sorted((ROOT / "calibrate/data").glob("*/*.json"))
    copies(compared(program, [file for file in files if any(word in file.name for word in COPIES) and "printed" not in file.name]))
    collectives()
    sizes(compared(program, [file for file in files if file.name.startswith(("nccl-2", "tartan-nccl")) or "nccl_ops" in file.name]))


if __name__ == "__main__":
    main()
