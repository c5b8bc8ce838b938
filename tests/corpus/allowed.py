"""The allow-list of a comparison: differences that are meant, each with a reason and a limit.

A JSON array of {"pointer", "why"} with optional "select" and "max_rel". In a pointer `*` stands for any one step, `**` at its end for
any that follow. "select" has keys of the query and the value, or a list of values, that they must have; "command" is how
the first line of a command begins. With "max_rel" only changes of numbers up to it are allowed, without it any."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from differences import Difference

KEYS = {"pointer", "select", "why", "max_rel"}


class BadInput(Exception):
    """What was given cannot be used; the text is one line."""


def _pattern(pointer: str) -> re.Pattern[str]:
    steps = pointer.split("/")
    parts = [".*" if step == "**" else "[^/]*" if step == "*" else re.escape(step) for step in steps]
    return re.compile("/".join(parts).removesuffix("/.*") + ("(?:/.*)?" if steps[-1] == "**" else ""))


def _check(entry: Any, place: str) -> None:
    if not isinstance(entry, dict) or not {"pointer", "why"} <= set(entry) <= KEYS:
        raise BadInput(f"{place}: must be an object with pointer and why, and perhaps select and max_rel")
    if not isinstance(entry["pointer"], str) or not isinstance(entry["why"], str) or not entry["why"].strip():
        raise BadInput(f"{place}: pointer and why must be texts, and why must say something")
    if not isinstance(entry.get("select", {}), dict):
        raise BadInput(f"{place}/select: must be an object of keys of the query")
    limit = entry.get("max_rel", 0.0)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 0:
        raise BadInput(f"{place}/max_rel: must be a number, 0 or more")


class Allowed:
    def __init__(self, entries: list[dict], name: str):
        for at, entry in enumerate(entries):
            _check(entry, f"{name}:/{at}")
        self._entries = [(entry, _pattern(entry["pointer"])) for entry in entries]
        self._used: set[int] = set()

    def _selects(self, entry: dict, asked: dict) -> bool:
        for key, wanted in entry.get("select", {}).items():
            if key == "command":
                if not asked.get("command", "").startswith(wanted):
                    return False
            elif asked.get(key) not in (wanted if isinstance(wanted, list) else [wanted]):
                return False
        return True

    def covers(self, asked: dict, difference: Difference) -> bool:
        for at, (entry, pattern) in enumerate(self._entries):
            if not pattern.fullmatch(difference.pointer) or not self._selects(entry, asked):
                continue
            limit = entry.get("max_rel")
            if limit is None or (difference.change is not None and abs(difference.change) <= limit):
                self._used.add(at)
                return True
        return False

    def unused(self) -> list[str]:
        return [entry["pointer"] for at, (entry, _) in enumerate(self._entries) if at not in self._used]


def read_allowed(path: Path | None) -> Allowed:
    if path is None:
        return Allowed([], "")
    try:
        entries = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from None
    if not isinstance(entries, list):
        raise BadInput(f"{path}: must be an array of entries")
    return Allowed(entries, str(path))
