#!/usr/bin/env python3
"""Words of the pages, apart by kind: prose, tables, code (blocks and what they print), and what a program writes.

Written by hand are prose and tables that no program writes. prose.txt says how many of each there may be, in all pages together;
--update lowers it to what is there and never raises it. docs/README.md lists every page in one of its five parts, and a page that
a source or a help text names is there.
  python3 tests/lint/prose.py           the lint
  python3 tests/lint/prose.py --table   words of every page, by part
"""
import argparse
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

from tree import CPP, ROOT, files, finish, text_of

CEILINGS = Path("tests/lint/prose.txt")
INDEX = Path("docs/README.md")
PARTS = ("Tutorials", "How-to", "Reference", "Explanation", "Evidence")
ELSEWHERE = "of the repository"  # pages outside docs/, and those that lead to others
GENERATED = {Path("docs/reference.md"): "reference_page.py", Path("docs/platforms.md"): "platforms_page.py", Path("docs/licences.md"): "licences_page.py"}
RECORDS = {Path("CHANGELOG.md"), Path("models/libraries/SOURCES.md"), Path("topologies/SOURCES.md")}  # lists of facts that only grow
NAMING = {Path("tests/lint/lint_test.py"), Path("tests/python/site_test.py")}  # names pages that are not there
KINDS = ("prose", "tables", "code", "generated")
FENCE = re.compile(r"^\s*```")
BEGIN, END = re.compile(r"^<!-- [\w-]+ -->$"), re.compile(r"^<!-- /[\w-]+ -->$")  # between them a program writes
MENTIONED = re.compile(r"(?<![\w/.-])docs/[\w-]+\.md\b")
SOURCES = (*CPP, ".py", ".lua", ".sh", ".json", ".ts", ".txt", ".md")
LISTED = re.compile(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)")


@dataclass
class Count:
    words: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def add(self, kind: str, number: int) -> None:
        self.words[kind] += number


def kind_of(line: str, fenced: bool, after_blank: bool) -> str:
    if fenced or (line.startswith("    ") and after_blank):
        return "code"
    return "tables" if line.lstrip().startswith("|") else "prose"


def counted(text: str, generated: bool = False) -> Count:
    """Words as wc counts them; an indented block after a blank line is code, as Markdown has it."""
    count, fenced, written, code_before = Count(), False, generated, True
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            continue
        if BEGIN.match(line) or END.match(line):
            written = generated or bool(BEGIN.match(line))
            continue
        kind = kind_of(line, fenced, code_before)
        count.add("generated" if written and not fenced else kind, len(line.split()))
        code_before = not line.strip() or (kind == "code" and not fenced)
    return count


def all_counts() -> dict[Path, Count]:
    pages = [name for name in files(".md") if name not in RECORDS and not name.parts[0].startswith(".")]
    return {name: counted(text_of(name), name in GENERATED) for name in pages}


def parts_of(index: str) -> dict[Path, str]:
    """Page -> the part under whose heading docs/README.md lists it first."""
    found: dict[Path, str] = {}
    part = ""
    for line in index.split("\n"):
        if line.startswith("## "):
            part = line[3:].strip()
        elif part in PARTS:
            for target in LISTED.findall(line):
                found.setdefault(Path(posixpath.normpath(f"docs/{target}")), part)
    return found


def unlisted(index: str, pages: list[Path]) -> list[str]:
    """Pages of docs/ that no part lists, and listed ones that are not there."""
    parts = parts_of(index)
    mine = [name for name in pages if name.parts[0] == "docs" and name != INDEX and len(name.parts) == 2]
    there = {str(name) for name in (*pages, *RECORDS)}
    return ([f"{name}: in none of the five parts of {INDEX}" for name in mine if name not in parts]
            + [f"{INDEX}: {name} is not there" for name in parts if str(name) not in there])


def dangling(name: Path, text: str, pages: set[str]) -> list[str]:
    """Pages that a source, a help text or a record names and that are not there."""
    return [f"{name}: names {page}, which is not there" for page in dict.fromkeys(MENTIONED.findall(text)) if page not in pages]


def read(text: str) -> dict[str, int]:
    return {kind: int(most) for kind, most in (line.split() for line in text.splitlines() if line and not line.startswith("#"))}


def totals(counts: dict[Path, Count]) -> dict[str, int]:
    return {kind: sum(count.words[kind] for count in counts.values()) for kind in ("prose", "tables")}


def findings(now: dict[str, int], most: dict[str, int]) -> list[str]:
    return [f"{number} words of {kind} in all pages, at most {most.get(kind, 0)}: say it shorter, or once; python3 tests/lint/prose.py --table"
            for kind, number in now.items() if number > most.get(kind, 0)]


def lowered(now: dict[str, int], most: dict[str, int]) -> dict[str, int]:
    return {kind: min(number, most.get(kind, number)) for kind, number in now.items()}


def print_table(counts: dict[Path, Count]) -> None:
    parts = parts_of(text_of(INDEX))
    print("| page | " + " | ".join(KINDS) + " |\n|" + " --- |" * (len(KINDS) + 1))
    for part in (*PARTS, ELSEWHERE):
        some = {name: count for name, count in counts.items() if parts.get(name, ELSEWHERE) == part}
        for name, count in sorted(some.items(), key=lambda row: -row[1].words["prose"]):
            print(f"| {name} | " + " | ".join(str(count.words[kind]) for kind in KINDS) + " |")
        print(f"| **{part}** | " + " | ".join(f"**{sum(count.words[kind] for count in some.values())}**" for kind in KINDS) + " |")
    print("| **all** | " + " | ".join(f"**{sum(count.words[kind] for count in counts.values())}**" for kind in KINDS) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="prints the words of every page")
    parser.add_argument("--update", action="store_true", help="lowers prose.txt to what is there")
    given = parser.parse_args()
    counts = all_counts()
    if given.table:
        print_table(counts)
        return
    now, most = totals(counts), read(text_of(CEILINGS))
    if given.update:
        most = lowered(now, most)
        (ROOT / CEILINGS).write_text("# kind, most words of it in all pages: tests/lint/prose.py --update\n"
                                     + "".join(f"{kind} {number}\n" for kind, number in most.items()))
    there = {str(name) for name in counts}
    lost = [finding for name in files(*SOURCES) if name not in NAMING for finding in dangling(name, text_of(name), there)]
    finish("prose", findings(now, most) + unlisted(text_of(INDEX), list(counts)) + lost, len(counts))


if __name__ == "__main__":
    main()
