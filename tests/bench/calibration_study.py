#!/usr/bin/env python3
"""How often 90 % intervals hold a truth that is known: parameters are drawn from a shipped calibration, records of its design are drawn
from them by linkcast and fitted again.

    calibration_study.py --program PATH [--machine hgx-h200] [--draws 20] [--seed 1] [--names] [--within 0.8,0.98]

A draw is the truth: each parameter by its standard error and the correlations of the fit. What is fitted was recorded on another
occasion: each parameter differs by the part of its standard error that is neither covariance nor bootstrap. The noise of a record is its own: the error of the shipped forecast at each point, turned round at
random for all neighbours at once (one kind of point, one pair or communicator, sizes within a factor of 8; launches: one record),
and repetitions drawn again. Prints a row for each kind of parameter and forecast, with the share of the record's own points that the
shipped intervals hold (in sample); --names: of each parameter too. Exit code 4: with
--within, the share of a kind of 80 or more lies outside."""
from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Iterator

import numpy

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "calibrate/data"
PARAMS = ROOT / "models/params"
NINETY = 1.6448536  # standard deviations on either side that hold 90 % of a normal distribution
ENOUGH = 80         # points of a kind for a judgement
DIFFERS = 4

# As calibrate/data/refit.sh fits them, without what `validate` cannot forecast point by point (several messages of a process, pairs at
# once) and without inference engines, whose fit takes longest. `held_out`: records that no fit sees.
DESIGNS = {
    "p100-dgx1": {"records": ["p100-dgx1/p2p-message-size", "p100-dgx1/p2p-matrix"], "fit": ["--topology", "p100-dgx1"]},
    "hgx-h200": {"records": [f"hgx-h200/20261121a-{name}" for name in ("p2p_copy", "p2p_copy_single", "host_copy", "relay", "nccl_base")]
                 + ["hgx-h200/20261121c-host-nccl_ops", "hgx-h200/20261126b-nccl_base"],
                 "launches": [f"hgx-h200/{name}" for name in ("20261122c-launch", "20261123b-launch", "20261123c-launch", "20261123d-launch",
                                                              "20261122a-launch_pytorch", "20261122b-launch_pytorch",
                                                              "20261123b-launch_pytorch", "20261123c-launch_pytorch",
                                                              "20261123d-launch_pytorch")],
                 "held_out": ["hgx-h200/20261121b-nccl_ops"], "fit": ["--topology", "hgx-h200", "--library", "nccl-2.27"]},
    "abci-v100": {"records": [f"abci-v100x4/{name}" for name in ("p2p-matrix", "osu-latency", "nccl-2.8", "nccl-2.8-nodes",
                                                                 "mpi-all-reduce")],
                  "fit": ["--topology", "abci-v100", "--library", "nccl-2.8", "--inherit", "models/params/p100-dgx1.json"]},
    "summit": {"records": [f"summit/{name}" for name in ("p2p-same-socket", "mpi-gpu", "mpi-cpu", "mpi-all-reduce", "mpi-alltoall", "memcpy")],
               "fit": ["--topology", "summit", "--inherit", "models/params/abci-v100.json", "--inherit-library", "models/params/abci-v100.json"]},
}
MESSAGES = ("mpi", "gpudirect", "pinned", "unpinned")
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather", "scatter")
CALLS = ("process", "single_process", "pytorch")  # launches whose host time a forecast names
MEDIAN = 2                                        # of the five quantiles of a launch record


class Linkcast:
    def __init__(self, program: Path):
        self._program = str(program.resolve())

    def run(self, *words: object, stdin: str = "") -> str:
        done = subprocess.run([self._program, *map(str, words)], input=stdin, capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"linkcast {' '.join(map(str, words))[:300]}: {done.stderr[-500:]}")
        return done.stdout

    def points(self, record: Path, platform: Path) -> list[dict]:
        """Forecasts of a record, one a point."""
        comparison = json.loads(self.run("validate", "--against", record, "--platform", platform, "--json"))["comparisons"][0]
        if comparison["unanswered"]:
            raise RuntimeError(f"{record}: {comparison['unanswered'][0]}")
        return comparison["points"]

    def calls(self, launches: list[dict], platform: Path) -> list[dict]:
        """Forecasts of calls from rest."""
        queries = [{"kind": "collective", "platform": str(platform), "op": p["op"], "gpus": p["gpus"], "size_B": p["size_B"],
                    "launch": p["launch"], "calls": 1, "nvls": False} for p in launches]
        answers = [json.loads(line) for line in self.run("predict", "--batch", "-", stdin="".join(json.dumps(q) + "\n" for q in queries)).splitlines()]
        if wrong := [answer["error"] for answer in answers if "error" in answer]:
            raise RuntimeError(wrong[0])
        return answers


