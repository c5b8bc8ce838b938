#!/usr/bin/env python3
"""Words that linkcast no longer uses: names, comments, messages and pages hold no more of them than tests/lint/words.txt says.

Names are taken apart (`told_keys`, `ToldKeys`). words.txt has a row for each word and room, `word room most`. Where a word's
total is within that of all its rows it may have moved from room to room; --update lowers rows to what is there, never raises a
total. CONTRIBUTING.md says what to write instead."""
import argparse
import re
from collections import Counter
from pathlib import Path

from include_rules import room_of
from tree import CPP, ROOT, files, finish, text_of

CEILINGS = Path("tests/lint/words.txt")
NOT_COUNTED = {Path("CONTRIBUTING.md"), Path("CHANGELOG.md"), Path("tests/lint/words.py"), Path("tests/lint/lint_test.py")}  # they name the words
INSTEAD = {  # retired word -> what to write
    "asked": "request, or what was requested",
    "attains": "efficiency, attained bandwidth",
    "believed": "prior, tuner estimate",
    "believes": "tuner estimate",
    "beside": "concurrent, background job",
    "borrow": "inherit",
    "borrower": "machine that inherits",
    "borrowed": "inherited",
    "borrows": "inherits",
    "dice": "random generator",
    "dma": "copy_engine",
    "kin": "nearest machine",
    "lend": "inherit from",
    "lender": "nearest machine",
    "lenders": "nearest machines",
    "lending": "inheriting",
    "lends": "inherits from",
    "lent": "inherited",
    "lessons": "fit report",
    "made": "the noun of the thing: plan, record, communicator",
    "relatives": "nearest machines",
    "stranger": "unmeasured machine",
    "strangers": "unmeasured machines",
    "taken": "choice, chosen",
    "tell": "set, override; report",
    "told": "library topology, override; reported",
    "unsure": "interval, spread",
    "way": "route, path",
    "ways": "routes, paths",
    "wish": "target topology",
    "worth": "efficiency",
}
PART = re.compile(r"[A-Z]?[a-z]+")  # of toldKeys, ToldKeys, told_keys
# Sentences without a subject at the beginning of a comment.
OPENINGS = {"Of ...": re.compile(r"(?://[/!<]*|^#)[ \t]*Of\b", re.M), "What ...": re.compile(r"(?://[/!<]*|^#)[ \t]*What\b", re.M),
            "The same ...": re.compile(r"(?://[/!<]*|^#)[ \t]*The same of\b", re.M), "That which ...": re.compile(r"(?://[/!<]*|^#)[ \t]*That which\b", re.M)}


def counted(text: str, code: bool = True) -> Counter[str]:
    """Retired words and openings of comments in a text."""
    found = Counter(word for word in map(str.lower, PART.findall(text)) if word in INSTEAD)
    if code:
        found.update({opening: count for opening, pattern in OPENINGS.items() if (count := len(pattern.findall(text)))})
    return found


def place_of(name: Path) -> str:
    """The room; else the folder at the top."""
    return room_of(name) or (name.parts[0] if len(name.parts) > 1 else ".")


def all_counts() -> dict[tuple[str, str], int]:
    found: Counter[tuple[str, str]] = Counter()
    for name in files(*CPP, ".py", ".md"):
        if name not in NOT_COUNTED:
            for word, count in counted(text_of(name), name.suffix != ".md").items():
                found[word, place_of(name)] += count
    return dict(found)


def read(text: str) -> dict[tuple[str, str], int]:
    rows = (line.rsplit(" ", 2) for line in text.splitlines() if line and not line.startswith("#"))
    return {(word, room): int(most) for word, room, most in rows}


def total(counts: dict[tuple[str, str], int], word: str) -> int:
    return sum(count for (one, _), count in counts.items() if one == word)


def findings(counts: dict[tuple[str, str], int], most: dict[tuple[str, str], int]) -> list[str]:
    found = []
    for word in sorted({word for word, _ in counts}):
        if total(counts, word) <= total(most, word):
            continue
        grown = [f"{room} {count} instead of {most.get((one, room), 0)}" for (one, room), count in sorted(counts.items())
                 if one == word and count > most.get((one, room), 0)]
        hint = INSTEAD.get(word, "begin with the subject: what it is")
        found.append(f"'{word}': {total(counts, word)}, at most {total(most, word)}: {', '.join(grown)}; write: {hint}")
    return found


def lowered(counts: dict[tuple[str, str], int], most: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """What is there now, for words that are no more than they were; the rows of others stay."""
    grown = {word for word, _ in counts if total(counts, word) > total(most, word)}
    return {**{row: count for row, count in most.items() if row[0] in grown}, **{row: count for row, count in counts.items() if row[0] not in grown}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="lowers words.txt to what is there")
    parser.add_argument("--in", dest="room", help="prints where a room has them")
    given = parser.parse_args()
    if given.room:
        for name in files(*CPP, ".py", ".md"):
            if place_of(name) == given.room and name not in NOT_COUNTED:
                for at, line in enumerate(text_of(name).split("\n"), 1):
                    if words := counted(line, name.suffix != ".md"):
                        print(f"{name}:{at}: {', '.join(words)}: {line.strip()}")
        return
    counts, most = all_counts(), read(text_of(CEILINGS))
    if given.update:
        rows = sorted(lowered(counts, most).items())
        (ROOT / CEILINGS).write_text("# word, room, most of it there: tests/lint/words.py --update\n"
                                     + "".join(f"{word} {room} {count}\n" for (word, room), count in rows))
        most = dict(rows)
    finish("words", findings(counts, most), len(counts))


if __name__ == "__main__":
    main()
