"""Random questions, what must hold of their answers, and smaller questions of which it may fail too."""
from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))
import queries as corpus_queries  # noqa: E402
from machines import WITH_FABRIC, WITH_PAIRS, Machine  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
Query = dict[str, Any]
Answers = list[dict[str, Any]]
ROUNDING = 1e-6  # source: ours, of times that are sums of some thousand terms
ALIGNED_B = 16
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "gather", "scatter", "sendrecv")
CHOICES = ("algorithm", "protocol", "transport", "via", "route", "channels", "blocks", "rounds", "engine", "timing")


@dataclass(frozen=True)
class Case:
    kind: str  # of PROPERTIES
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Property:
    what: str
    make: Callable[[random.Random], Case]
    judge: Callable[[Answers], str]  # empty: it holds


def size_of(rng: random.Random) -> int:
    return int(2 ** rng.uniform(3, 33))


def collective(rng: random.Random) -> Query:
    if rng.random() < 0.2:
        machine = rng.choice([machine for machine in WITH_FABRIC if machine.gpus > 1])
        nodes = rng.randint(2, min(32, machine.nodes))
        return {"kind": "collective", "platform": machine.name, "op": rng.choice(OPERATIONS), "nodes": nodes, "size_B": size_of(rng)}
    machine = rng.choice(WITH_PAIRS)
    gpus = rng.sample(range(machine.gpus), rng.randint(2, min(machine.gpus, 8)))
    return {"kind": "collective", "platform": machine.name, "op": rng.choice(OPERATIONS), "gpus": gpus, "size_B": size_of(rng)}


def pair(rng: random.Random) -> Query:
    machine = rng.choice(WITH_PAIRS)
    src, dst = rng.sample(range(machine.gpus), 2)
    more = rng.choice(({}, {}, {"engine": "sm"}, {"transport": "staged"}, {"direction": "read"}, {"timing": "single"}))
    return {"kind": "p2p", "platform": machine.name, "src": f"gpu{src}", "dst": f"gpu{dst}", "size_B": size_of(rng), **more}


def flows(rng: random.Random, machine: Machine | None = None) -> Query:
    machine = machine or rng.choice(WITH_PAIRS)
    ends = [rng.sample(range(machine.gpus), 2) for _ in range(rng.randint(2, 6))]
    return {"kind": "flows", "platform": machine.name, "flows": [[f"gpu{a}", f"gpu{b}", size_of(rng)] for a, b in ends]}


def any_query(rng: random.Random) -> Query:
    return rng.choice((collective, pair, flows))(rng)


def slower(one: dict, other: dict) -> bool:
    return one["time_s"] > other["time_s"] * (1 + ROUNDING)


def never_less(answers: Answers) -> str:
    small, large = answers
    return f"{large['time_s']:.9g} s of the larger, {small['time_s']:.9g} s of the smaller" if slower(small, large) else ""


def aligned(query: Query, size_B: float) -> int:
    """Parts of whole 16 bytes: a kernel moves others by smaller accesses, and slower (sim/forecast/alignment.cpp)."""
    machine = next(machine for machine in WITH_PAIRS if machine.name == query["platform"])
    step = ALIGNED_B * len(query.get("gpus", range(machine.gpus))) * query.get("nodes", 1)
    return max(1, round(size_B / step)) * step


def larger(rng: random.Random) -> Case:
    query = rng.choice((collective, pair))(rng)
    small, large = (aligned(query, query["size_B"] * factor) for factor in (1, rng.choice((1.01, 1.5, 2, 10))))
    return Case("size", ({**query, "size_B": small}, {**query, "size_B": large}))


def more_bandwidth(rng: random.Random) -> Case:
    query = rng.choice((pair, flows, collective))(rng)
    machine = next(machine for machine in WITH_PAIRS if machine.name == query["platform"])
    kinds = [edit.split()[1].split(":")[0] for edit in machine.edits if edit.startswith("scale ")]
    if not kinds:
        return more_bandwidth(rng)
    return Case("bandwidth", ({**query, "edits": [f"scale {rng.choice(kinds)}:{rng.choice((1.1, 2, 4))}"]}, query))


def no_slower(answers: Answers) -> str:
    fast, base = answers
    return f"{fast['time_s']:.9g} s with more bandwidth, {base['time_s']:.9g} s without" if slower(fast, base) else ""


