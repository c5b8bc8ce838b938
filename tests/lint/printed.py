"""Compares what a page shows with what a program printed: words to the letter, quantities within a tolerance.

A quantity is a number with a fraction, an exponent or a unit behind a space: "3.64 ms", "1.85e+10", "44.5 %". Whole numbers
without a unit count something and stay exact, and so does whatever touches a letter: "gpu0", "nccl-2.18", "64MiB".
"""
import difflib
import re
from dataclasses import dataclass

TOLERANCE = 0.02  # relative
POINTS = 1.0  # percentages are mostly errors or shares: so many points are as good as TOLERANCE
TIME = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
RATE = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}
UNITS = {**{unit: ("s", factor) for unit, factor in TIME.items()}, **{unit: ("B/s", factor) for unit, factor in RATE.items()},
         "%": ("%", 1.0)}
ROUNDING = 0.1  # relative; one unit of the last digit shown may be more than the tolerance, but not more than this
NUMBER = re.compile(r"(?<![\w.])(?<!\w[+-])(?P<sign>[+-])?(?P<digits>\d+(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?)"
                    r"(?![\w]|\.\d)(?: (?P<unit>[kMGT]?B/s|[num]?s|%)(?![\w/]))?")


@dataclass(frozen=True)
class Quantity:
    value: float  # in SI units, or percent
    last_digit: float  # what one unit of the last digit shown is worth
    unit: str

    def agrees(self, other: "Quantity", tolerance: float) -> bool:
        apart = abs(self.value - other.value)
        rounding = min(1.01 * max(self.last_digit, other.last_digit), ROUNDING * abs(self.value))
        close = max(tolerance * abs(self.value), rounding)
        return self.unit == other.unit and apart <= (max(close, POINTS) if self.unit == "%" and tolerance > 0 else close)

    def change(self, other: "Quantity") -> float:
        """Relative change from this to the other; of percentages, which may be near 0, points over 100."""
        if self.value == other.value:
            return 0.0
        if self.unit == "%":
            return abs(other.value - self.value) / 100
        return abs(other.value - self.value) / abs(self.value) if self.value else float("inf")


def quantity(found: re.Match) -> Quantity | None:
    """None: a whole number that counts something."""
    if not (found["fraction"] or found["exponent"] or found["unit"]):
        return None
    unit, factor = UNITS[found["unit"]] if found["unit"] else ("", 1.0)
    places = len(found["fraction"] or ".") - 1
    last = 10.0 ** (int((found["exponent"] or "e0")[1:]) - places)
    return Quantity(float((found["sign"] or "") + found["digits"]) * factor, last * factor, unit)


def split(line: str) -> tuple[str, list[Quantity]]:
    """The line with its quantities blanked and its runs of spaces as one, and the quantities."""
    quantities: list[Quantity] = []

    def blank(found: re.Match) -> str:
        value = quantity(found)
        if value is None:
            return found[0]
        quantities.append(value)
        return f"<{value.unit}>"

    return re.sub(r" +", " ", NUMBER.sub(blank, line)).rstrip(), quantities


def agree(shown: str, printed: str, tolerance: float = TOLERANCE) -> bool:
    words, quantities = split(shown)
    other_words, others = split(printed)
    return words == other_words and all(a.agrees(b, tolerance) for a, b in zip(quantities, others, strict=True))


@dataclass(frozen=True)
class Change:
    """One piece that differs: lines of the page, lines printed, and the largest relative change of a quantity."""

    shown: list[str]
    printed: list[str]
    relative: float | None  # None: words differ, so that there is nothing to compare

    def __str__(self) -> str:
        head = "words" if self.relative is None else f"{100 * self.relative:.3g} %"
        return "\n".join([f"changed: {head}", *(f"- {line}" for line in self.shown), *(f"+ {line}" for line in self.printed)])


def changes(shown: list[str], printed: list[str], tolerance: float | None) -> list[Change]:
    """What differs by more than the tolerance; None: every character counts."""
    found = []
    matcher = difflib.SequenceMatcher(None, [split(line)[0] for line in shown], [split(line)[0] for line in printed], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            found.append(Change(shown[a:b], printed[c:d], None))
            continue
        for old, new in zip(shown[a:b], printed[c:d], strict=True):
            if old != new if tolerance is None else not agree(old, new, tolerance):
                pairs = zip(split(old)[1], split(new)[1], strict=True)
                found.append(Change([old], [new], max((x.change(y) for x, y in pairs), default=0.0)))
    return found