def load(path: Path) -> dict:
    return json.loads(path.read_text())


def is_own(parameter: dict) -> bool:
    """Of this machine's data, with an error."""
    return parameter["provenance"] in ("fitted", "believed") and parameter["stderr"] > 0 and parameter["value"] > 0


def spread(parameter: dict) -> float:
    return parameter["stderr"] / parameter["value"]


def drawn_machine(calibration: dict, rng: numpy.random.Generator) -> dict:
    """Another calibration as likely as this one."""
    names = [name for name, parameter in calibration["parameters"].items() if is_own(parameter)]
    place = {name: k for k, name in enumerate(names)}
    together = numpy.eye(len(names))
    stored = calibration.get("correlation", {"names": [], "lower": []})
    for row, name in enumerate(stored["names"]):
        for column, other in enumerate(stored["names"][:row]):
            if name in place and other in place:
                together[place[name], place[other]] = together[place[other], place[name]] = stored["lower"][row][column]
    values, vectors = numpy.linalg.eigh(together)  # rounded to two digits it may have a negative one
    normals = vectors @ (numpy.sqrt(numpy.maximum(values, 0)) * rng.standard_normal(len(names)))
    return moved(calibration, {name: spread(calibration["parameters"][name]) * z for name, z in zip(names, normals)})


def moved(calibration: dict, logs: dict[str, float]) -> dict:
    other = json.loads(json.dumps(calibration))
    for name, log in logs.items():
        other["parameters"][name]["value"] *= math.exp(log)
    return other


def occasion_of(machine: dict, calibration: dict, errors: dict, rng: numpy.random.Generator) -> dict:
    logs = {}
    for name, parts in errors.items():
        parameter = calibration["parameters"].get(name)
        if parameter and is_own(parameter):
            between = parameter["stderr"] ** 2 - max(parts["covariance"], parts.get("bootstrap", 0)) ** 2
            logs[name] = math.sqrt(max(0.0, between)) / parameter["value"] * rng.standard_normal()
    return moved(machine, logs)


class Noise:
    """Errors of a record: one sign for all neighbours."""

    def __init__(self, seed: int):
        self._rng, self._signs = random.Random(seed), {}

    def log(self, about: tuple, measured_s: float, modelled_s: float) -> float:
        sign = self._signs.setdefault(about, self._rng.choice((-1, 1)))
        return sign * math.log(measured_s / modelled_s)

    def again(self, repetitions: list[float]) -> list[float]:
        return [self._rng.choice(repetitions) for _ in repetitions]


def neighbours(point: dict) -> tuple:
    return point["transport"], point["variant"], point["ends"], int(math.log(point["size_B"], 8))


def synthetic_record(record: dict, shipped: list[dict], modelled: list[dict], noise: Noise) -> dict:
    written = json.loads(json.dumps(record))
    for point, before, now in zip(written["points"], shipped, modelled, strict=True):
        log = noise.log(neighbours(before), before["measured_s"], before["predicted_s"])
        factor = now["predicted_s"] * math.exp(log) / before["measured_s"]
        if "time_s" in point:
            point["time_s"] = [time * factor for time in noise.again(point["time_s"])]
        else:
            point["bandwidth_Bps"] = [rate / factor for rate in noise.again(point["bandwidth_Bps"])]
    return written


def is_call(point: dict) -> bool:
    return (point["launch"] in CALLS and point["op"] in COLLECTIVES[:7] and len(point["gpus"]) > 1 and point.get("sends", 1) == 1
            and point.get("communicators", 1) == 1 and not point.get("async") and not point.get("recording")
            and point.get("status", "ok") == "ok" and "rest_issue" in point.get("times_s", {}) and "rest" in point["times_s"])


def synthetic_launches(record: dict, shipped: list[dict], modelled: list[dict], noise: Noise) -> dict:
    """Times of the host; what is no call of a collective stays as measured."""
    written = json.loads(json.dumps(record))
    for point, before, now in zip(filter(is_call, written["points"]), shipped, modelled, strict=True):
        times = point["times_s"]
        issue_s = times["rest_issue"][MEDIAN]
        factor = now["host_s"] * math.exp(noise.log((record["id"], point["launch"]), issue_s, before["host_s"])) / issue_s
        times["rest"] = [time + (factor - 1) * issue_s for time in times["rest"]]
        for name in ("rest_issue", "issue", "steady", "short"):
            if name in times:
                times[name] = [time * factor for time in times[name]]
    return written


