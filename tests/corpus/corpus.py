#!/usr/bin/env python3
"""A corpus of queries and command lines that two builds of linkcast must answer alike.

    corpus.py generate --out DIR [--every N]            queries.jsonl and commands.json, the same bytes everywhere, or each Nth
    corpus.py run --program PATH --out DIR [--jobs 2]   answers.jsonl and commands/NNNN.out; generates first what DIR lacks;
                                                        exit code 3 if the program died anywhere, or a sanitizer spoke
    corpus.py compare DIR_A DIR_B [--allow FILE.json]   what differs; exit code 4 if anything does that FILE does not allow
    corpus.py check --program A --against B             all of it, in a temporary folder"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import command_lines
import compare
import queries
import run

DIED = 3
DIFFERS = 4
BAD_INPUT = 2


def generate(folder: Path, every: int = 1) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "queries.jsonl").write_text("".join(line + "\n" for line in list(queries.lines())[::every]))
    (folder / "commands.json").write_text(json.dumps(command_lines.commands()[::every], indent=1) + "\n")


def run_all(program: Path, folder: Path, jobs: int) -> None:
    """Keeps queries.jsonl and commands.json where they are there: a part of a corpus is one as well."""
    if not program.is_file():
        raise compare.BadInput(f"{program}: no such program")
    if not (folder / "queries.jsonl").exists() or not (folder / "commands.json").exists():
        generate(folder)
    before = time.monotonic()
    crashed = run.run_queries(program, folder, jobs)
    between = time.monotonic()
    count = run.run_commands(program, folder, jobs)
    print(f"{program}: {crashed} crashed queries, {between - before:.0f} s; {count} commands, {time.monotonic() - between:.0f} s")


def check(program: Path, against: Path, jobs: int, allow: Path | None) -> bool:
    with tempfile.TemporaryDirectory() as holder:
        folders = [Path(holder) / "against", Path(holder) / "program"]
        for one, folder in zip((against, program), folders):
            run_all(one, folder, jobs)
        return compare.compare(*folders, compare.read_allowed(allow))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("generate")
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--every", type=int, default=1, choices=range(1, 101), metavar="N")
    ran = commands.add_parser("run")
    ran.add_argument("--program", type=Path, required=True)
    ran.add_argument("--out", type=Path, required=True)
    ran.add_argument("--jobs", type=int, default=2)
    compared = commands.add_parser("compare")
    compared.add_argument("folders", type=Path, nargs=2, metavar="DIR")
    compared.add_argument("--allow", type=Path)
    compared.add_argument("--each", action="store_true", help="every difference, not only one of each sort")
    checked = commands.add_parser("check")
    checked.add_argument("--program", type=Path, required=True)
    checked.add_argument("--against", type=Path, required=True)
    checked.add_argument("--allow", type=Path)
    checked.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    o = _arguments()
    sys.stdout.reconfigure(errors="backslashreplace")  # what was asked may be no text
    try:
        if o.command == "generate":
            generate(o.out, o.every)
        elif o.command == "run":
            run_all(o.program, o.out, o.jobs)
            bad = run.ended_badly(o.out)
            print("".join(f"{line[:400]}\n" for line in bad), end="", file=sys.stderr)
            return DIED if bad else 0
        elif o.command == "compare":
            return 0 if compare.compare(*o.folders, compare.read_allowed(o.allow), o.each) else DIFFERS
        else:
            return 0 if check(o.program, o.against, o.jobs, o.allow) else DIFFERS
    except compare.BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
