"""Makes wrong input of right one: numbers and texts at the edges, parts left out, repeated, moved, bytes changed."""
from __future__ import annotations

import copy
import json
import random
import re
from typing import Any, Iterator

NUMBERS = (0, -1, 1, 2, 3, 7, 255, 65536, 10**6, 10**9, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 1e308, 5e-324, -1e308, 0.5, 1e18)
TEXTS = ("", "x", "0", "-1", "1e999", "nan", "0x0", "1x1x1", "100000x100000", "4294967296", "0 GB/s", "1e30 GB/s", "1e-300 B/s", "gpu0", "gpu99", "cpu0",
         "gpu-1", "../x", "/dev/zero", "a" * 5000, "\u0000", "\ud7ff", "é" * 300, "%s%n", "1,2,3", "[[[[", "remove gpu0-gpu1", "fabric torus:dimensions=" + "1x" * 2000 + "1")
MOST_B = 200_000


def _places(value: Any, way: tuple = ()) -> Iterator[tuple]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*way, key)
        yield from _places(inner, (*way, key))


def _number_in(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"-?\d+(\.\d+)?", text))
    if not found:
        return rng.choice(TEXTS)
    at = rng.choice(found)
    return text[:at.start()] + str(rng.choice(NUMBERS)) + text[at.end():]


def _other(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.15:
        return rng.choice((None, [], {}, "", 0, True, [[]], {"a": 1}, rng.choice(NUMBERS), rng.choice(TEXTS)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return rng.choice(NUMBERS)
    if isinstance(value, str):
        return _number_in(value, rng) if rng.random() < 0.6 else rng.choice(TEXTS)
    if isinstance(value, list):
        return value * rng.choice((0, 2, 100)) if rng.random() < 0.7 else value[::-1]
    return {}


def of_json(value: Any, rng: random.Random) -> Any:
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(value))
        if not places:
            return rng.choice((None, [], 1, ""))
        way = rng.choice(places)
        holder = value
        for key in way[:-1]:
            holder = holder[key]
        key, how = way[-1], rng.random()
        if how < 0.15:
            del holder[key]
        elif how < 0.25 and isinstance(holder, dict):
            holder[rng.choice(TEXTS[:8])] = holder[key]
        elif how < 0.35 and isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        else:
            holder[key] = _other(holder[key], rng)
    return value


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 2, 8, 100)))
        how = rng.randrange(8)
        if how == 0:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
        elif how == 1:
            data = data[:at] + data[to:]
        elif how == 2:
            data = data[:to] + data[at:to] * rng.choice((1, 3, 200)) + data[to:]
        elif how == 3:
            data = data[:at]
        elif how == 4:
            lines = data.splitlines(keepends=True) or [b""]
            data = b"".join(lines[:rng.randrange(len(lines))] + [rng.choice(lines)] + lines[rng.randrange(len(lines)):])
        elif how == 5:
            data = data[:at] + rng.choice(TEXTS).encode(errors="replace")[:2000] + data[at:]
        else:
            found = list(re.finditer(rb"\d+(\.\d+)?", data[at:at + 2000]))
            if found:
                one = rng.choice(found)
                data = data[:at + one.start()] + str(rng.choice(NUMBERS)).encode() + data[at + one.end():]
    return data[:MOST_B]


def of_text(text: str, rng: random.Random) -> bytes:
    """JSON by its structure two times of three."""
    if rng.random() < 0.67:
        try:
            return json.dumps(of_json(json.loads(text), rng)).encode(errors="replace")
        except ValueError:
            lines = text.splitlines()
            at = rng.randrange(len(lines)) if lines else 0
            try:
                lines[at] = json.dumps(of_json(json.loads(lines[at]), rng))
                return "\n".join(lines).encode(errors="replace")
            except (ValueError, IndexError):
                pass
    return of_bytes(text.encode(errors="replace"), rng)