def fewer(rng: random.Random) -> Case:
    query = flows(rng)  # out of one GPU or into one: where several links are shared, fair shares can speed others up
    end, hub = rng.randrange(2), query["flows"][0]
    query["flows"] = [[hub[0], flow[1], flow[2]] if end == 0 else [flow[0], hub[1], flow[2]] for flow in query["flows"]]
    query["flows"] = [flow for flow in query["flows"] if flow[0] != flow[1]] + [hub]
    once = list({flow[1 - end]: flow for flow in query["flows"]}.values())
    if rng.random() < 0.5 and len(once) > 1:  # then copies wait for an engine only where they go through the host
        query["flows"] = once
    left = rng.randrange(len(query["flows"]))
    return Case("neighbours", (query, {**query, "flows": query["flows"][:left] + query["flows"][left + 1:]}))


def not_longer(answers: Answers) -> str:
    many, few = answers
    return f"{few['time_s']:.9g} s without a flow, {many['time_s']:.9g} s with it" if slower(few, many) else ""


def both_ways(rng: random.Random) -> Case:
    query = pair(rng)
    back = {**query, "src": query["dst"], "dst": query["src"]}
    return Case("directions", ({**query, "bidirectional": True}, query, back))


def not_faster_than_one(answers: Answers) -> str:
    both, one, back = answers
    alone_s = max(one["time_s"], back["time_s"])
    return f"{both['time_s']:.9g} s both ways, {alone_s:.9g} s the slower one alone" if both["time_s"] < alone_s * (1 - ROUNDING) else ""


def held(rng: random.Random) -> Case:
    return Case("interval", (any_query(rng),))


def holds_value(answers: Answers) -> str:
    low, value, high = (answers[0][key] for key in ("time_low_s", "time_s", "time_high_s"))
    return "" if 0 <= low <= value <= high else f"{value:.9g} s in {low:.9g} to {high:.9g}"


def unedited(rng: random.Random) -> Case:
    query = any_query(rng)
    return Case("identity", (query, {**query, "edits": []}, query))


def the_same(answers: Answers) -> str:
    first = {key: value for key, value in answers[0].items() if key != "inputs"}
    for other in answers[1:]:
        for key, value in other.items():
            if key != "inputs" and first.get(key) != value:
                return f"{key}: {first.get(key)} and {value}"
    return ""


def placed(rng: random.Random) -> Case:
    machine = rng.choice([machine for machine in WITH_PAIRS if machine.gpus <= 8])
    ranks, size = rng.randint(2, machine.gpus), size_of(rng)
    gpus = sorted(rng.sample(range(machine.gpus), ranks))
    busy = [gpu for gpu in range(machine.gpus) if gpu not in gpus]
    return Case("placement", ({"kind": "place", "platform": machine.name, "job": f"all_reduce:{size}B", "ranks": ranks, "busy": busy, "top": 1},
                              {"kind": "collective", "platform": machine.name, "op": "all_reduce", "gpus": gpus, "size_B": size}))


def no_worse_than_the_order(answers: Answers) -> str:
    best, asked = answers
    return f"{best['time_s']:.9g} s placed, {asked['time_s']:.9g} s in the order of numbers" if slower(best, asked) else ""


def carried(rng: random.Random) -> Case:
    query = pair(rng)
    return Case("bound", (query, {"kind": "show", "platform": query["platform"]}))


def above_the_wire(answers: Answers) -> str:
    copy, shown = answers
    if copy.get("transport") != "peer" or not copy.get("route"):
        return ""
    rate = {cable["id"]: cable["count"] * cable["bandwidth_Bps"] for cable in shown["cables"]}
    ends = {frozenset((cable["a"], cable["b"])): cable["id"] for cable in shown["cables"]}
    for hop in copy["route"]:
        cable = ends.get(frozenset(hop.split("->")))
        if cable and copy["bandwidth_Bps"] > rate[cable] * (1 + ROUNDING):
            return f"{copy['bandwidth_Bps']:.6g} B/s over {cable} of {rate[cable]:.6g} B/s"
    return ""


def wire_case(rng: random.Random) -> Case:
    query = rng.choice((collective, pair))(rng)
    return Case("wire", (query, {"kind": "show", "platform": query["platform"]}))


