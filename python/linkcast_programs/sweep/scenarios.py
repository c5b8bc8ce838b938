"""Axes of a study, and its scenarios: points of their cross product, numbered in its order, and their questions. Points are computed, not kept."""
from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..records import Node, kind_of
from ..units import LARGEST_B, UnitError, parse_bytes

MOST_VALUES = 1_000_000
MOST_MEMBERS = 1024  # far more GPUs than a node has
MOST_NUMBERS = 10_000_000  # in all subsets of an axis


@dataclass(frozen=True)
class Axis:
    """One key of the query and its values. A key with a dot reaches into an object: options.batch."""
    key: str
    values: list[Any]


def is_size(key: str) -> bool:
    return key.rpartition(".")[2].endswith("_B")


def as_size(node: Node) -> int | float:
    """A size in bytes, as a number or as text with a unit."""
    if kind_of(node.value) != "string":
        size = node.number()
        if size != int(size) or not 1 <= size <= LARGEST_B:
            raise node.fail("must be a whole number of bytes from 1 to 2^53")
        return int(size)
    try:
        return parse_bytes(node.value)
    except UnitError as error:
        raise node.fail(str(error)) from None


def as_value(key: str, node: Node) -> Any:
    return as_size(node) if is_size(key) else node.value


def _geometric(key: str, node: Node) -> list[Any]:
    """{"from", "to", "factor"}: from, from * factor, ... up to and with to."""
    node.only("from", "to", "factor")
    first, last = (as_size(node[end]) if is_size(key) else node[end].whole() for end in ("from", "to"))
    if last > LARGEST_B:
        raise node["to"].fail("must be at most 2^53")
    factor = node["factor"].number()
    if factor <= 1:
        raise node["factor"].fail("must be greater than 1")
    if first < 1 or last < first:
        raise node["to"].fail("must not be less than from, and both at least 1")
    values = []
    while first <= last and len(values) <= MOST_VALUES:
        values.append(first)
        first = max(first + 1, round(min(first * factor, 2 * LARGEST_B)))
    return values


def _subsets(node: Node) -> list[list[int]]:
    """{"subsets_of": 8 or [list], "sizes": [2, 3]}: each subset of these numbers, in lexical order, small ones first."""
    node.only("subsets_of", "sizes")
    of = node["subsets_of"]
    if kind_of(of.value) == "array":
        members = [item.whole() for item in of.items()]
        if len(set(members)) < len(members):
            raise of.fail("names a number twice")
    else:
        if not 1 <= of.whole() <= MOST_MEMBERS:
            raise of.fail(f"must be from 1 to {MOST_MEMBERS}")
        members = list(range(of.whole()))
    sizes = [size for size in node["sizes"].items()]
    for size in sizes:
        if not 1 <= size.whole() <= len(members):
            raise size.fail(f"must be from 1 to {len(members)}")
    if sum(math.comb(len(members), size.whole()) * size.whole() for size in sizes) > MOST_NUMBERS:
        raise node.fail(f"more than {MOST_NUMBERS} numbers in all its subsets")
    each = (itertools.combinations(members, size.whole()) for size in sizes)
    return [list(subset) for subset in itertools.chain(*each)]


def type_of(value: Any) -> str:
    if isinstance(value, list):
        inner = sorted({type_of(item) for item in value})
        return "array" if not inner else "array of " + ", ".join(inner)
    return kind_of(value)


def read_axis(key: str, node: Node) -> Axis:
    if kind_of(node.value) == "object":
        values = _subsets(node) if node.has("subsets_of") else _geometric(key, node)
    else:
        values = [as_value(key, item) for item in node.items()]
    if not values:
        raise node.fail("an axis needs at least one value")
    if len(values) > MOST_VALUES:
        raise node.fail(f"more than {MOST_VALUES} values")
    seen = set()
    for i, value in enumerate(values):
        text = json.dumps(value, sort_keys=True)
        if text in seen:
            where = node.items()[i] if kind_of(node.value) == "array" else node
            raise where.fail(f"{text} is given twice")
        seen.add(text)
    return Axis(key, values)


