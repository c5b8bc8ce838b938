#!/usr/bin/env python3
"""How many different queries a second `linkcast predict --batch` answers on one core: no line is asked twice.

    many_queries.py PROGRAM [--count 20000] [--only WORD]

One JSON line a kind: queries, user seconds without the start of the program, queries a second, peak memory. Sets of GPUs, sizes
and machines are drawn at random, the same in every run; what the program keeps from one query to the next counts as its own."""
from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

SEED = 7
GPUS = {"p100-dgx1": 8, "v100-dgx1": 8, "dgx2": 16, "hgx-h200": 8, "hgx-h100": 8, "dgx-a100": 8, "gx8": 8}
NO_ALLTOALL = ("p100-dgx1", "v100-dgx1", "dgx2", "gx8")  # their libraries have none
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
KINDS = ("p2p", "all_reduce_8", "collective_subsets", "alltoall_8", "flows_12", "rings", "place")
EIGHT, FLOWS = 8, 12
LARGEST_B = 2**30


class Draw:
    """Queries of one kind, from one source of random numbers."""

    def __init__(self, kind: str):
        self.kind, self.random = kind, random.Random(f"{SEED} {kind}")

    def size(self) -> int:
        return self.random.randint(1, LARGEST_B)

    def some(self, platform: str, count: int) -> list[int]:
        return sorted(self.random.sample(range(GPUS[platform]), count))

    def copy(self, platform: str) -> list:
        source, target = self.random.sample(range(GPUS[platform]), 2)
        return [f"gpu{source}", f"gpu{target}", self.size()]

    def query(self) -> dict:
        platform = self.random.choice([name for name in GPUS if self.kind != "alltoall_8" or name not in NO_ALLTOALL])
        return {**self.asked(platform), "platform": platform}

    def asked(self, platform: str) -> dict:
        if self.kind == "p2p":
            return dict(zip(("src", "dst", "size_B"), self.copy(platform)), kind="p2p")
        if self.kind == "flows_12":
            return {"kind": "flows", "flows": [self.copy(platform) for _ in range(FLOWS)]}
        count = EIGHT if self.kind.endswith("_8") else self.random.randint(2, EIGHT)
        if self.kind == "rings":
            return {"kind": "rings", "gpus": self.some(platform, count)}
        if self.kind == "place":
            return {"kind": "place", "job": f"all_reduce:{self.size()}B", "ranks": min(count, 4), "top": 1}
        operation = {"all_reduce_8": "all_reduce", "alltoall_8": "alltoall"}.get(self.kind) or self.random.choice(OPERATIONS)
        return {"kind": "collective", "op": operation, "gpus": self.some(platform, count), "size_B": self.size()}


def lines(kind: str, count: int) -> str:
    draw = Draw(kind)
    return "".join(json.dumps({"id": number, **draw.query()}) + "\n" for number in range(count))


def spent(program: Path, text: str) -> tuple[float, int]:
    """User seconds and KiB of memory. @throws SystemExit  a query was not answered"""
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as out:
        stdin.write(text)
        stdin.seek(0)
        process = subprocess.Popen([str(program), "predict", "--batch", "-"], stdin=stdin, stdout=out, env={**os.environ, "LINKCAST_LOG": "progress=off"})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        failed = next((line for line in out if '"error"' in line), "")
        if process.returncode != 0 or failed:
            sys.exit(f"error: exit code {process.returncode}: {failed}")
        return usage.ru_utime, usage.ru_maxrss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--only", default="", help="kinds whose name has this in it")
    o = parser.parse_args()
    for kind in KINDS:
        if o.only not in kind:
            continue
        start_s, _ = spent(o.program, "".join(lines(kind, 1)))
        user_s, peak_KiB = spent(o.program, lines(kind, o.count))
        print(json.dumps({"case": f"many/{kind}", "queries": o.count, "user_s": round(user_s - start_s, 3),
                          "per_second": round(o.count / max(user_s - start_s, 1e-3)), "peak_MiB": peak_KiB // 1024}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