def bytes_per_s(text: str) -> float:
    """"12.5 GB/s", as topologies write it."""
    value, unit = re.fullmatch(r"([\d.]+) ?([kMGT]?)B/s", text).groups()  # type: ignore[union-attr]
    return float(value) * 1000 ** " kMGT".index(unit or " ")


@functools.cache
def port_Bps(platform: str) -> float:
    """Nominal, of a NIC's cable to the fabric; infinity where the file of the machine leaves the fabric to another."""
    fabric = json.loads((ROOT / "topologies" / f"{platform}.json").read_text()).get("fabric")
    return bytes_per_s(fabric["links"]["host"]["bandwidth"]) if fabric and "host" in fabric.get("links", {}) else math.inf


def least_of_parts(query: Query, parts: int) -> float:
    """Bytes that the fullest of so many parts, each with as many ranks, sends or receives at least, whatever the algorithm."""
    size_B, op = query["size_B"], query["op"]
    return size_B if op in ("broadcast", "reduce", "sendrecv") else size_B * (parts - 1) / parts


def wires_s(query: Query, cables: list[dict[str, Any]]) -> float:
    """Least time that data sheets allow: bytes of a GPU over all of its cables, or of a node over all of its NICs, all the others are free."""
    def rate(device: str) -> float:
        return sum(cable["count"] * cable["bandwidth_Bps"] for cable in cables if device in (cable["a"], cable["b"]))

    def least(devices: list[str]) -> float:
        return min(rate(device) for device in devices)
    if query["kind"] == "p2p":
        return query["size_B"] / least([query["src"], query["dst"]])
    if "nodes" not in query:
        gpus = [f"gpu{gpu}" for gpu in query["gpus"]]
        return least_of_parts(query, len(gpus)) / max(map(rate, gpus))
    nics = {end for cable in cables for end in (cable["a"], cable["b"]) if end.startswith("nic")}
    into = sum(min(rate(nic), port_Bps(query["platform"])) for nic in nics)
    return least_of_parts(query, query["nodes"]) / into if query["op"] != "sendrecv" else 0


def low_end_on_the_wires(answers: Answers) -> str:
    """Where a measured rate exceeds the data sheet the time itself does: the interval begins at it."""
    found, shown = answers
    bound = min(wires_s(found["inputs"]["query"], shown["cables"]), found["time_s"])
    return f"from {found['time_low_s']:.6g} s, and the wires need {bound:.6g} s" if found["time_low_s"] < bound * (1 - ROUNDING) else ""


@functools.cache
def corpus() -> list[Query]:
    """Of its queries those that have a time and are no deliberate mistake."""
    read = []
    for line in corpus_queries.lines():
        with contextlib.suppress(ValueError):
            read.append(json.loads(line))
    return [query for query in read if isinstance(query, dict) and query.get("kind") in ("p2p", "flows", "collective")
            and isinstance(query.get("platform"), str) and not str(query.get("id", "wrong")).startswith("wrong")]


def from_corpus(rng: random.Random) -> Case:
    query = rng.choice(corpus())
    return Case("ends", (query, {"kind": "show", "platform": query["platform"], "edits": query.get("edits", [])}))


FARTHEST = 10  # times the time itself


def ends_promised(answers: Answers) -> str:
    """Lower ends of copies between GPUs and of collectives; a fabric of the query's own says elsewhere what its cables carry."""
    found, query = answers[0], answers[0]["inputs"]["query"]
    gpus = query["kind"] == "collective" or (all(query.get(end, "").startswith("gpu") for end in ("src", "dst")) and query["src"] != query["dst"])
    elsewhere = "fabric" in query or any(edit.split()[0] in ("fabric", "network") for edit in query.get("edits", ()))
    if gpus and "size_B" in query and not elsewhere:
        if why := low_end_on_the_wires(answers):
            return why
    far = found["time_high_s"] / found["time_s"]
    return f"to {far:.3g} times its time, and no warning says so" if far > FARTHEST and not any("interval" in text for text in found["warnings"]) else ""


