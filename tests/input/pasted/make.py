#!/usr/bin/env python3
"""Writes the logs of this folder, as people paste them: figures of a public table where there is one, else of a forecast.

    python3 tests/input/pasted/make.py --program build/linkcast

A forecast is that of the day on which it was written, times noise: it tests how a log is read and judged, and says nothing of how
right a forecast is. Hosts, bus ids and Pids are invented.
"""
import argparse
import json
import math
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Of ln(time): of a machine against its type, and of a figure. source: validate/diagnosis/noise.py, links of two machines of
# one type, collectives on three occasions
MACHINE, NOISE = 0.03, 0.012
BUSES = ["0f", "2d", "44", "5b", "89", "a8", "c0", "d8"]


@dataclass
class Log:
    name: str
    gpu: str
    gpus: int
    version: str  # of the library
    platform: str = ""  # of the forecast; empty: figures of the table
    table: str = ""
    library: str = ""
    nodes: int = 1
    op: str = "all_reduce"
    launch: str = "process"  # one a GPU; or threads of one process (-t), or single_process (-g)
    smallest: int = 8
    largest: int = 8 << 30


def measured(log: Log) -> dict[int, float]:
    points = json.loads((ROOT / "calibrate/data" / log.table).read_text())["points"]
    return {p["size_B"]: 1e6 * sum(p["time_s"]) / len(p["time_s"]) for p in points
            if p["op"] == log.op and len(p["gpus"]) == log.gpus and p.get("nodes", 1) == log.nodes}


def forecast(log: Log, program: str) -> dict[int, float]:
    sizes = [1 << k for k in range(log.smallest.bit_length() - 1, log.largest.bit_length())]
    where = {"gpus": list(range(log.gpus))} if log.nodes == 1 else {"nodes": log.nodes, "gpus_per_node": log.gpus}
    lines = "".join(json.dumps({"kind": "collective", "platform": log.platform, "op": log.op, "size_B": size, "library": log.library, **where,
                                "launch": "process" if log.launch == "threads" else log.launch}) + "\n" for size in sizes)
    done = subprocess.run([program, "predict", "--batch", "-"], input=lines, capture_output=True, text=True, check=True)
    noise = random.Random(log.name)
    machine = noise.gauss(0, MACHINE)
    return {size: 1e6 * json.loads(line)["time_s"] * math.exp(machine + noise.gauss(0, NOISE))
            for size, line in zip(sizes, done.stdout.splitlines(), strict=True)}


def time_text(us: float) -> str:
    return f"{us:.2f}" if us < 100 else f"{us:.1f}" if us < 10000 else f"{us:.0f}"


def row(log: Log, size: int, us: float, again: float) -> str:
    old = log.version < "2.09"
    ranks = log.gpus * log.nodes
    factor = {"all_reduce": 2 * (ranks - 1) / ranks, "all_gather": (ranks - 1) / ranks}[log.op]
    words = f"{size:12} {size // 4:13} {'float':>9} {'sum':>7}" + ("" if old else f" {-1:7}")
    for time in (us, again):
        algbw = size / time / 1e3
        words += f" {time_text(time):>8} {algbw:7.2f} {algbw * factor:7.2f} {'2e-07' if old else 0:>6}"
    return words


