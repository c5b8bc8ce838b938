#!/usr/bin/env python3
"""docs/reference.md is what the program says of its commands, queries and answers today. --update writes it."""
import argparse
import json
import subprocess
from pathlib import Path

from tree import ROOT, finish

PAGE = Path("docs/reference.md")
COMMANDS = ("list", "show", "predict", "predict p2p", "predict flows", "predict collective", "routes", "rings", "place", "replay",
            "whatif", "schedule", "wiring", "diagnose", "validate", "calibrate", "calibrate fit", "calibrate trace", "import", "init", "measure", "trace",
            "check", "sweep", "report", "serve", "ui", "schema", "record", "emulate", "explain", "fake", "help", "completion")
PAGES = ("edits", "formats", "applications")
HEAD = """# Reference

Made from the program by `python3 tests/lint/reference_page.py --update`: [queries and answers](#queries-and-answers), then
[commands](#commands). Sizes are bytes, times seconds, bandwidths bytes per second and one direction; `GB` is 1e9, `GiB` is 2^30.

## Queries and answers

`linkcast predict --batch FILE` reads one JSON query a line and writes one answer a line, in the same order; a query that cannot be
answered gives `{"id": ..., "error": "..."}`, and the exit code is then 1. `POST /v1/query` of `linkcast serve` takes the same, and options of the command line
are keys of a query: the column *option* names them. An unknown key is an error. `linkcast schema [KIND]` prints all of this
as JSON Schema (draft 2020-12).
"""
COMMON = """
### Of every kind

{keys}
Every answer has

{results}
`bottleneck` is there in every answer of p2p, flows, collective, rings, routes, place and replay; where no link limits, as where a
start-up takes most of the time, the list is empty.
"""
END = """
## Commands

Exit codes: 0 done, 1 a batch or a study went to its end and holds errors, or what the other codes do not say, 2 bad input (one line
says what), 3 an invariant is broken, 4 a claim or a comparison failed, or a log is faulty, 5 a diagnosis cannot tell. Results are on standard output, everything else on standard
error. `-` is standard input wherever a file is read. An option with `...` may be repeated and takes lists: `--remove A,B`, and `--remove A B` where
the command has no arguments of its own.
"""


