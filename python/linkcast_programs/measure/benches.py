"""Benches of linkcast-bench, what is most valuable first, within a number of minutes. What stopped goes on later."""
from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ..records import InputError, write_atomically
from .box import ask_to_stop

DONE = ".measured-benches.json"  # in the folder of the records; hidden, because it is no record
POINTS = re.compile(r"\[\w+\] (?:(?P<at>\d+)/(?P<of>\d+) |done: (?P<done>\d+) points)")
WRONG_DATA = 4  # exit code of linkcast-bench: copied data differs from its source


@dataclass(frozen=True)
class Bench:
    name: str
    gpus: int         # fewest that it needs
    seconds: float    # on two H100
    several_s: float  # what more than two GPUs add
    a_pair_s: float   # and what each further pair of them adds besides
    what: str
    kept_back: bool = False

    def estimate_s(self, gpus: int) -> float:
        if gpus < self.gpus:
            return 0.0
        return self.seconds + (self.several_s + self.a_pair_s * (gpus * (gpus - 1) / 2 - 1) if gpus > 2 else 0.0)


# Seconds of 2 H100 and of 4 (calibrate/data/h100-four/20261127a). A fit cannot do without copies; collectives
# depend on the library's base costs; then what is quick.
BENCHES = (
    Bench("discovery", 1, 2, 0, 0.6, "GPUs, links, sockets: the topology"),
    Bench("p2p_copy", 1, 10, 0, 4.6, "copies between GPUs and inside one"),
    Bench("nccl_base", 2, 50, 48, 0.4, "costs of NCCL by protocol and channels"),
    Bench("nccl_ops", 2, 12, 19, 0.4, "NCCL's operations, queued on the GPUs", kept_back=True),
    Bench("host_copy", 1, 16, 5, 1.2, "copies between host memory and GPUs"),
    Bench("p2p_copy_single", 1, 3, 0, 1.2, "copies one at a time"),
    Bench("relay", 3, 0.5, 0, 1.1, "copies through a third GPU"),
    Bench("concurrency", 2, 2, 0, 0.8, "copies that share links", kept_back=True),
    Bench("launch", 1, 85, -20, 0.4, "what the host pays for calls, kernels and copies"),
    Bench("launch_ops", 2, 57, -20, 0.4, "NCCL's operations by who issues them", kept_back=True),
    Bench("remote_load", 1, 3, 0, 1, "single loads"),
)


def needed(gpus: int) -> list[Bench]:
    return [bench for bench in BENCHES if gpus >= bench.gpus]


@dataclass
class Run:
    """Of one bench: what became of it."""
    bench: Bench
    status: str = "not begun"  # complete, incomplete, not begun, failed
    points: int = 0
    of: int = 0
    seconds: float = 0.0
    reason: str = ""

    def as_json(self) -> dict:
        return {"bench": self.bench.name, "status": self.status, "points": self.points, "of": self.of, "seconds": round(self.seconds, 1),
                "held_out": self.bench.kept_back, **({"reason": self.reason} if self.reason else {})}

    def missing_text(self) -> str:
        part = f", {self.points} of {self.of} points" if self.of and self.points < self.of else ""
        return f"{self.bench.name} ({self.bench.what}): {self.status}{part}{': ' + self.reason if self.reason else ''}"


class Done:
    """Benches of one occasion whose records are complete: they are not started again."""

    def __init__(self, folder: Path, name: str):
        """@param name  how the records' names begin: machine and occasion"""
        self._folder, self._name, self._path = folder, name, folder / DONE
        try:
            self._known: dict[str, dict[str, int]] = json.loads(self._path.read_text())
        except FileNotFoundError:
            self._known = {}
        except ValueError:
            raise InputError(f"{self._path}: not JSON: remove it, what is measured is kept") from None

    def points(self, bench: str) -> int | None:
        """None: it is to be started."""
        there = (self._folder / f"{self._name}-{bench}.json").exists()
        return self._known.get(self._name, {}).get(bench) if there else None

    def add(self, bench: str, points: int) -> None:
        self._known.setdefault(self._name, {})[bench] = points
        write_atomically(self._path, json.dumps(self._known) + "\n")


class Session:
    """Runs benches until the time is over."""

    def __init__(self, command: list[str], done: Done, minutes: float):
        """@param command  linkcast-bench and the options that all benches share"""
        self._command, self._done = command, done
        self._until = time.monotonic() + 60 * minutes
        self.wrong_data = False

    def run(self, bench: Bench, place: str) -> Run:
        """@param place  "3 of 11". @raises KeyboardInterrupt  after the record is complete on disk"""
        run = Run(bench)
        if (known := self._done.points(bench.name)) is not None:
            run.status, run.points, run.of = "complete", known, known
            return run
        left = self._until - time.monotonic()
        if left <= 0:
            run.reason = "the minutes were over"
            return run
        print(f"measure: {bench.name}, {place}: {bench.what}; {left:.0f} s left", file=sys.stderr, flush=True)
        begin = time.monotonic()
        code = self._watch(run)
        run.seconds = time.monotonic() - begin
        if code in (0, WRONG_DATA):
            self.wrong_data |= code == WRONG_DATA
            run.status, run.reason = "complete", ""
            self._done.add(bench.name, run.points)
        elif run.status != "incomplete":
            run.status, run.reason = "failed", run.reason or f"exit code {code}"
        return run

    def _watch(self, run: Run) -> int:
        """Shows what a bench says, and stops it when the time is over."""
        # A session of its own: Ctrl-C of the terminal is for this program, which ends the bench itself.
        with subprocess.Popen([*self._command, "--only", run.bench.name, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as process:
            def over() -> None:
                run.status, run.reason = "incomplete", "the minutes were over"
                ask_to_stop(process)

            timer = threading.Timer(max(0.0, self._until - time.monotonic()), over)
            timer.start()
            try:
                for line in process.stderr or ():
                    print(line, end="", file=sys.stderr, flush=True)
                    if found := POINTS.match(line):
                        run.points, run.of = (int(found["done"]),) * 2 if found["done"] else (int(found["at"]), int(found["of"]))
                    elif line.startswith("error: ") and not run.reason:
                        run.reason = line.removeprefix("error: ").strip()
                return process.wait()
            except BaseException:
                ask_to_stop(process)
                raise
            finally:
                timer.cancel()
