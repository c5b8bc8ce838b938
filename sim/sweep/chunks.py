"""Scenarios in the order and the portions in which workers get them."""
from __future__ import annotations

import json
from typing import Iterable

from study import Scenario, Study

# What a linkcast process builds once and keeps: neighbours have it in common.
KEPT_FOR = ("platform", "edits", "kind", "library", "trace", "options", "nodes", "gpus_per_node", "gpus")
MOST_A_CHUNK = 256
CHUNKS_A_WORKER = 8  # so that all end at about the same time

Chunk = list[tuple[int, str]]


def chunks_of(study: Study, scenarios: Iterable[Scenario], workers: int) -> list[Chunk]:
    """Numbers and queries; scenarios that a process answers from the same tables lie together."""
    lines = []
    for scenario in scenarios:
        query = study.query_of(scenario)
        kept = [json.dumps(query.get(key), sort_keys=True) for key in KEPT_FOR]
        lines.append((kept, scenario.number, json.dumps(query)))
    lines.sort(key=lambda line: line[:2])
    size = max(1, min(MOST_A_CHUNK, len(lines) // (workers * CHUNKS_A_WORKER)))
    return [[(number, query) for _, number, query in lines[at:at + size]] for at in range(0, len(lines), size)]
