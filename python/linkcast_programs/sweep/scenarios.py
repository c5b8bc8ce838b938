"""The scenarios of a study: points of a cross product, numbered in its order, and their questions. Points are computed, not kept."""
from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .axes import Axis

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
        self._start = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in base.items())

    def query(self, point: Sequence[int]) -> dict[str, Any]:
        query = copy.deepcopy(self._base)
        for (key, values), position in zip(self._axes, point):
            put(query, key, values[position])
        return query

    def line(self, point: Sequence[int]) -> str:
        if self._inner:
            return json.dumps(self.query(point))
        parts = [part[position] for part, position in zip(self._parts, point)]
        return "{" + ", ".join([self._start, *parts] if self._start else parts) + "}"
