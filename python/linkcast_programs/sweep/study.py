"""A study: a base query, axes, what is left out, the scenarios that follow from them, and the portions in which workers get them."""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..records import Node, parse, read_text
from .scenarios import Axis, Lines, Scenario, Scenarios, as_value, read_axis

SCHEMA = "linkcast/study/1"
KEYS = ("schema", "name", "about", "query", "axes", "skip", "plots")
MOST_SCENARIOS = 10_000_000
COUNTED = ("gpus", "gpus_per_node", "nodes", "placement", "ranks")  # last words of keys that say which GPUs take part
# Keys of what a linkcast process builds once and keeps: neighbours share them.
KEPT_FOR = ("platform", "edits", "kind", "library", "trace", "options", "nodes", "gpus_per_node", "gpus")
MOST_A_CHUNK = 16384
CHUNKS_A_WORKER = 8  # so that all end at about the same time

Chunk = np.ndarray  # numbers of scenarios


@dataclass(frozen=True)
class Plot:
    """y over x, a line for each value of by; over the other axes the median, and a band from the least to the most.

    where: only these values of some axes."""
    x: str
    y: str
    by: str
    where: dict[str, list[Any]]


@dataclass(frozen=True)
class Study:
    file: str
    name: str
    about: str
    axes: list[Axis]
    plots: list[Plot]
    base: dict[str, Any]
    scenarios: Scenarios

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.base, [(axis.key, axis.values) for axis in self.axes])

    def query_of(self, scenario: Scenario) -> dict[str, Any]:
        return self.lines.query(scenario.positions)

    @cached_property
    def digest(self) -> str:
        """Of what is asked, in order: names and plots may change between two runs."""
        asked = [self.base, self.scenarios.digest_text()]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def values_of(self, key: str) -> list[Any]:
        """All that a key of the query takes in this study."""
        axis = next((axis for axis in self.axes if axis.key == key), None)
        return axis.values if axis else [self.base[key]] if key in self.base else []

    def pointer_of(self, scenario: Scenario, in_query: str) -> str:
        """Where the study says what stands at a place of a scenario's query."""
        for i, axis in enumerate(self.axes):
            place = "/" + axis.key.replace(".", "/")
            if in_query == place or in_query.startswith(place + "/"):
                return f"/axes/{axis.key}/{axis.values.index(scenario.point[i])}{in_query[len(place):]}"
        return "/query" + in_query


def counts_gpus(axes: list[Axis]) -> bool:
    """Whether scenarios may differ in how many GPUs take part: the table says how many, as the answers do."""
    return any(axis.key.rpartition(".")[2] in COUNTED for axis in axes)


def _name(node: Node) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", node.text()):
        raise node.fail("must be letters, digits, '-', '_' and '.': it names the folder of the results")
    return node.value


def _query(node: Node, axes: list[Axis]) -> dict[str, Any]:
    query = {}
    for key, item in node.entries():
        if key == "id":
            raise item.fail("not here: scenarios are numbered")
        if any(axis.key == key for axis in axes):
            raise item.fail("is an axis too: give it once")
        if key == "explain":
            raise item.fail("not here: a table has no column for terms: ask linkcast predict about single scenarios")
        query[key] = as_value(key, item)
    return query


def _axes(node: Node) -> list[Axis]:
    axes = [read_axis(key, item) for key, item in node.entries()]
    if not axes:
        raise node.fail("a study needs at least one axis")
    for axis in axes:
        if axis.key in ("id", "explain", "") or any(other.key.startswith(axis.key + ".") for other in axes):
            raise node[axis.key].fail("cannot be an axis")
    return axes


def _part(node: Node, axes: list[Axis]) -> dict[str, list[Any]]:
    """Some values of some axes: a smaller cross product."""
    part = {}
    for key, values in node.entries():
        axis = next((axis for axis in axes if axis.key == key), None)
        if axis is None:
            raise values.fail(f"is no axis: one of {', '.join(axis.key for axis in axes)}")
        part[key] = read_axis(key, values).values
        for value in part[key]:
            if value not in axis.values:
                raise values.fail(f"{json.dumps(value)} is not on the axis")
    if not part:
        raise node.fail("names no axis")
    return part


def _plots(node: Node | None, axes: list[Axis]) -> list[Plot]:
    names = [axis.key for axis in axes]
    if counts_gpus(axes):
        names.append("gpu_count")
    plots = []
    for item in node.items() if node else []:
        item.only("x", "y", "by", "where")
        x = item["x"].choice(names)
        by = item["by"].choice(names) if item.has("by") else ""
        if by == x:
            raise item["by"].fail("is x already")
        where = _part(item["where"], axes) if item.has("where") else {}
        plots.append(Plot(x, item["y"].text(), by, where))
    return plots


def _check_outer(base: dict[str, Any], axes: list[Axis], node: Node) -> None:
    for axis in axes:
        outer = axis.key.split(".")[0]
        if "." in axis.key and not isinstance(base.get(outer, {}), dict):
            raise node[outer].fail(f"must be an object: {axis.key} is an axis")


def read_study(path: str) -> Study:
    study = parse(read_text(path), path)
    study.only(*KEYS)
    if study["schema"].text() != SCHEMA:
        raise study["schema"].fail(f"'{study['schema'].value}' is not known: {SCHEMA}")
    name = _name(study["name"])
    axes = _axes(study["axes"])
    base = _query(study["query"], axes) if study.has("query") else {}
    if base:
        _check_outer(base, axes, study["query"])
    total = 1
    for axis in axes:
        total *= len(axis.values)
    if total > MOST_SCENARIOS:
        raise study["axes"].fail(f"{total} combinations, at most {MOST_SCENARIOS}")
    skips = [_part(item, axes) for item in study["skip"].items()] if study.has("skip") else []
    scenarios = Scenarios(axes, skips)
    if not len(scenarios):
        raise study["skip"].fail("leaves nothing")
    about = study["about"].text() if study.has("about") else ""
    return Study(path, name, about, axes, _plots(study.get("plots"), axes), base, scenarios)


def chunks_of(study: Study, waiting: np.ndarray, workers: int) -> list[Chunk]:
    """Scenarios that a process answers from the same tables lie together.

    @param waiting  numbers, in order"""
    at = study.scenarios.positions(waiting)
    by = [at[:, i] for key in KEPT_FOR for i, axis in enumerate(study.axes) if axis.key.split(".")[0] == key]
    if by:
        waiting = waiting[np.lexsort(by[::-1])]  # the last key is the first; stable
    size = max(1, min(MOST_A_CHUNK, len(waiting) // (workers * CHUNKS_A_WORKER)))
    return [waiting[start:start + size] for start in range(0, len(waiting), size)]


def questions_of(study: Study, chunk: Chunk) -> Iterator[str]:
    return study.lines.lines(study.scenarios.positions(chunk))
