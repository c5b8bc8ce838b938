#!/usr/bin/env python3
"""One HTML page of results: `linkcast report` calls this program."""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

try:
    import batches
    import forecasts
    import replays
    from page import Section, render
except ImportError as missing:
    sys.exit(f"error: the Python package {missing.name} is needed: run .ci/prepare")
from records import InputError, Node, parse, read_text, write_atomically

ALLOWED = ("results of predict, replay, rings, routes and place with --json, answers of predict --batch, a sweep's table.csv or "
           "sweep.json, claims.json of validate --report")


def of_answer(answer: Node, file: str) -> Section:
    if answer.has("error"):
        section = Section("A query without an answer", file)
        section.errors.append(answer["error"].text())
        return section
    kind = answer["kind"].text() if answer.has("kind") else "replay" if answer.has("makespan_s") else (
        "place" if answer.has("placements") else "")
    if kind in ("p2p", "flows"):
        return forecasts.copies(kind, answer, file)
    one = {"collective": forecasts.collective, "rings": forecasts.rings, "routes": forecasts.routes,
           "place": forecasts.placements, "replay": replays.replay}.get(kind)
    if not one:
        raise answer["kind"].fail(f"'{kind}' has no page") if kind else answer.fail(f"is none of: {ALLOWED}")
    return one(answer, file)


def of_lines(text: str, file: str) -> Section:
    answers = [parse(line, f"{file} line {i}") for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    return batches.batch(answers, file) if len(answers) > 1 else of_answer(answers[0], file)


def is_json_lines(text: str) -> bool:
    """More than one value, a line each."""
    try:
        json.loads(text)
        return False
    except json.JSONDecodeError as error:
        first = text.lstrip().split("\n", 1)[0]
        return error.msg == "Extra data" and first.startswith("{") and first.rstrip().endswith("}")


def section_of(path: str) -> Section:
    if path.endswith(".csv"):
        return batches.sweep_table(path)
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path}: is empty")
    if is_json_lines(text):
        return of_lines(text, path)
    result = parse(text, path)
    if result.has("schema") and result["schema"].value == "linkcast/sweep/1":
        return batches.sweep(result, path)
    if result.has("scoreboard"):
        return batches.claims(result, path)
    if result.has("before") and result.has("after"):
        raise result["before"].fail("a what-if has no page of its own: report its two sides")
    return of_answer(result, path)


def refuse_inputs(out: Path, results: list[str]) -> None:
    if out.is_dir():
        raise InputError(f"--out: {out}: is a folder, not a file")
    for path in results:
        beside = [Path(path), Path(path).parent / "sweep.json", Path(path).parent / "table.csv"]
        if out.exists() and any(other.exists() and out.samefile(other) for other in beside):
            raise InputError(f"--out: {out}: is a file that is read")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--program", required=True)
    parser.add_argument("--data-dir", required=True)
    options = parser.parse_args()
    try:
        refuse_inputs(options.out, options.result)
        sections = [section_of(path) for path in options.result]
        version = subprocess.run([options.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        title = options.title or (sections[0].title if len(sections) == 1 else f"{len(sections)} results")
        write_atomically(options.out, render(title, sections, version))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{options.out}: {len(sections)} section{'s' if len(sections) > 1 else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