class Program:
    def __init__(self, path: str):
        self._path = str(Path(path).resolve())

    def says(self, *words: str) -> str:
        return subprocess.run([self._path, *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def kind_of(row: dict) -> str:
    """Of a value, in a word or two."""
    if "const" in row:
        return f"\"{row['const']}\""
    for several in ("oneOf", "anyOf"):
        if several in row:
            return " or ".join(dict.fromkeys(kind_of(one) for one in row[several]))
    if isinstance(row.get("type"), list):
        return " or ".join(kind_of({**row, "type": one}) for one in row["type"])
    name = {"string": "text", "boolean": "flag", "integer": "whole number", "number": "number", "object": "object"}.get(row.get("type"))
    if name == "object" and row.get("properties"):
        return "{" + ", ".join(f"`{key}`" for key in row["properties"]) + "}"
    if row.get("type") == "array":
        item = row.get("items", {})
        if "prefixItems" in item:
            return "list of [" + ", ".join(kind_of(one) for one in item["prefixItems"]) + "]"
        several = {"whole number": "whole numbers", "number": "numbers", "text": "texts"}
        return "list of " + several.get(kind_of(item), kind_of(item).replace("list of", "lists of"))
    return name or "anything"


def limits_of(row: dict) -> str:
    low, high = row.get("minimum"), row.get("maximum")
    if low is None and high is None or high == 2**53:
        return ""
    return f" from {low:g}" if high is None else f" {low:g} to {high:g}"


def choices_of(row: dict) -> str:
    if "x-list" in row:
        return f", `list {row['x-list']}`"
    return ": " + ", ".join(f"`{one}`" for one in row["enum"]) if "enum" in row else ""


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def key_table(schema: dict, leave: tuple[str, ...] = ()) -> str:
    lines = ["| key | what | value | without it | option |", "| --- | --- | --- | --- | --- |"]
    for key, row in schema["properties"].items():
        if key in leave:
            continue
        instead = [f"`{rule['anyOf'][1]['required'][0]}` is required" for rule in schema.get("allOf", [])
                   if rule.get("anyOf", [{"required": []}])[0]["required"] == [key]]
        without = "required" if key in schema.get("required", []) else "".join(instead) or row.get("x-unset", "")
        option = f"`{row['x-option']}`" if "x-option" in row else ""
        lines.append("| " + " | ".join(map(cell, (f"`{key}`", row.get("description", ""),
                                                  kind_of(row) + limits_of(row) + choices_of(row), without, option))) + " |")
    return "\n".join(lines) + "\n"


def result_table(schema: dict, leave: tuple[str, ...] = ()) -> str:
    lines = ["| key | what | value | unit | there |", "| --- | --- | --- | --- | --- |"]
    for key, row in schema["properties"].items():
        if key in leave:
            continue
        there = "always" if key in schema.get("required", []) else ""
        lines.append("| " + " | ".join(map(cell, (f"`{key}`", row.get("description", ""), kind_of(row) + choices_of(row), row.get("x-unit", ""), there))) + " |")
    return "\n".join(lines) + "\n"


def only(schema: dict, keys: tuple[str, ...]) -> dict:
    return {**schema, "properties": {key: schema["properties"][key] for key in keys}}


def kind_section(kind: dict, schema: dict, common: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    query, result = schema["query"], schema["result"]
    examples = "\n".join(json.dumps(example) for example in query["examples"])
    own = [key for key in query["properties"] if key not in common[0]]
    return (f"\n### {kind['name']}\n\n{kind['summary'][0].upper()}{kind['summary'][1:]}: `linkcast {kind['command']}`, "
            f"[{kind['source'].removeprefix('docs/')}]({kind['source'].removeprefix('docs/')}).\n\n```json\n{examples}\n```\n\n"
            + (key_table(query, common[0]) if own else "No keys but the common ones.\n")
            + f"\nThe answer:\n\n{result_table(result, common[1])}")


def any_kind(row: dict) -> dict:
    return {**{word: value for word, value in row.items() if word != "const"}, "x-list": "kinds"}


def page(program: Program) -> str:
    kinds = json.loads(program.says("list", "kinds", "--json"))["kinds"]
    schemas = {kind["name"]: json.loads(program.says("schema", kind["name"]))["$defs"] for kind in kinds}
    every = schemas["show"]["query"]["properties"], ("id", "kind", "warnings", "inputs", "versions")
    common = tuple(every[0]), every[1]
    first = {**schemas["show"]["query"], "properties": {**every[0], "kind": any_kind(every[0]["kind"])}}
    answer = only(schemas["show"]["result"], common[1])
    answer["properties"]["kind"] = any_kind(answer["properties"]["kind"])
    text = HEAD + COMMON.format(keys=key_table(first), results=result_table(answer))
    text += "".join(kind_section(kind, schemas[kind["name"]], common) for kind in kinds)
    text += END
    for name in COMMANDS:
        shown = program.says(*name.split(), "--help-all").rstrip()
        text += f"\n### linkcast {name}\n\n```text\n{shown}\n```\n"
    for name in PAGES:
        text += f"\n### linkcast help {name}\n\n```text\n{program.says('help', name).rstrip()}\n```\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    text = page(Program(options.program))
    findings = []
    if options.update:
        (ROOT / PAGE).write_text(text)
    elif not (ROOT / PAGE).is_file() or (ROOT / PAGE).read_text() != text:
        findings.append(f"{PAGE}: not what linkcast says today; to accept: python3 tests/lint/reference_page.py --update")
    finish("reference", findings, 1)


if __name__ == "__main__":
    main()
