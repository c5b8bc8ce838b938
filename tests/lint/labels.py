#!/usr/bin/env python3
"""Labels of the C++ tests, for `ctest -L engine`: the suite (folder), the rooms that a test's file includes, its tags.

Headers of the vocabulary (records, platform, ...) count only where a file includes no other room, and headers of tests/ only
where it includes none at all; a file that runs the program tests `cli`. A test with the tag [refit] is in that suite, not in
its folder's. --cmake writes what ctest reads: Catch2 can label a test by its tags from 3.9 on, Debian 12 has 2.13, and rooms
are no tags anyway. Without it the labels and their numbers of tests are printed."""
import argparse
import hashlib
import re
from collections import Counter
from pathlib import Path

from include_rules import INCLUDE, room_of
from tree import ROOT, files, text_of

SUITES = ("unit", "physics", "paper")
OWN_SUITE = {"refit"}  # tags
VOCABULARY = {"base", "records", "machine", "query"}
ROOM_OF_TAG = {"fabric": "models", "mpi": "models", "blocks": "models", "nics": "models", "trace": "apps-traces",
               "trace_import": "apps-traces", "generators": "apps-traces", "import": "import", "fit": "fit", "replay": "replay"}
CASE = re.compile(r'^TEST_CASE\(\s*((?:"(?:\\.|[^"\\])*"\s*)+)(?:,\s*"([^"]*)")?\s*\)', re.M)
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')


def label_of(room: str) -> str:
    """`engine` for `sim/engine`."""
    return room.rsplit("/", 1)[-1]


def rooms_of(headers: list[str]) -> set[str]:
    """Labels of the rooms of these headers, the vocabulary only where there is no other."""
    found = {label_of(room) for room in (room_of(Path(header)) for header in headers) if room not in (None, "tests")}
    return found - VOCABULARY or found - {"base"} or found


def included(text: str) -> list[str]:
    return [own for own, _ in INCLUDE.findall(text) if own]


def below(headers: list[str]) -> list[str]:
    """Headers of the program that these headers of tests/ include, at any depth."""
    seen = [header for mine in headers if mine.startswith("tests/") for header in included(text_of(Path(mine)))]
    return seen + below(seen) if seen else []


def rooms_of_file(text: str, tags: set[str]) -> set[str]:
    headers = included(text)
    found = rooms_of(headers)
    tagged = {ROOM_OF_TAG[tag] for tag in tags if tag in ROOM_OF_TAG}
    if tagged or found:
        return tagged | found if found - VOCABULARY else tagged or found
    if "tests/unit/program.hpp" in headers:
        return {"cli"}
    return rooms_of(below(headers))


def unescaped(literals: str) -> str:
    return re.sub(r"\\(.)", r"\1", "".join(LITERAL.findall(literals)))


def labels(suite: str, text: str) -> dict[str, list[str]]:
    """Test -> its labels, the suite first, of the text of one file."""
    found = {}
    for literals, tagged in CASE.findall(text):
        tags = re.findall(r"\[([^\].][^\]]*)\]", tagged)
        own = [tag for tag in tags if tag in OWN_SUITE] or [suite]
        others = (rooms_of_file(text, set(tags)) | set(tags)) - set(SUITES) - set(own)
        name = unescaped(literals)
        if ";" in name:  # CMake's lists end there: ctest would ask for two tests that do not exist, and both would pass
            raise SystemExit(f"labels: the name of a test has a semicolon: {name}")
        found[name] = [own[0], *sorted(others)]
    return found


def of_suite(suite: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in files(".cpp", under=(f"tests/{suite}",)):
        found |= labels(suite, text_of(name))
    return found


def as_cmake(suite: str, found: dict[str, list[str]]) -> str:
    """catch_discover_tests leaves the names of all tests in a list; a hash finds each one's labels whatever its name holds."""
    lines = [f"set(linkcast_labels_{hashlib.md5(name.encode()).hexdigest()} [==[{';'.join(words)}]==])" for name, words in found.items()]
    return "\n".join([*lines, f"foreach(name IN LISTS test_{suite}_TESTS)", '  string(MD5 key "${name}")',
                      "  if(DEFINED linkcast_labels_${key})",
                      '    set_tests_properties("${name}" PROPERTIES LABELS "${linkcast_labels_${key}}")', "  endif()", "endforeach()"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=SUITES, help="one suite; all without it")
    parser.add_argument("--cmake", type=Path, help="writes this file for ctest, of one suite")
    given = parser.parse_args()
    if given.cmake:
        given.cmake.write_text(as_cmake(given.suite, of_suite(given.suite)))
        return
    count = Counter(word for suite in ([given.suite] if given.suite else SUITES) for words in of_suite(suite).values() for word in words)
    for word, tests in sorted(count.items()):
        print(f"{tests:5} {word}")


if __name__ == "__main__":
    main()