PROPERTIES = {
    "ends": Property("corpus: no lower end beats the wires, no upper end beyond 10 times the time without a warning", from_corpus, ends_promised),
    "wire": Property("no lower end beats the wires", wire_case, low_end_on_the_wires),
    "size": Property("time never falls with size", larger, never_less),
    "bandwidth": Property("more bandwidth never slows", more_bandwidth, no_slower),
    "neighbours": Property("fewer neighbours, out of one GPU or into one, never slow the whole", fewer, not_longer),
    "directions": Property("two directions are never faster than the slower one alone", both_ways, not_faster_than_one),
    "interval": Property("the interval holds the value", held, holds_value),
    "identity": Property("no edit, and asked again: the same answer", unedited, the_same),
    "placement": Property("place finds nothing worse than the order of the numbers", placed, no_worse_than_the_order),
    "bound": Property("no copy beats the wires on its way", carried, above_the_wire),
}


def chose_otherwise(answers: Answers) -> str:
    """What a library chose differently for questions that should differ in nothing else."""
    return ", ".join(f"{key} {str(one)[:40]} and {str(two)[:40]}" for key in CHOICES
                     for one, two in itertools.islice(zip([a.get(key) for a in answers], [a.get(key) for a in answers[1:]]), 1)
                     if one != two and (one is not None and two is not None or answers[0]["kind"] == answers[1]["kind"]))


WAITING = "copies wait for their copy engine and the hardware picks the first"


def picked_by_hardware(case: Case, answers: Answers) -> str:
    """Several copies wait for one copy engine, and an answer is the median of random orders, of which a copy more or a
    faster link makes others the middle one. By no more than what each answer says that it is unsure of."""
    if case.kind not in ("neighbours", "bandwidth") or not any(WAITING in warning for answer in answers for warning in answer["warnings"]):
        return ""
    one, other = answers
    near = one["time_s"] <= other["time_high_s"] and other["time_s"] <= one["time_high_s"]
    return "copies wait for a copy engine, and other orders are the middle ones" if near else ""


def alone(case: Case, answers: Answers) -> list[Case]:
    """Of flows of which a faster link made some slower and some faster: each that became slower, without the others."""
    if case.kind != "bandwidth":
        return []
    fast, base = case.queries
    times = list(zip(*(answer.get("flow_times_s", ()) for answer in answers)))
    if fast["kind"] != "flows" or not any(a < b * (1 - ROUNDING) for a, b in times):
        return []
    return [Case(case.kind, ({**fast, "flows": [flow]}, {**base, "flows": [flow]}))
            for flow, (a, b) in zip(base["flows"], times) if a > b * (1 + ROUNDING)]


def smaller(case: Case) -> Iterator[Case]:
    """The same questions of rounder sizes, fewer GPUs, flows, nodes and options."""
    first = case.queries[0]
    if len({query["kind"] for query in case.queries}) > 1 or case.kind not in PROPERTIES:
        return  # questions of several kinds have little in common that could be left out
    for key in ("engine", "direction", "timing"):
        if key in first:
            yield Case(case.kind, tuple({k: v for k, v in query.items() if k != key} for query in case.queries))
    if len(first.get("gpus", ())) > 2 and case.kind != "placement":
        for at in range(len(first["gpus"])):
            yield Case(case.kind, tuple({**query, "gpus": query["gpus"][:at] + query["gpus"][at + 1:]} for query in case.queries))
    if first.get("nodes", 0) > 2:
        for nodes in (2, first["nodes"] // 2, first["nodes"] - 1):
            yield Case(case.kind, tuple({**query, "nodes": nodes} for query in case.queries))
    if "size_B" in first and case.kind != "placement":
        step = aligned(first, 1) if case.kind == "size" else 1
        for size in (2 ** (first["size_B"].bit_length() - 1), first["size_B"] // 2):
            if 8 <= size < first["size_B"]:
                yield Case(case.kind, tuple({**query, "size_B": max(1, query["size_B"] * size // first["size_B"] // step) * step} if "size_B" in query else query for query in case.queries))
    if case.kind == "neighbours":
        kept = case.queries[1]["flows"]
        gone = [flow for flow in first["flows"] if flow not in kept] or first["flows"][-1:]
        for at in range(len(kept)):
            rest = kept[:at] + kept[at + 1:]
            if rest:
                yield Case(case.kind, ({**first, "flows": rest + gone}, {**first, "flows": rest}))
