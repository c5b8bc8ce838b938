"""What two runs of the corpus answer differently, byte for byte but for what IGNORED names."""
from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Iterator

from allowed import Allowed, BadInput, read_allowed
from differences import Difference, of_texts

# All that may differ. run.py has written the paths of the tree and of temporary folders as {tree} and {tmp} already.
IGNORED = (
    (re.compile(r'(?<="versions":)\s*\{[^{}]*\}'), "{}", "version and git id of the program that answers"),
    (re.compile(r"^(?:batch|place|noise|bootstrap|queries): \d+ .*\n", re.M), "", "progress, told by wall time"),
    (re.compile(r"^[\w-]+: \d+ of \d+ (?:jobs|samples|refits)\n", re.M), "", "the same"),
)
MOST_SHOWN = 200  # letters of a value

__all__ = ["IGNORED", "Allowed", "BadInput", "compare", "read_allowed"]


def without_ignored(text: str) -> str:
    for pattern, stand_in, _ in IGNORED:
        text = pattern.sub(stand_in, text)
    return text


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def _same_corpus(a: Path, b: Path) -> tuple[list[str], list[dict]]:
    """Queries and commands of both."""
    for name in ("queries.jsonl", "commands.json"):
        if _read(a / name) != _read(b / name):
            raise BadInput(f"{a / name} and {b / name} differ: runs of one corpus can be compared; generate both anew")
    return _read(a / "queries.jsonl").splitlines(), json.loads(_read(a / "commands.json"))


def _query_of(line: str) -> dict:
    """What an allow-list may select by; lines that are no JSON object have no keys."""
    try:
        query = json.loads(line)
    except ValueError:
        return {}
    return query if isinstance(query, dict) else {}


def differences_of_queries(a: Path, b: Path, queries: list[str]) -> Iterator[tuple[dict, list[Difference]]]:
    """Of each query, in order, what it asks and what differs."""
    sides = [_read(folder / "answers.jsonl").splitlines() for folder in (a, b)]
    for number, line in enumerate(queries):
        query = _query_of(line)
        query.setdefault("id", f"line {number + 1}")
        answers = [side[number] if number < len(side) else None for side in sides]
        if answers[0] is None or answers[1] is None:
            sort = "lost" if answers[1] is None else "new"
            yield query, [Difference("", sort, *(str(answer) for answer in answers))]
        else:
            yield query, list(of_texts(*map(without_ignored, answers), ""))
    if len(sides[0]) != len(sides[1]) or len(sides[0]) > len(queries):
        yield {"id": "answers.jsonl"}, [Difference("", "lines", str(len(sides[0])), str(len(sides[1])))]


def _sections(text: str) -> dict[str, str]:
    """"/0/exit", "/0/stdout", "/0/stderr", "/file/NAME": what a command's file holds."""
    sections: dict[str, str] = {}
    line_number, name = -1, ""
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            line_number, name = line_number + 1, f"/{line_number + 1}/exit"
        elif line in ("--- stdout\n", "--- stderr\n"):
            name = f"/{line_number}/{line[4:].strip()}"
        elif line.startswith("--- file "):
            name = f"/file/{line[9:].strip()}"
        else:
            sections[name] = sections.get(name, "") + line
    return sections


def differences_of_commands(a: Path, b: Path, commands: list[dict]) -> Iterator[tuple[dict, list[Difference]]]:
    for number, command in enumerate(commands):
        asked = {"id": f"{number:04}", "command": command["lines"][0]}
        sides = [_sections(_read(folder / "commands" / f"{number:04}.out")) for folder in (a, b)]
        found: list[Difference] = []
        for name in sorted(set(sides[0]) | set(sides[1])):
            found += of_texts(*(without_ignored(side.get(name, "")) for side in sides), name)
        yield asked, found


def _short(value: str) -> str:
    return value if len(value) <= MOST_SHOWN else value[:MOST_SHOWN] + "..."


def _kind(asked: dict) -> str:
    if "command" in asked:
        return " ".join(["$", *(word for word in asked["command"].split()[:2] if word[0] not in "-{")])
    return str(asked.get("kind", "-"))


def _show(found: list[tuple[dict, Difference]], each: bool) -> None:
    """Groups, the largest first: differences of one sort at one place of one kind are one line and an example."""
    groups: dict[tuple[str, str, str], list[tuple[dict, Difference]]] = defaultdict(list)
    for asked, difference in found:
        groups[_kind(asked), difference.place(), difference.sort].append((asked, difference))
    for (kind, place, sort), members in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        sizes = sorted(abs(difference.change) for _, difference in members if difference.change is not None)
        span = f", relative change {sizes[0]:.3g} to {sizes[-1]:.3g}" if sizes else ""
        print(f"{len(members):6} x {kind} {place or '(all)'}: {sort}{span}")
        for asked, difference in members if each else members[:1]:
            change = f" ({difference.change:+.3g})" if difference.change is not None else ""
            what = asked.get("command") or asked["id"]
            print(f"         {what} {difference.pointer}: {_short(difference.before)} -> {_short(difference.after)}{change}")


def compare(a: Path, b: Path, allowed: Allowed, each: bool = False) -> bool:
    """Prints what differs. @returns  True if nothing does that is not allowed"""
    queries, commands = _same_corpus(a, b)
    covered, rest = [], []
    for what, answers in (("queries", differences_of_queries(a, b, queries)), ("commands", differences_of_commands(a, b, commands))):
        same = differing = 0
        for asked, differences in answers:
            same, differing = same + (not differences), differing + bool(differences)
            for difference in differences:
                (covered if allowed.covers(asked, difference) else rest).append((asked, difference))
        print(f"{what}: {same} identical, {differing} differ")
    if covered:
        print(f"allowed: {len(covered)} differences")
        _show(covered, each)
    if rest:
        print(f"not allowed: {len(rest)} differences")
        _show(rest, each)
    for entry in allowed.unused():
        print(f"note: nothing differs that the allow-list says of {entry}")
    return not rest
