#!/usr/bin/env python3
"""Every floating constant of the simulator has a source: 'source:' on its line, or in the comment above.

Free: 0, 1, 2, 0.5; factors of units (powers of ten in scientific notation or of 1024, 100 for per cent, 60 for minutes).
Not looked at: tests and calibrate/bench (they state their own numbers), whole numbers (counts, indices, widths).
"""
import re
from pathlib import Path

from tree import CPP, code_only, files, finish, text_of

ROOMS = ("sim", "cli", "models", "calibrate/fit", "validate", "apps-traces")
LINES_ABOVE = 3

FLOAT = re.compile(r"(?<![\w.])(0x[0-9a-fA-F.']+p[+-]?\d+|(?:\d[\d']*\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d[\d']*[eE][+-]?\d+)"
                   r"[fFlL]?(?![\w.])")
FREE = {0.0, 1.0, 2.0, 0.5, 100.0, 60.0, 1024.0, 1024.0**2, 1024.0**3, 1024.0**4}
UNIT_FACTOR = re.compile(r"1(?:\.0*)?[eE][+-]?(?:3|6|9|12)$")

EXCEPTIONS = {  # (file, literal): why it needs no source
    ("calibrate/fit/least_squares.cpp", "1e-300"): "keeps a quotient finite where its divisor is 0",
    ("calibrate/fit/least_squares.cpp", "1e-10"): "below it columns of length 1 are equal in doubles, as said there",
    ("calibrate/fit/least_squares.cpp", "1e-14"): "an iteration ends where doubles stop changing",
    ("calibrate/fit/fit_record.cpp", "0.95"): "names a statistic: the 95th percentile",
    ("validate/compare.cpp", "0.95"): "names a statistic: the 95th percentile",
    ("sim/plan/request.cpp", "9007199254740992.0"): "2^53, the last whole number of which a double holds all below",
}


def value_of(literal: str) -> float:
    plain = literal.replace("'", "")
    return float.fromhex(plain) if plain.lower().startswith("0x") else float(plain)


def is_free(name: Path, literal: str) -> bool:
    return value_of(literal) in FREE or UNIT_FACTOR.match(literal) is not None or (str(name), literal) in EXCEPTIONS


def has_source(lines: list[str], index: int) -> bool:
    """On the line, in the three above, or in the comment that heads its block: no blank line in between."""
    first = max(0, index - LINES_ABOVE)
    if any(re.search(r"\bsources?\b", line, re.I) for line in lines[first:index + 1]):
        return True
    while first > 0 and lines[first].strip():
        first -= 1
    head = "\n".join(lines[first:index])
    comment = re.match(r"\s*((?://[^\n]*\n)+)", head)
    return comment is not None and re.search(r"\bsource\b", comment[1]) is not None


def unsourced(name: Path, text: str) -> list[str]:
    found = []
    lines = text.split("\n")
    for match in FLOAT.finditer(code_only(text)):
        index = text.count("\n", 0, match.start())
        if not is_free(name, match[1]) and not has_source(lines, index):
            found.append(f"{name}:{index + 1}: {match[1]} has no source: {lines[index].strip()}")
    return found


def main() -> None:
    names = files(*CPP, under=ROOMS)
    finish("constants", [finding for name in names for finding in unsourced(name, text_of(name))], len(names))


if __name__ == "__main__":
    main()
