#!/usr/bin/env python3
"""What real versions of NCCL find and take on machines that are described by a file; no GPU is needed.

    calibrate/choices/ask.py --program build/linkcast --version 2.28.9 --platform v100-dgx1 --platform dgx-a100 --out FILE

Each machine is written by `linkcast show --nccl-topo`, NCCL's wheel is fetched by pip (300 MB a version, kept in
build/choices), and linkcast-nccl-choices starts it
(cmake --build build --target linkcast-nccl-choices). The record (nccl-choices/1) has NCCL's graphs,
the rings that it runs, the tables of its tuner and, from 2.26 on, which algorithm, protocol and how many channels each
call takes. Versions 2.14 to 2.30 have been asked.

    calibrate/choices/ask.py --version 2.28.9 --study DIR [--out FILE]

runs a study of `linkcast emulate` instead: DIR/results gets NCCL's graphs, which `linkcast emulate --compare DIR` reads.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
STARTER = BUILD / "calibrate/choices/linkcast-nccl-choices"
OPERATIONS = {"AllReduce": "all_reduce", "Broadcast": "broadcast", "Reduce": "reduce", "AllGather": "all_gather",
              "ReduceScatter": "reduce_scatter"}
TIMEOUT_S = 120


class Failed(Exception):
    """What the user is told in one line."""


def wheel_of(version: str) -> Path:
    """libnccl.so.2 of a version, from its wheel."""
    folder = BUILD / "choices" / version
    library = folder / "nvidia/nccl/lib/libnccl.so.2"
    if library.exists():
        return library
    for package in ("nvidia-nccl-cu12", "nvidia-nccl-cu11"):
        print(f"fetching {package} {version}", file=sys.stderr)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder),
                               f"{package}=={version}"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and library.exists():
            return library
    raise Failed(f"NCCL {version}: pip has no wheel of it")


def environment(library: Path, topology: Path, folder: Path) -> dict:
    env = dict(os.environ, LD_LIBRARY_PATH=str(STARTER.parent), NCCL_CUMEM_ENABLE="0", NCCL_CUMEM_HOST_ENABLE="0",
               NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,GRAPH,TUNING,COLL", NCCL_RAS_ENABLE="0",
               NCCL_SOCKET_IFNAME="lo", NCCL_DEBUG_FILE=str(folder / "log.%h.%p"),
               NCCL_GRAPH_DUMP_FILE=str(folder / "graphs.xml"))
    env["NCCL_NET_PLUGIN"] = "linkcast" if "<net " in topology.read_text() else "none"
    if tuple(int(part) for part in library.parts[-5].split(".")[:2]) < (2, 17):
        env["LINKCAST_CUDA_VERSION"] = "11080"
    return env


def run(library: Path, topology: Path, nodes: int, gpus: int, told: dict | None = None) -> tuple[str, str]:
    """@returns the log of all processes and the graphs that were dumped. @param told  more variables of NCCL"""
    command = [str(STARTER), "--library", str(library), "--topology",
               str(topology), "--nodes", str(nodes)] + (["--gpus", str(gpus)] if gpus else [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            done = subprocess.run(command, env={**environment(library, topology, folder), **(told or {})}, capture_output=True, text=True,
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{topology.name}: no answer in {TIMEOUT_S} s") from None
        log = "".join(file.read_text(errors="replace") for file in sorted(folder.glob("log.*")))
        graphs = folder / "graphs.xml"
        if done.returncode != 0 or not graphs.exists():
            last = (done.stderr.strip().splitlines() or ["no graphs"])[-1]
            raise Failed(f"{topology.name}: {last}")
        return log, graphs.read_text()


def graphs_of(text: str) -> list:
    """Rings and trees of the search, each distinct order with how often it comes in a row."""
    graphs = []
    for graph in ET.fromstring(text):
        if graph.get("id") not in ("0", "1"):
            continue
        orders = [[int(gpu.get("dev"), 0) for gpu in channel if gpu.tag == "gpu"] for channel in graph]
        graphs.append({"graph": "rings" if graph.get("id") == "0" else "trees", "channels": int(graph.get("nchannels")),
                       "speed_GBps": float(graph.get("speedintra")), "network_speed_GBps": float(graph.get("speedinter")),
                       "path_class": graph.get("typeintra"), "network_class": graph.get("typeinter"),
                       "one_order": graph.get("samechannels") == "1", "orders": orders})
    return graphs


def tables_of(log: str) -> list:
    """Rows of the tuner: latency in us and bandwidth in GB/s of an operation, algorithm and protocol."""
    rows, algorithms, seen = [], [], set()
    for line in log.splitlines():
        text = line.split("NCCL INFO", 1)[-1]
        cells = [cell.strip() for cell in text.split("|")]
        if cells[0] == "Algorithm":
            algorithms = [cell for cell in cells[1:] if cell]
        if cells[0] == "Latency/AlgBw":  # up to 2.16: "Tree/ LL" and so on, three for each
            algorithms = [cell.split("/")[0] for cell in cells[1::3] if cell]
        if cells[0] not in OPERATIONS or not algorithms:
            continue
        values = [re.fullmatch(r"([\d.]+)/\s*([\d.]+)", cell) for cell in cells[1:] if cell]
        for index, value in enumerate(values):
            algorithm = algorithms[index // 3] if index // 3 < len(algorithms) else None
            protocol = ("LL", "LL128", "Simple")[index % 3]
            key = (cells[0], algorithm, protocol)
            if algorithm and value and float(value[2]) > 0 and key not in seen:
                seen.add(key)
                rows.append([OPERATIONS[cells[0]], algorithm, protocol, float(value[1]), float(value[2])])
    return rows


def choices_of(log: str, ranks: int) -> list:
    """From which size on which algorithm, protocol and number of channels are taken."""
    pattern = re.compile(r"(\w+): (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}")
    taken: dict = {}
    for match in pattern.finditer(log):
        operation = OPERATIONS.get(match[1])
        if not operation:
            continue
        parts = ranks if operation in ("all_gather", "reduce_scatter") else 1
        now = [int(match[2]) * parts, match[3], match[4], int(match[6]) - int(match[5]) + 1]
        taken.setdefault(operation, []).append(now)
    return [{"op": operation, "calls": calls} for operation, calls in taken.items()]


def rings_of(log: str) -> list:
    found = {int(m[1]): [int(rank) for rank in m[2].split()] for m in re.finditer(r"Channel (\d+)/\d+ : *([\d ]+)", log)}
    return [found[channel] for channel in sorted(found)]


def ask(library: Path, version: str, topology: Path, nodes: int, gpus: int) -> dict:
    log, graphs = run(library, topology, nodes, gpus)
    rings = rings_of(log)
    return {"version": version, "nodes": nodes, "gpus": len(rings[0]) // nodes, "graphs": graphs_of(graphs),
            "rings": rings, "tuner": tables_of(log), "choices": choices_of(log, len(rings[0]))}


def ask_study(library: Path, version: str, study: Path) -> list:
    told = dict(line.split("=", 1) for line in (study / "environment").read_text().split())
    (study / "results").mkdir(exist_ok=True)
    cases = []
    for line in (study / "cases").read_text().splitlines():
        name, gpus = line.split()
        _, graphs = run(library, study / f"{name}.xml", 1, int(gpus), told)
        (study / "results" / f"{name}.graph.xml").write_text(graphs)
        cases.append({"wish": name, "version": version, "gpus": int(gpus), "graphs": graphs_of(graphs)})
        print(f"NCCL {version}, {name}", file=sys.stderr)
    return cases


def write(path: Path, cases: list) -> None:
    lines = ",\n".join("  " + json.dumps(case, separators=(",", ":")) for case in cases)
    path.write_text('{\n "schema": "nccl-choices/1",\n "source": "calibrate/choices/ask.py: NCCL of NVIDIA\'s wheels, '
                    'started on stand-ins for the GPUs and NICs of `linkcast show --nccl-topo`",\n "cases": [\n'
                    f"{lines}\n ]\n}}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(BUILD / "linkcast"), help="linkcast")
    parser.add_argument("--version", action="append", required=True, help="of NCCL; as often as needed")
    parser.add_argument("--platform", action="append", default=[], help="as often as needed")
    parser.add_argument("--study", type=Path, help="folder of linkcast emulate, in place of platforms")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=0, help="the first of each host; default all")
    parser.add_argument("--out", type=Path, help="the record; needed with --platform")
    asked = parser.parse_args()
    if bool(asked.study) == bool(asked.platform) or (asked.platform and not asked.out):
        parser.error("either --study, or --platform and --out")
    if asked.study and not (asked.study / "cases").exists():
        parser.error(f"{asked.study}: no study of linkcast emulate")
    if not STARTER.exists():
        print("error: first cmake --build build --target linkcast-nccl-choices", file=sys.stderr)
        return 2
    cases, failed = [], 0
    if asked.study:
        try:
            for version in asked.version:
                cases += ask_study(wheel_of(version), version, asked.study)
        except Failed as error:
            print(f"error: NCCL {version}: {error}", file=sys.stderr)
            failed = 1
    with tempfile.TemporaryDirectory() as name:
        for version in asked.version:
            for platform in asked.platform:
                try:
                    library = wheel_of(version)
                    topology = Path(name) / f"{platform}.xml"
                    subprocess.run([asked.program, "show", platform, "--nccl-topo", "--out", str(topology)], check=True)
                    cases.append({"platform": platform, **ask(library, version, topology, asked.nodes, asked.gpus)})
                    print(f"NCCL {version}, {platform}: {len(cases[-1]['rings'])} channels", file=sys.stderr)
                except (Failed, subprocess.CalledProcessError) as error:
                    print(f"error: NCCL {version}, {platform}: {error}", file=sys.stderr)
                    failed += 1
    if asked.out:
        write(asked.out, cases)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