def ranges(parameters: dict) -> dict[str, tuple]:
    """By parameter, the sizes that its range ends at."""
    ends = {}
    for name in parameters:
        parts = name.rsplit(".", 2)
        if len(parts) == 3 and parts[1][:1] == "r" and parts[1][1:].isdigit():
            at = int(parts[1][1:])
            ends[name] = tuple(parameters.get(f"{parts[0]}.r{k}.to_B", {}).get("value") for k in (at - 1, at))
    return ends


def kind_of(name: str, unit: str) -> str:
    subject = name.split(".")
    if subject[0] == "launch":
        return "launches"
    if subject[0] in ("nccl", "mpi", "rccl", "custom"):
        return "collectives"
    what = "messages" if subject[0] == "transport" and subject[1].startswith(MESSAGES) else "copies"
    return f"{what}, {'start-ups' if unit == 's' else 'rates'}"


def judged_parameters(machine: dict, fitted: dict) -> Iterator[tuple[str, str, float]]:
    """Kind, name, and how far from the truth, in standard errors."""
    now, truth = fitted["parameters"], machine["parameters"]
    here, there = ranges(now), ranges(truth)
    for name, parameter in now.items():
        if not is_own(parameter) or name not in truth or not is_own(truth[name]) or here.get(name) != there.get(name):
            continue
        if name.startswith(("recording.", "host_memory.", "launch.copy", "launch.kernel", "launch.synchronise")) or name.endswith(".sigma"):
            continue  # their records are not drawn
        yield kind_of(name, parameter["unit"]), name, math.log(truth[name]["value"] / parameter["value"]) / spread(parameter)


def kind_of_point(point: dict, held_out: bool) -> str:
    if point["transport"] in COLLECTIVES:
        return "collectives, held out" if held_out else f"collectives{' between nodes' if 'nodes' in point['variant'] else ', one node'}"
    if point["transport"].startswith(MESSAGES):
        return "messages"
    return "copies in both directions, never fitted" if "both" in point["variant"] and point["transport"] != "host" else "copies"


def size_class(size_B: float) -> str:
    return "below 64 KiB" if size_B < 65536 else "64 KiB to 4 MiB" if size_B < 4194304 else "from 4 MiB"


def away(time_s: float, forecast_s: float, low_s: float, high_s: float) -> float:
    """Within an interval whose ends are that many standard deviations away, as its own side goes."""
    end_s = low_s if time_s < forecast_s else high_s
    return 0.0 if time_s == forecast_s else NINETY * math.log(time_s / forecast_s) / max(abs(math.log(end_s / forecast_s)), 1e-12)


