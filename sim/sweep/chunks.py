"""Scenarios in the order and the portions in which workers get them."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from study import Study

# What a linkcast process builds once and keeps: neighbours have it in common.
KEPT_FOR = ("platform", "edits", "kind", "library", "trace", "options", "nodes", "gpus_per_node", "gpus")
MOST_A_CHUNK = 16384
CHUNKS_A_WORKER = 8  # so that all end at about the same time

Chunk = np.ndarray  # numbers of scenarios


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
    return map(study.lines.line, study.scenarios.positions(chunk).tolist())
