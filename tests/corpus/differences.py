"""What differs between two texts: by keys where both are JSON, else line by line."""
from __future__ import annotations

import difflib
import json
import math
import re
from dataclasses import dataclass
from typing import Any, Iterator

MOST_LINES = 3000  # of texts whose lines are put beside each other; longer ones are compared in order
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Difference:
    """At one place of an answer. `sort`: number, text, type, lost, new, answer (an error or crash on one side), layout, lines."""
    pointer: str
    sort: str
    before: str
    after: str
    change: float | None = None  # after / before - 1; of a text in which only numbers differ, the largest

    def place(self) -> str:
        """The pointer without the numbers of array elements."""
        return re.sub(r"/\d+(?=/|$)", "/*", self.pointer)


class Number(str):
    """As it is written: 1.0 is not 1."""


def relative(before: str, after: str) -> float:
    a, b = float(before), float(after)
    if a == b:
        return 0.0
    return (b - a) / abs(a) if a and math.isfinite(a) and math.isfinite(b) else math.inf


def _of_numbers_in(before: str, after: str) -> float | None:
    """The largest change of numbers, if nothing else differs."""
    if NUMBER.split(before) != NUMBER.split(after):
        return None
    changes = [relative(a, b) for a, b in zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)]
    return max(changes, key=abs, default=None)


def _step(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)


def of_values(a: Any, b: Any, pointer: str) -> Iterator[Difference]:
    """@param a, b  as json.loads gives them, numbers as Number"""
    if isinstance(a, Number) and isinstance(b, Number):
        if a != b:
            yield Difference(pointer, "number", a, b, relative(a, b))
    elif type(a) is not type(b):
        yield Difference(pointer, "type", _text(a), _text(b))
    elif isinstance(a, dict):
        if pointer == "" and any((key in a) != (key in b) for key in ("error", "crash")):
            yield Difference("/error", "answer", _text(a), _text(b))
            return
        for key in sorted(set(a) | set(b)):
            yield from _of_members(a.get(key, _NONE), b.get(key, _NONE), f"{pointer}/{_step(key)}")
    elif isinstance(a, list):
        for at in range(max(len(a), len(b))):
            yield from _of_members(a[at] if at < len(a) else _NONE, b[at] if at < len(b) else _NONE, f"{pointer}/{at}")
    elif a != b:
        yield Difference(pointer, "text", _text(a), _text(b), _of_numbers_in(a, b) if isinstance(a, str) else None)


_NONE = object()


def _of_members(a: Any, b: Any, pointer: str) -> Iterator[Difference]:
    if a is _NONE or b is _NONE:
        yield Difference(pointer, "new" if a is _NONE else "lost", *("" if one is _NONE else _text(one) for one in (a, b)))
    else:
        yield from of_values(a, b, pointer)


def _parsed(text: str) -> Any:
    """_NONE if it is no JSON."""
    try:
        return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)
    except ValueError:
        return _NONE


def _of_lines(a: list[str], b: list[str], pointer: str) -> Iterator[Difference]:
    blocks = [("replace", 0, len(a), 0, len(b))]
    if len(a) != len(b) and max(len(a), len(b)) <= MOST_LINES:
        blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for tag, a_from, a_to, b_from, b_to in blocks:
        if tag == "equal":
            continue
        paired = min(a_to - a_from, b_to - b_from)
        for at in range(paired):
            yield from of_texts(a[a_from + at], b[b_from + at], f"{pointer}/{a_from + at}")
        yield from (Difference(f"{pointer}/{at}", "lost", a[at], "") for at in range(a_from + paired, a_to))
        yield from (Difference(f"{pointer}/{at}", "new", "", b[at]) for at in range(b_from + paired, b_to))


def of_texts(a: str, b: str, pointer: str) -> Iterator[Difference]:
    """Nothing if they are the same bytes."""
    if a == b:
        return
    values = _parsed(a), _parsed(b)
    if _NONE not in values:
        found = list(of_values(*values, pointer))
        yield from found or [Difference(pointer, "layout", a, b)]
        return
    lines = a.splitlines(), b.splitlines()
    if max(map(len, lines)) > 1:
        found = list(_of_lines(*lines, pointer))
        yield from found or [Difference(pointer, "layout", a, b)]
    elif a.strip() == b.strip():
        yield Difference(pointer, "layout", a, b)
    else:
        yield Difference(pointer, "text", a.strip(), b.strip(), _of_numbers_in(a, b))