class Study:
    def __init__(self, linkcast: Linkcast, machine: str, folder: Path):
        self.linkcast, self.design, self.folder = linkcast, DESIGNS[machine], folder
        self.own = PARAMS / f"{machine}.json"
        self.calibration = load(self.own)
        self.errors = load(PARAMS / "reports" / f"{machine}.json")["standard_errors"]
        self.records = {DATA / f"{name}.json": False for name in self.design["records"]}
        self.records |= {DATA / f"{name}.json": True for name in self.design.get("held_out", [])}
        self.launches = [DATA / f"{name}.json" for name in self.design.get("launches", [])]
        self.shipped = {path: linkcast.points(path, self.own) for path in self.records}
        self.calls = {path: list(filter(is_call, load(path)["points"])) for path in self.launches}
        self.shipped_calls = {path: linkcast.calls(calls, self.own) for path, calls in self.calls.items()}
        self.parameters: dict[str, list[tuple[str, float]]] = defaultdict(list)
        self.forecasts: dict[str, list[tuple[str, float]]] = defaultdict(list)
        self.refused = 0
        self.own_points: dict[str, list[bool]] = defaultdict(list)  # of the records themselves, in the shipped forecast's interval
        for path, held_out in self.records.items():
            for point in self.shipped[path]:
                self.own_points[kind_of_point(point, held_out)].append(point["low_s"] <= point["measured_s"] <= point["high_s"])
        for path, calls in self.calls.items():
            for call, answer in zip(calls, self.shipped_calls[path], strict=True):
                self.own_points["launches"].append(answer["time_low_s"] <= call["times_s"]["rest"][MEDIAN] <= answer["time_high_s"])

    def write(self, name: str, value: dict) -> Path:
        path = self.folder / name
        path.write_text(json.dumps(value))
        return path

    def draw(self, seed: int) -> None:
        rng = numpy.random.default_rng(seed)
        while True:
            machine = drawn_machine(self.calibration, rng)
            occasion = occasion_of(machine, self.calibration, self.errors, rng)
            paths = [self.write("occasion.json", occasion), self.write("machine.json", machine)]
            try:
                modelled = [{path: self.linkcast.points(path, truth) for path in self.records} for truth in paths]
                modelled_calls = [{path: self.linkcast.calls(calls, truth) for path, calls in self.calls.items()} for truth in paths]
                break
            except RuntimeError as error:  # a share above 1, a rate above the nominal one
                self.refused += 1
                if self.refused > 100 + 10 * len(self.forecasts):
                    raise error
        noise = Noise(seed)
        written = [self.write(path.name, synthetic_record(load(path), self.shipped[path], modelled[0][path], noise))
                for path, held_out in self.records.items() if not held_out]
        written += [self.write(path.name, synthetic_launches(load(path), self.shipped_calls[path], modelled_calls[0][path], noise))
                 for path in self.launches]
        fitted = self.folder / "fitted.json"
        self.linkcast.run("calibrate", "fit", *written, *self.design["fit"], "--out", fitted)
        for kind, name, by in judged_parameters(machine, load(fitted)):
            self.parameters[kind].append((name, by))
        noise = Noise(-1 - seed)
        for path, held_out in self.records.items():
            for before, truth, now in zip(self.shipped[path], modelled[1][path], self.linkcast.points(path, fitted), strict=True):
                time_s = truth["predicted_s"] * math.exp(noise.log(neighbours(before), before["measured_s"], before["predicted_s"]))
                what = f"{before['transport']} {before['variant']} of {size_class(before['size_B'])}"
                self.forecasts[kind_of_point(before, held_out)].append((what, away(time_s, now["predicted_s"], now["low_s"], now["high_s"])))
        for path, calls in self.calls.items():
            rows = zip(calls, self.shipped_calls[path], modelled_calls[1][path], self.linkcast.calls(calls, fitted), strict=True)
            for call, before, truth, now in rows:
                log = noise.log((path, call["launch"]), call["times_s"]["rest"][MEDIAN], before["time_s"])
                time_s = truth["time_s"] * math.exp(log)
                self.forecasts["launches"].append((f"launch {call['launch']} of {size_class(call['size_B'])}",
                                                   away(time_s, now["time_s"], now["time_low_s"], now["time_high_s"])))


def held(some: list[float]) -> float:
    return sum(abs(by) <= NINETY for by in some) / len(some)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/linkcast")
    parser.add_argument("--machine", choices=DESIGNS, action="append")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", action="store_true", help="a row of each parameter too")
    parser.add_argument("--within", help="least and largest share of a kind")
    o = parser.parse_args()
    outside = []
    print("| machine | intervals of | hold | of | record |\n| --- | --- | --- | --- | --- |")
    for machine in o.machine or DESIGNS:
        with tempfile.TemporaryDirectory() as folder:
            study = Study(Linkcast(o.program), machine, Path(folder))
            for k in range(o.draws):
                study.draw(1000 * o.seed + k)
        kinds = [("parameters: all", sum(study.parameters.values(), []))]
        kinds += [(f"parameters: {kind}", some) for kind, some in sorted(study.parameters.items())]
        kinds += [(f"forecasts: {kind}", some) for kind, some in sorted(study.forecasts.items())]
        for what, some in kinds:
            share, own = held([by for _, by in some]), study.own_points.get(what.removeprefix("forecasts: "))
            print(f"| {machine} | {what} | {100 * share:.1f} % | {len(some)} | {f'{100 * sum(own) / len(own):.1f} %' if own else ''} |", flush=True)
            if o.within and len(some) >= ENOUGH and not float(o.within.split(",")[0]) <= share <= float(o.within.split(",")[1]):
                outside.append(f"{machine}: {what}: {100 * share:.1f} %")
        of_name = defaultdict(list)
        for kind, some in kinds[1:]:
            for name, by in some:
                of_name[f"{kind}: {name}"].append(by)
        for name, some in sorted(of_name.items()) if o.names else ():
            print(f"  {name:80} {len(some):5} {100 * held(some):4.0f} % mean {numpy.mean(some):+.2f} rms {numpy.sqrt(numpy.mean(numpy.square(some))):.2f}")
        print(f"{machine}: {study.refused} draws that no machine can have", file=sys.stderr)
    print("".join(f"{line}\n" for line in outside), end="", file=sys.stderr)
    return DIFFERS if outside else 0


if __name__ == "__main__":
    sys.exit(main())