def lines_of(log: Log, program: str) -> list[str]:
    times = measured(log) if log.table else forecast(log, program)
    jitter = random.Random(log.name + " again")
    rccl = log.gpu.startswith("AMD")
    old = log.version < "2.09"
    lines = [] if old or rccl else [f"# nccl-tests version 2.13.12 nccl-headers={version_number(log)} nccl-library={version_number(log)}"]
    lines += [f"# Collective test starting: {log.op}_perf"] if rccl else []
    lines += [f"# nThread {log.gpus if log.launch == 'threads' else 1} nGpus {log.gpus if log.launch == 'single_process' else 1} minBytes {min(times)} maxBytes {max(times)} step: 2(factor) warmup iters: 5 iters: 20"
              + (" validation: 1 " if old else " agg iters: 1 validation: 1 graph: 0"), "#", "# Using devices"]
    group = "" if old else " Group  0"
    for rank in range(log.gpus * log.nodes):
        pid = 41770 + (rank if log.launch == "process" else 0)
        bus = f"0000:{BUSES[rank % log.gpus]}:00" if rccl else "0x" + BUSES[rank % log.gpus]
        lines.append(f"#  Rank {rank:2}{group} Pid {pid:6} on {'gpu-node-' + str(17 + rank // log.gpus):>10} device {rank % log.gpus:2} [{bus}] {log.gpu}")
    lines += [f"{'RCCL' if rccl else 'NCCL'} version {log.version}", "#"]
    root = "" if old else "    root"
    wrong = " error" if old else "#wrong"
    lines += [f"#{'':60}out-of-place{'':23}in-place          ",
              f"#       size         count      type   redop{root}     time   algbw   busbw {wrong}     time   algbw   busbw {wrong}",
              f"#        (B)    (elements)                   {root and '        '}    (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       "]
    lines += [row(log, size, us, us * math.exp(jitter.gauss(0, NOISE))) for size, us in sorted(times.items())]
    return [*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 101.27 ", "#"]


def version_number(log: Log) -> int:
    major, minor, patch = (int(part) for part in log.version.split("+")[0].split("."))
    return 10000 * major + 100 * minor + patch


def tagged(lines: list[str]) -> list[str]:
    """mpirun --tag-output, below the command; NCCL's lines between."""
    info = [f"[1,{rank}]<stdout>:gpu-node-17:{41770 + rank}:{41790 + rank} [{rank}] NCCL INFO comm 0x55d0 rank {rank} nranks 8 cudaDev {rank} "
            "nvmlDev 0 busId f000 commId 0x3a - Init COMPLETE" for rank in range(8)]
    return ["ubuntu@gpu-node-17:~$ mpirun -np 8 --tag-output -x NCCL_DEBUG=INFO ./nccl-tests/build/all_reduce_perf -b 8 -e 8G -f 2 -g 1",
            *["[1,0]<stdout>:" + line for line in lines[:12]], *info, *["[1,0]<stdout>:" + line for line in lines[12:]]]


def srun(lines: list[str]) -> list[str]:
    return ["$ srun -N1 --ntasks-per-node=8 --gpus-per-node=8 -l all_reduce_perf -b 1M -e 8G -f 2",
            *["0: " + line for line in lines]]


def kubectl(lines: list[str]) -> list[str]:
    return ["[pod/nccl-test-launcher-x8k2p/launcher] " + line for line in lines]


def stamped(lines: list[str]) -> list[str]:
    return [f"2026-03-14T09:26:{10 + number % 50:02}.123456789Z stdout F {line}" for number, line in enumerate(lines)]


def torchrun(lines: list[str]) -> list[str]:
    return ["[default0]:" + line for line in lines]


def quoted(lines: list[str]) -> list[str]:
    """A mail or an issue that quotes another."""
    return ["Is this what four 4090 should give? No NVLink, I know.", "", "```", *lines, "```", "", "Thanks!"]


def cut_at_the_top(lines: list[str]) -> list[str]:
    """What a terminal still showed: from the fourth rank on."""
    return lines[next(number for number, line in enumerate(lines) if "Rank  3" in line):]


def cut_at_the_bottom(lines: list[str]) -> list[str]:
    """In the middle of a row."""
    return [*lines[:-6], lines[-6][:40]]


LOGS = [
    (Log("h100-8", "NVIDIA H100 80GB HBM3", 8, "2.21.5+cuda12.4", "hgx-h100", library="nccl-2.20"), tagged, "\n"),
    (Log("h200-8", "NVIDIA H200", 8, "2.26.2+cuda12.8", "hgx-h200", library="nccl-2.23", smallest=1 << 20), srun, "\n"),
    (Log("a100-80gb-8", "NVIDIA A100-SXM4-80GB", 8, "2.27.3+cuda12.9", table="dgx-a100/nccl-2.27.json", launch="threads"), list, "\r\n"),
    (Log("a100-40gb-8", "NVIDIA A100-SXM4-40GB", 8, "2.18.3+cuda12.2", "dgx-a100", library="nccl-2.18", smallest=1 << 16, largest=1 << 30), cut_at_the_top, "\n"),
    (Log("v100-8", "Tesla V100-SXM2-32GB", 8, "2.08.4+cuda11.2", "v100-dgx1", library="nccl-2.8", launch="single_process", smallest=1 << 10, largest=1 << 30), list, "\n"),
    (Log("b200-8", "NVIDIA B200", 8, "2.29.2+cuda13.0", table="dgx-b200/nccl-2.29.json", launch="threads"), kubectl, "\n"),
    (Log("l40s-8", "NVIDIA L40S", 8, "2.27.3+cuda12.9", table="l40s/nccl-2.27-eight.json", launch="threads"), cut_at_the_bottom, "\n"),
    (Log("rtx-4090-4", "NVIDIA GeForce RTX 4090", 4, "2.20.5+cuda12.4", "rtx-4090", library="nccl-2.20", launch="single_process", smallest=1 << 13, largest=1 << 28), quoted, "\n"),
    (Log("rtx-3090-2", "NVIDIA GeForce RTX 3090", 2, "2.18.3+cuda12.2", "rtx-3090", library="nccl-2.18", launch="single_process", smallest=1 << 13, largest=1 << 28), torchrun, "\n"),
    (Log("mi300x-8", "AMD Instinct MI300X", 8, "2.22.3-HEAD:a1b2c3d", table="mi300x/rccl-2.22.json"), list, "\n"),
    (Log("h100-8-two-nodes", "NVIDIA H100 80GB HBM3", 8, "2.21.5+cuda12.4", "hgx-h100", library="nccl-2.20", nodes=2, smallest=1 << 10), stamped, "\n"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/linkcast"))
    program = parser.parse_args().program
    for log, pasted, end in LOGS:
        text = end.join([*pasted(lines_of(log, program)), ""])
        (Path(__file__).parent / f"{log.name}.txt").write_bytes(text.encode())


if __name__ == "__main__":
    main()
