"""Many questions at once, on threads of this process, each with platforms of its own."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import engine
from .answers import Answers, Failure
from .platform import answer_of, plain_query


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
