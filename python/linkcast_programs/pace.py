"""What long work will take, from its first pieces, against what the user allows: --max-time, else LINKCAST_MAX_TIME, else ten minutes."""
from __future__ import annotations

import math
import os
import re

from .records import InputError

VARIABLE = "LINKCAST_MAX_TIME"  # which linkcast sets from --max-time
USUAL_S = 600.0
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def limit_s() -> float:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return USUAL_S
    if text == "none":
        return math.inf
    found = re.fullmatch(r"(\d+\.?\d*(?:e-?\d+)?) ?(s|min|h)", text)
    if not found:
        raise InputError(f"{VARIABLE}: '{text}' is no time, e.g. 30 s, 20 min or 2 h, or none for no limit")
    return float(found[1]) * UNITS[found[2]]


def text_of(seconds: float) -> str:
    for unit, size, most in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172800)):
        if seconds < most:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 86400:.2g} days"


def refuse_long(what: str, count: int, unit: str, seconds: float) -> None:
    """@raises InputError  with the estimate, and what lifts the limit"""
    if seconds > limit_s():
        raise InputError(f"{what}: about {count} {unit} and {text_of(seconds)}, more than the limit of {text_of(limit_s())}: ask for less, or raise "
                         f"it by --max-time ({VARIABLE})")
