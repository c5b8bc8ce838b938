"""Many questions at once, on threads of this process, each with platforms of its own."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import engine, kinds
from .answers import Answers, Failure
from .errors import InputError, did_you_mean
from .platform import answer_of, plain_query

if TYPE_CHECKING:
    import numpy


def batch_lines(lines: Iterable[str], jobs: int | None = None, name: str = "-") -> list[str]:
    """What `linkcast predict --batch NAME` prints for these lines: one answer a line, in their order, the same bytes.

    @param jobs  threads (default: one a core). @param name  stands for the file in errors"""
    return engine.catalogues().batch([line.rstrip("\n") for line in lines], name, _threads(jobs))


def _line_of(query: Any) -> str:
    """What is no question is refused as one, in its place."""
    return engine.dumped(plain_query(query)) if isinstance(query, dict) else json.dumps(repr(query))


def batch(queries: Iterable[dict[str, Any]], jobs: int | None = None) -> Answers:
    """Answers to queries (kind, platform and the keys of the kind), in their order.

    A query that cannot be answered costs no other its answer: in its place there is a Failure, whose `error` says why."""
    lines = batch_lines(map(_line_of, queries), jobs, "batch")
    raws = (json.loads(line) for line in lines)
    return Answers(Failure(raw) if "error" in raw else answer_of(raw) for raw in raws)


def _numbers_of(key: str, values: Any) -> numpy.ndarray[Any, Any]:
    """@raises InputError  they are no list of finite numbers"""
    import numpy
    if isinstance(values, numpy.ma.MaskedArray) and numpy.any(values.mask):
        raise InputError(f"{key}: has masked numbers: give those that are there, e.g. values.compressed()")
    try:
        numbers = numpy.asarray(values)
    except ValueError:  # lists of several lengths
        raise InputError(f"{key}: must be a list of numbers, one a query, not of lists") from None
    if numbers.ndim != 1:
        raise InputError(f"{key}: must be a list of numbers, one a query, not of {numbers.ndim} dimensions")
    if numbers.dtype.kind not in "iuf":
        raise InputError(f"{key}: must be numbers, not {numbers.dtype}")
    wrong = numpy.flatnonzero(~numpy.isfinite(numbers))
    if wrong.size > 0:
        raise InputError(f"{key}: row {wrong[0]} is {numbers[wrong[0]]}")
    return numbers


def _check_results(kind: str, results: Sequence[str]) -> None:
    """@raises InputError  no answer of this kind has such a key; another kind is refused where it is asked"""
    if kind not in kinds.BY_NAME:
        return
    known = kinds.BY_NAME[kind].__annotations__
    for key in results:
        if key not in known:
            raise InputError(f"results: '{key}' is no key of an answer of {kind}{did_you_mean(key, known)}")


def _threads(jobs: int | None) -> int:
    """@raises ValueError  fewer than one"""
    threads = len(os.sched_getaffinity(0)) if jobs is None else jobs
    if threads < 1:
        raise ValueError(f"jobs: {jobs}, at least 1")
    return threads


def arrays(query: dict[str, Any], results: Sequence[str] = ("time_s",), jobs: int | None = None, **columns: Any) -> dict[str, numpy.ndarray[Any, Any]]:
    """Numbers of many answers to one query whose keys have other numbers each time: what a batch of them says.

    @param columns  of each key that varies its numbers, one a query: src=[0, 1], dst=[1, 0], size_B=numpy.array(...)
    @param results  keys of numbers of the answers. @param jobs  threads (default: one a core, of 1,024 queries or more)
    @returns  an array of each; NaN where an answer has no such number
    @raises InputError  no answer has such a key; a column holds something else than one finite number a query; a query cannot be answered, says which"""
    if isinstance(results, str):
        raise InputError(f"results: must be a list of keys: [{results!r}]")
    if not results:
        raise InputError("results: give a key of answers, e.g. time_s")
    plain = plain_query(query)
    _check_results(str(plain.get("kind")), results)
    given = [(key.removesuffix("_"), _numbers_of(key, values)) for key, values in columns.items()]
    if not given:
        raise InputError("columns: give a key and its numbers, e.g. size_B=[1024, 2048]")
    first, numbers = given[0]
    for at, (key, values) in enumerate(given):
        if key in plain or key in (other for other, _ in given[:at]):
            raise InputError(f"{key}: is given twice")
        if values.size != numbers.size:
            raise InputError(f"{key}: must be as long as {first}: {numbers.size} numbers, not {values.size}")
    found = engine.catalogues().arrays(engine.dumped(plain), given, list(results), _threads(jobs))
    return dict(zip(results, found.T))
