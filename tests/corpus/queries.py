"""All queries of the corpus, as the lines of a batch."""
from __future__ import annotations

import json
from typing import Iterator

import application_queries
import cluster_queries
import collective_queries
import copy_queries
import edit_queries
import size_queries
import wrong_queries

GROUPS = {"copies": copy_queries, "collectives": collective_queries, "clusters": cluster_queries, "applications": application_queries,
          "edits": edit_queries, "wrong": wrong_queries, "sizes": size_queries}


def _numbered() -> Iterator[dict[str, object]]:
    """With ids "copies-0", "copies-1", ...; a query that another group or place asks as well is asked once."""
    seen = set()
    for name, module in GROUPS.items():
        for number, query in enumerate(module.queries()):
            text = json.dumps(query, sort_keys=True)
            if text not in seen:
                seen.add(text)
                yield {"id": f"{name}-{number}", **query}


def lines() -> list[str]:
    """One a query, without line ends; those at the end need not be JSON."""
    return [json.dumps(query) for query in _numbered()] + list(wrong_queries.lines())
