"""Many questions at once, on threads of this process, each with platforms of its own."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import engine
from .answers import Answers, Failure
from .errors import InputError
from .platform import answer_of, plain_query

if TYPE_CHECKING:
    import numpy


def batch_lines(lines: Iterable[str], jobs: int | None = None, name: str = "-") -> list[str]:
    """What `linkcast predict --batch NAME` prints for these lines: one answer a line, in their order, the same bytes.

    @param jobs  threads (default: one a core). @param name  stands for the file in errors"""
    threads = len(os.sched_getaffinity(0)) if jobs is None else jobs
    if threads < 1:
        raise ValueError(f"jobs: {jobs}, at least 1")
    return engine.catalogues().batch([line.rstrip("\n") for line in lines], name, threads)


def _line_of(query: Any) -> str:
    """What is no question is refused as one, in its place."""
    return engine.dumped(plain_query(query)) if isinstance(query, dict) else json.dumps(repr(query))


def batch(queries: Iterable[dict[str, Any]], jobs: int | None = None) -> Answers:
    """Answers to queries (kind, platform and the keys of the kind), in their order.

    A query that cannot be answered costs no other its answer: in its place there is a Failure, whose `error` says why."""
    lines = batch_lines(map(_line_of, queries), jobs, "batch")
    raws = (json.loads(line) for line in lines)
    return Answers(Failure(raw) if "error" in raw else answer_of(raw) for raw in raws)


def arrays(query: dict[str, Any], results: Sequence[str] = ("time_s",), **columns: Any) -> dict[str, numpy.ndarray[Any, Any]]:
    """Numbers of many answers to one query whose keys have other numbers each time: what a batch of them says.

    @param columns  of each key that varies its numbers, one a query: src=[0, 1], dst=[1, 0], size_B=numpy.array(...)
    @param results  keys of numbers of the answers. @returns  an array of each; NaN where an answer has no such number
    @raises InputError  a query cannot be answered; it says which"""
    import numpy
    if isinstance(results, str):
        raise InputError(f"results: must be a list of keys: [{results!r}]")
    given = [(key.removesuffix("_"), numpy.asarray(values)) for key, values in columns.items()]
    if not given:
        raise InputError("columns: give a key and its numbers, e.g. size_B=[1024, 2048]")
    count = given[0][1].size
    for key, values in given:
        if values.shape != (count,) or values.dtype.kind not in "iuf":
            raise InputError(f"{key}: must be a list of {count} numbers")
    found = engine.catalogues().arrays(engine.dumped(plain_query(query)), given, list(results))
    return dict(zip(results, found.T))
