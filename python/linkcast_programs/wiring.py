"""Searches for wirings of GPUs that serve job mixes better than a machine's own: `linkcast wiring` calls this program."""
from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import re
import sys
import textwrap
import time

from .batch_process import BatchProcess, Died
from .pace import refuse_long
from .records import InputError

DEFAULT_MIXES = ("8", "5+3", "4+4", "6+2", "2+2+2+2")  # of 8 GPUs; else all, halves and pairs
PROGRESS_S = 2.0
PACE_S = 1.0  # after which it is known what all steps take
COLUMNS = 80
Wiring = tuple[int, ...]  # cables of each pair, in the order of pairs_of()
Times = dict[tuple[int, ...], float]  # of a job on each set of GPUs, ascending


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--job", default="all_reduce:64MiB")
    parser.add_argument("--mix", action="append")
    parser.add_argument("--library")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    return parser.parse_args(arguments)


def mixes_of(gpus: int) -> tuple[str, ...]:
    if gpus == 8:
        return DEFAULT_MIXES
    return tuple(dict.fromkeys((str(gpus), "+".join([str(gpus // 2)] * 2) if gpus >= 4 else str(gpus), "+".join(["2"] * (gpus // 2)))))


def pairs_of(gpus: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(gpus), 2))


def degrees(wiring: Wiring, gpus: int) -> list[int]:
    sums = [0] * gpus
    for (a, b), count in zip(pairs_of(gpus), wiring, strict=True):
        sums[a] += count
        sums[b] += count
    return sums


def random_wiring(gpus: int, links: int, chance: random.Random) -> Wiring:
    """Every GPU has `links` cables, none to itself. @source  the pairing model: B. Bollobas, 1980"""
    number = {pair: i for i, pair in enumerate(pairs_of(gpus))}
    while True:
        ends = [gpu for gpu in range(gpus) for _ in range(links)]
        chance.shuffle(ends)
        counts = [0] * len(number)
        for a, b in zip(ends[::2], ends[1::2], strict=True):
            if a == b:
                break
            counts[number[min(a, b), max(a, b)]] += 1
        else:
            return tuple(counts)


def neighbours(wiring: Wiring, gpus: int) -> list[Wiring]:
    """Two cables a-b and c-d become a-c and b-d: what keeps all numbers of cables and changes fewest."""
    number = {pair: i for i, pair in enumerate(pairs_of(gpus))}
    present = [pair for pair, count in zip(pairs_of(gpus), wiring, strict=True) if count]
    changed = set()
    for first, second in itertools.combinations_with_replacement(present, 2):
        if first == second and wiring[number[first]] < 2:
            continue
        for c, d in (second, second[::-1]):
            a, b = first
            if a == c or b == d:
                continue
            counts = list(wiring)
            counts[number[first]] -= 1
            counts[number[second]] -= 1
            counts[number[min(a, c), max(a, c)]] += 1
            counts[number[min(b, d), max(b, d)]] += 1
            changed.add(tuple(counts))
    changed.discard(wiring)
    return sorted(changed)


def edits_of(wiring: Wiring, gpus: int, kind: str) -> list[str]:
    """Of a machine whose own cables of the kind are gone."""
    return [f"add gpu{a}-gpu{b}:{kind}:{count}" for (a, b), count in zip(pairs_of(gpus), wiring, strict=True) if count]


def text_of(wiring: Wiring, gpus: int) -> str:
    return " ".join(f"{a}-{b}" + (f"x{count}" if count > 1 else "")
                    for (a, b), count in zip(pairs_of(gpus), wiring, strict=True) if count)


def parse_mix(text: str, gpus: int) -> tuple[int, ...]:
    """ "4+4" to (4, 4). @raises ValueError"""
    parts = text.split("+")
    sizes = tuple(sorted((int(part) for part in parts if part.isdecimal()), reverse=True))
    if len(sizes) != len(parts) or any(size < 2 for size in sizes) or sum(sizes) > gpus:
        raise ValueError(f"'{text}' is no mix: jobs of at least 2 GPUs, {gpus} together, e.g. 4+4")
    return sizes


def best_of_mix(mix: tuple[int, ...], free: tuple[int, ...], times: Times, ideal: dict[int, float]) -> tuple[float, list[tuple[int, ...]]]:
    """The slowest of the mix's jobs, where it is placed best: its time over `ideal` of its size, and everybody's GPUs."""
    if not mix:
        return 0.0, []
    best: tuple[float, list[tuple[int, ...]]] = (float("inf"), [])
    fits = sum(mix) == len(free)
    for size in sorted(set(mix), reverse=True):
        rest = list(mix)
        rest.remove(size)
        # Where all GPUs are taken, some job has the first one: each way to place all is looked at once.
        for chosen in itertools.combinations(free, size):
            if fits and chosen[0] != free[0]:
                break
            own = times[chosen] / ideal[size]
            if own >= best[0]:
                continue
            left = tuple(gpu for gpu in free if gpu not in chosen)
            others, sets = best_of_mix(tuple(rest), left, times, ideal)
            if max(own, others) < best[0]:
                best = max(own, others), [chosen, *sets]
        if not fits:
            break
    return best


class Machine:
    """What linkcast forecasts for a wiring of the platform's GPUs."""

    def __init__(self, options: argparse.Namespace):
        self._options, self._process = options, BatchProcess(options.program, options.data_dir)
        shown = self._ask([{"kind": "show", "platform": options.platform}])[0]
        self.gpus = shown["gpus"]
        number = {pair: i for i, pair in enumerate(pairs_of(self.gpus))}
        counts, kinds = [0] * len(number), set()
        for cable in shown["cables"]:
            ends = cable["a"], cable["b"]
            if all(end.startswith("gpu") for end in ends):
                a, b = sorted(int(end[3:]) for end in ends)
                counts[number[a, b]] += cable["count"]
                kinds.add(cable["kind"])
        if len(kinds) != 1:
            raise InputError(f"--platform: {options.platform} has {len(kinds)} kinds of cables between GPUs; one is needed")
        self.kind, self.own = kinds.pop(), tuple(counts)
        self.links = max(degrees(self.own, self.gpus))
        if min(degrees(self.own, self.gpus)) != self.links:
            raise InputError(f"--platform: the GPUs of {options.platform} have different numbers of cables")

    def _ask(self, queries: list[dict]) -> list[dict]:
        try:
            lines = self._process.answers([json.dumps(query) for query in queries], time.monotonic() + 3600)
            answers = [json.loads(line) for some in lines for line in some]
        except Died as died:
            raise RuntimeError(f"linkcast ended with status {died.args[0]}") from None
        for answer in answers:
            if "error" in answer:
                raise InputError(re.sub(r"^- line \d+:\s*", "", answer["error"]))
        return answers

    def times(self, wiring: Wiring, sizes: list[int]) -> dict[tuple[int, ...], float]:
        """Of the job on every set of GPUs of these sizes, each forecast."""
        edits = [f"disable {self.kind}", *edits_of(wiring, self.gpus, self.kind)]
        base = {"kind": "place", "platform": self._options.platform, "job": self._options.job, "edits": edits, "top": 1_000_000}
        if self._options.library:
            base["library"] = self._options.library
        times = {}
        for answer in self._ask([{**base, "ranks": size} for size in sizes]):
            for row in answer["placements"]:
                times[tuple(sorted(row["gpus"]))] = row["time_s"]
        return times

    def close(self) -> None:
        self._process.kill()


class Judge:
    """How much longer than on the machine's own wiring the slowest job of each mix takes."""

    def __init__(self, machine: Machine, mixes: list[tuple[int, ...]]):
        self._machine, self.mixes = machine, mixes
        self._sizes = sorted({size for mix in mixes for size in mix})
        self._known: dict[Wiring, tuple[tuple[float, float], dict]] = {}
        times = machine.times(machine.own, self._sizes)
        self._ideal = {size: min(t for gpus, t in times.items() if len(gpus) == size) for size in self._sizes}
        self._own = {mix: self._slowest(mix, times) for mix in mixes}

    def _slowest(self, mix: tuple[int, ...], times: dict) -> float:
        return best_of_mix(mix, tuple(range(self._machine.gpus)), times, self._ideal)[0]

    def cost(self, wiring: Wiring) -> tuple[tuple[float, float], dict]:
        """(worst and mean ratio to the own wiring over the mixes), and the ratio of each mix."""
        if wiring not in self._known:
            times = self._machine.times(wiring, self._sizes)
            ratios = {mix: self._slowest(mix, times) / self._own[mix] for mix in self.mixes}
            self._known[wiring] = ((round(max(ratios.values()), 9), round(sum(ratios.values()) / len(ratios), 9)), ratios)
        return self._known[wiring]

    def looked_at(self) -> int:
        return len(self._known)

    def ranking(self) -> list[tuple[tuple[float, float], Wiring]]:
        return sorted((cost, wiring) for wiring, (cost, _) in self._known.items())


def search(machine: Machine, judge: Judge, steps: int, seed: int) -> None:
    """Downhill from the own wiring and then from random ones, until so many wirings were looked at."""
    chance = random.Random(seed)
    start, said = time.monotonic(), time.monotonic()
    current, judged = machine.own, False
    judge.cost(current)
    while judge.looked_at() < steps:
        options = neighbours(current, machine.gpus)
        chance.shuffle(options)
        better = None
        for option in options:
            if judge.looked_at() >= steps:
                break
            if judge.cost(option)[0] < judge.cost(current)[0]:
                better = option
                break
            if not judged and (spent := time.monotonic() - start) > PACE_S:
                judged = True
                refuse_long("wiring", steps, "wirings", spent / judge.looked_at() * steps)
            if time.monotonic() - said > PROGRESS_S:
                said = time.monotonic()
                rate = judge.looked_at() / (said - start)
                best = judge.ranking()[0][0]
                print(f"wiring: {judge.looked_at()} of {steps}, {rate:.3g} a second, best worst case {best[0]:.3f}", file=sys.stderr)
        current = better or random_wiring(machine.gpus, machine.links, chance)


def report(machine: Machine, judge: Judge, options: argparse.Namespace) -> dict:
    def row(wiring: Wiring) -> dict:
        (worst, mean), ratios = judge.cost(wiring)
        return {"wiring": text_of(wiring, machine.gpus), "edits": [f"disable {machine.kind}", *edits_of(wiring, machine.gpus, machine.kind)],
                "worst": worst, "mean": mean, "mixes": {"+".join(map(str, mix)): ratio for mix, ratio in ratios.items()}}

    best: list[dict] = []
    for cost, wiring in judge.ranking():  # of wirings of one cost, which are mostly one another's images, the first
        if len(best) < options.top and (not best or (best[-1]["worst"], best[-1]["mean"]) != cost):
            best.append(row(wiring))
    return {"platform": options.platform, "job": options.job, "kind": machine.kind, "links": machine.links, "gpus": machine.gpus,
            "seed": options.seed, "looked_at": judge.looked_at(), "own": row(machine.own), "best": best,
            "warnings": ["ratios of forecast times to those on the machine's own wiring: below 1 is better; the search is "
                         "downhill with restarts, so that a better wiring may exist"]}


def named_rows(result: dict) -> list[tuple[str, dict]]:
    return [("own", result["own"]), *((str(i + 1), row) for i, row in enumerate(result["best"]))]


def print_csv(result: dict) -> None:
    mixes = list(result["own"]["mixes"])
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(["name", "worst", "mean", *(f"mixes.{mix}" for mix in mixes), "wiring", "edits"])
    for name, row in named_rows(result):
        lines.writerow([name, row["worst"], row["mean"], *(row["mixes"][mix] for mix in mixes), row["wiring"], "; ".join(row["edits"])])


def print_report(result: dict) -> None:
    mixes = list(result["own"]["mixes"])
    print(textwrap.fill(f"{result['job']} on {result['gpus']} GPUs with {result['links']} cables {result['kind']} each: time of the "
                        "slowest job of a mix, placed best, over that on the machine's own wiring", COLUMNS))
    rows = [["", "worst", "mean", *mixes]]
    for name, row in named_rows(result):
        rows.append([name, f"{row['worst']:.3f}", f"{row['mean']:.3f}", *(f"{row['mixes'][mix]:.3f}" for mix in mixes)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)))
    print("wirings, GPU-GPU of each cable")
    for name, row in named_rows(result):
        print(textwrap.fill(row["wiring"], COLUMNS, initial_indent=f"{name:>3}  ", subsequent_indent=" " * 5, break_on_hyphens=False))
    print(f"{result['looked_at']} wirings looked at")
    for line in result["warnings"]:
        print(f"warning: {line}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    machine = None
    try:
        if ":" not in options.job:
            raise InputError(f"--job: '{options.job}' is not OP:SIZE, e.g. all_reduce:64MiB")
        machine = Machine(options)
        try:
            mixes = [parse_mix(text, machine.gpus) for text in options.mix or mixes_of(machine.gpus)]
        except ValueError as error:
            raise InputError(f"--mix: {error}") from None
        judge = Judge(machine, mixes)
        try:
            search(machine, judge, options.steps, options.seed)
        except KeyboardInterrupt:  # what was found is worth more than nothing
            print("wiring: interrupted, these are the best until now", file=sys.stderr)
        result = report(machine, judge, options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:
        if machine:
            machine.close()
    if options.format == "json":
        print(json.dumps(result, indent=2))
    elif options.format == "csv":
        print_csv(result)
    else:
        print_report(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
