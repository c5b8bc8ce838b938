"""Axes of a study: what a list or a macro stands for."""
from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

from ..records import Node, kind_of
from ..units import LARGEST_B, UnitError, parse_bytes

MOST_VALUES = 1_000_000


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
    factor = node["factor"].number()
    if factor <= 1:
        raise node["factor"].fail("must be greater than 1")
    if first < 1 or last < first:
        raise node["to"].fail("must not be less than from, and both at least 1")
    values = []
    while first <= last:
        values.append(first)
        first = max(first + 1, round(first * factor))
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
        members = list(range(of.whole()))
    sizes = [size for size in node["sizes"].items()]
    for size in sizes:
        if not 1 <= size.whole() <= len(members):
            raise size.fail(f"must be from 1 to {len(members)}")
    each = (itertools.combinations(members, size.whole()) for size in sizes)
    return [list(subset) for subset in itertools.islice(itertools.chain(*each), MOST_VALUES + 1)]


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
