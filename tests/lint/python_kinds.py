#!/usr/bin/env python3
"""The Python package's questions and answers are those of the program's schema today. --update writes them."""
import argparse
import json
import keyword
import subprocess
import textwrap
from pathlib import Path

from tree import ROOT, finish

ANSWERS, QUESTIONS = Path("python/linkcast/kinds.py"), Path("python/linkcast/questions.py")
WIDTH = 130
MOST_CHOICES = 8  # else a text, and linkcast says what it takes
TABLES = {"fabric": "classes", "place": "placements", "replay": "ranks", "routes": "routes", "show": "cables"}  # whose rows a frame takes
OWN = ("kind", "platform", "edits")  # of a query: the Platform knows them
OF_ALL = ("inputs", "versions", "warnings")  # of an answer: its base class has them
MADE = "Made by tests/lint/python_kinds.py --update from `linkcast schema`: nothing by hand."


class Program:
    def __init__(self, path: str):
        self._path = str(Path(path).resolve())

    def says(self, *words: str) -> dict:
        done = subprocess.run([self._path, *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)


def union(types: list[str]) -> str:
    """Each member once; what stands in brackets is part of its member."""
    members, depth = [""], 0
    for part in " | ".join(types).split(" | "):
        members[-1] += part if not members[-1] else " | " + part
        depth += part.count("[") - part.count("]")
        if depth == 0:
            members.append("")
    return " | ".join(dict.fromkeys(members[:-1]))


def type_of(schema: dict, asked: bool) -> str:
    """@param asked  of a query, where texts of the command line are taken too"""
    text = ["str"] if asked else []
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return union([type_of(one, asked) for one in schema[choice]])
    if "enum" in schema and ("x-list" in schema or len(schema["enum"]) > MOST_CHOICES):
        return "str"
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return f"Literal[{', '.join(json.dumps(value) for value in values if value is not None)}]" + (" | None" if None in values else "")
    kind = schema.get("type")
    if isinstance(kind, list):
        return union([type_of({**schema, "type": one}, asked) for one in kind])
    if kind == "array":
        item = type_of(schema["items"], False) if "items" in schema else "Any"
        return union([f"Sequence[{item}]" if asked else f"list[{item}]", *text])
    if kind in ("integer", "number") and "x-unit" in schema:
        return union(["float", *text])
    return {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "object": "dict[str, Any]", "null": "None"}.get(kind, "Any")


def wrapped(start: str, parts: list[str], end: str, indent: str) -> str:
    """A call or a signature in lines that are not too long."""
    one = start + ", ".join(parts) + end
    if len(one) <= WIDTH:
        return one + "\n"
    lines, line = [], start
    for i, part in enumerate(parts):
        piece = part + ("," if i + 1 < len(parts) else end)
        if len(line) + 1 + len(piece) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece + " "
    return "\n".join([*lines, line.rstrip()]) + "\n"


def comment(text: str) -> str:
    return "".join(f"    #: {line}\n" for line in textwrap.wrap(text, WIDTH - 7))


def answer_class(kind: str, about: str, schema: dict) -> str:
    out = f'\n\nclass {kind.capitalize()}(Answer):\n    """{about[0].upper() + about[1:]}."""\n'
    if kind in TABLES:
        out += f'    TABLE = "{TABLES[kind]}"\n'
    required = schema.get("required", [])
    for key, row in schema["properties"].items():
        if key in OF_ALL or keyword.iskeyword(key):
            continue
        of = type_of(row, False)
        if key not in required and of != "Any":
            of = union([of, "None"])
        line = f"    {key}: {of}"
        about_key = row.get("description", "")
        if about_key and len(line) + len(about_key) + 5 <= WIDTH:
            line, about_key = f"{line}  #: {about_key}", ""
        out += comment(about_key) + line + "\n"
    return out


def method(kind: str, about: str, schema: dict) -> str:
    required = schema.get("required", [])
    keys = [key for key in schema["properties"] if key not in OWN]
    first = [f"{key}: {type_of(schema['properties'][key], True)}" for key in keys if key in required]
    rest = [f"{name(key)}: {union([type_of(schema['properties'][key], True), 'None'])} = None" for key in keys if key not in required]
    out = "\n" + wrapped(f"    def {kind}(", ["self", *first, *(["*", *rest] if rest else [])], f") -> kinds.{kind.capitalize()}:",
                         " " * (len(kind) + 9))
    out += f'        """{about[0].upper() + about[1:]}: keys("{kind}") says what each key is."""\n'
    pairs = [f'"{key}": {name(key)}' for key in keys]
    return out + wrapped(f'        return self._ask(kinds.{kind.capitalize()}, "{kind}", {{', pairs, "})", " " * 12)


def name(key: str) -> str:
    """`with` and `from` are words of Python."""
    return key + "_" if keyword.iskeyword(key) else key


def pages(program: Program) -> dict[Path, str]:
    answers = f'"""Answers of each kind. {MADE}"""\nfrom __future__ import annotations\n\nfrom typing import Any, Literal\n\nfrom .answers import Answer\n'
    questions = (f'"""Questions of each kind. {MADE}"""\nfrom __future__ import annotations\n\nfrom collections.abc import Sequence\n'
                 "from typing import Any, Literal\n\nfrom . import kinds\nfrom .answers import AnswerT\n\n\n"
                 'class Questions:\n    """What a platform can be asked."""\n\n'
                 "    def _ask(self, of: type[AnswerT], kind: str, keys: dict[str, Any]) -> AnswerT:\n        raise NotImplementedError\n")
    names = []
    for row in program.says("list", "kinds", "--json")["kinds"]:
        schema = program.says("schema", row["name"])["$defs"]
        answers += answer_class(row["name"], row["summary"], schema["result"])
        questions += method(row["name"], row["summary"], schema["query"])
        names.append(row["name"])
    answers += "\n\n" + wrapped("BY_NAME: dict[str, type[Answer]] = {", [f'"{kind}": {kind.capitalize()}' for kind in names], "}", " " * 4)
    return {ANSWERS: answers, QUESTIONS: questions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast")
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    made, found = pages(Program(given.program)), []
    for path, text in made.items():
        if given.update:
            (ROOT / path).write_text(text)
        elif not (ROOT / path).is_file() or (ROOT / path).read_text() != text:
            found.append(f"{path}: is not what the program's schema says: python3 tests/lint/python_kinds.py --update")
    finish("python kinds", found, len(made))


if __name__ == "__main__":
    main()