Skip = dict[str, list[Any]]


@dataclass(frozen=True)
class Scenario:
    """One point of the study: of each axis the position of its value, and the value."""
    number: int
    positions: tuple[int, ...]
    point: tuple[Any, ...]


class Scenarios(Sequence):
    def __init__(self, axes: list[Axis], skips: list[Skip]):
        self._axes, self._skips = axes, skips
        self._shape = tuple(len(axis.values) for axis in axes)
        self._kept = self._left(skips) if skips else None

    def _left(self, skips: list[Skip]) -> np.ndarray:
        """Places in the whole product of what no skip leaves out."""
        total = int(np.prod(self._shape, dtype=np.int64))
        left_out = np.zeros(total, dtype=bool)
        at = np.unravel_index(np.arange(total), self._shape)
        for skip in skips:
            hit = np.ones(total, dtype=bool)
            for axis, positions in zip(self._axes, at):
                if axis.key in skip:
                    hit &= np.isin(positions, [i for i, value in enumerate(axis.values) if value in skip[axis.key]])
            left_out |= hit
        return np.flatnonzero(~left_out)

    def __len__(self) -> int:
        return int(np.prod(self._shape, dtype=np.int64)) if self._kept is None else len(self._kept)

    def positions(self, numbers: np.ndarray) -> np.ndarray:
        """A row a scenario, a column an axis."""
        places = numbers if self._kept is None else self._kept[numbers]
        return np.stack(np.unravel_index(places, self._shape), axis=-1)

    def places(self) -> np.ndarray:
        """Of each in the whole product."""
        return np.arange(len(self)) if self._kept is None else self._kept

    def positions_on(self, axis: int) -> np.ndarray:
        """Of each on one axis."""
        inner = int(np.prod(self._shape[axis + 1:], dtype=np.int64))
        return (self.places() // inner % self._shape[axis]).astype(np.int32)

    def _make(self, number: int, positions: list[int]) -> Scenario:
        return Scenario(number, tuple(positions), tuple(axis.values[i] for axis, i in zip(self._axes, positions)))

    def __getitem__(self, number: int) -> Scenario:  # type: ignore[override]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._make(number, self.positions(np.array([number]))[0].tolist())

    def __iter__(self) -> Iterator[Scenario]:
        block = 65536
        for start in range(0, len(self), block):
            numbers = np.arange(start, min(start + block, len(self)))
            for number, positions in zip(numbers.tolist(), self.positions(numbers).tolist()):
                yield self._make(number, positions)

    def digest_text(self) -> list[Any]:
        return [[[axis.key, axis.values] for axis in self._axes], self._skips]


def put(query: dict[str, Any], key: str, value: Any) -> None:
    """A key with a dot reaches into an object."""
    *outer, last = key.split(".")
    for name in outer:
        query = query.setdefault(name, {})
    query[last] = value


class Lines:
    """Questions as JSON lines, from positions on the axes.

    @param base  keys that all have in common. @param axes  [(key, values)]"""

    def __init__(self, base: dict[str, Any], axes: list[tuple[str, list[Any]]]):
        self._base, self._axes = base, axes
        self._inner = any("." in key for key, _ in axes)
        self._parts = [[f"{json.dumps(key)}: {json.dumps(value)}" for value in values] for key, values in axes]
        start = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in base.items())
        self._parts[0] = ["{" + start + part for part in self._parts[0]]
        self._parts[-1] = [part + "}" for part in self._parts[-1]]

    def query(self, point: Sequence[int]) -> dict[str, Any]:
        query = copy.deepcopy(self._base)
        for (key, values), position in zip(self._axes, point):
            put(query, key, values[position])
        return query

    def lines(self, positions: np.ndarray) -> Iterator[str]:
        """@param positions  a row a question, a column an axis"""
        if self._inner:
            return (json.dumps(self.query(point)) for point in positions.tolist())
        return map(", ".join, zip(*(map(parts.__getitem__, at) for parts, at in zip(self._parts, positions.T.tolist()))))
