#!/usr/bin/env python3
"""Instructions of fixed work, commit by commit, in counts.jsonl: a count has no noise, so that 3 % more is a change of the program.

    counts.py [PROGRAM] [--only WORD]    the gate: valgrind's counts against the last line of the file; exit code 4 if one is more than 1.03
                                         times, or if the file and the cases differ; 77 without valgrind, or with other tools than the file names
    counts.py PROGRAM --record WHY       appends a line: what is counted today is meant
    counts.py --page [--update]          the table of docs/performance.md is what the file says

Three commits that each cost 2 % do not pass one after the other: all are held against the last line."""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import compare
import counted_cases

ROOT = Path(__file__).resolve().parents[2]
FILE, PAGE = Path("tests/bench/counts.jsonl"), Path("docs/performance.md")
BEGIN, END = "<!-- counts -->", "<!-- /counts -->"
MOST = 1.03
SLOWER, CANNOT = 4, 77
MILLION = 1e6
Counts = dict[str, int]


def tools(program: Path) -> dict[str, str]:
    """What changes counts without a change of the sources."""
    def found(pattern: str, *command: str) -> str:
        says = re.search(pattern, subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return says[1] if says else ""
    return {"compiler": found(r"\]\s+((?:GCC|clang)\b.*)", "readelf", "-p", ".comment", str(program)), "libc": found(r"(\d+\.\d+)$", "getconf", "GNU_LIBC_VERSION"),
            "valgrind": found(r"-(.*)", "valgrind", "--version"), "processor": found(r"model name\s*: (.*)", "cat", "/proc/cpuinfo")}  # the C library picks its loops by it


def counted(program: Path, only: str) -> Counts:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        cases = [case for case in counted_cases.cases(Path(folder), program) if only in case.name]
        numbers = pool.map(lambda case: int(compare.count(program.parent, case)), cases)
        return dict(zip((case.name for case in cases), numbers))


def findings(now: Counts, before: Counts) -> list[str]:
    """@param before  the counts of the file for the same cases"""
    lost = [f"{name}: is in {FILE} and no longer counted" for name in before if name not in now]
    new = [f"{name}: is not in {FILE}" for name in now if name not in before]
    slower = [f"{name}: {now[name]:,} instructions, {now[name] / before[name]:.3f} times the {before[name]:,} of {FILE}, at most {MOST}"
              for name in now if name in before and now[name] > MOST * before[name]]
    return [*lost, *new, *slower]


def table(records: list[dict]) -> str:
    """Millions of instructions: first line of the file, the one before the last, the last."""
    last, previous = records[-1]["instructions"], records[-2]["instructions"] if len(records) > 1 else {}
    first: Counts = {}
    for record in records:
        first = {**record["instructions"], **first}
    head = "| case | first | before | last | of the first |\n| --- | --- | --- | --- | --- |\n"

    def cell(count: int | None) -> str:
        return f"{count / MILLION:,.1f}" if count else ""
    return head + "".join(f"| {name} | {cell(first[name])} | {cell(previous.get(name))} | {cell(count)} | {count / first[name]:.2f} |\n" for name, count in last.items())


def with_table(page: str, records: list[dict]) -> str:
    head, begin, rest = page.partition(BEGIN + "\n")
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"error: {PAGE}: has no lines {BEGIN} and {END}")
    return head + begin + table(records) + end + tail


def read_records() -> list[dict]:
    lines = (ROOT / FILE).read_text().splitlines() if (ROOT / FILE).is_file() else []
    return [json.loads(line) for line in lines]


def check_page(update: bool) -> int:
    page = (ROOT / PAGE).read_text()
    wanted = with_table(page, read_records())
    if update:
        (ROOT / PAGE).write_text(wanted)
    elif page != wanted:
        print(f"{PAGE}: its counts are not those of {FILE}: python3 tests/bench/counts.py --page --update")
        return 1
    return 0


def record(program: Path, why: str) -> int:
    line = {"date": date.today().isoformat(), "why": why, "tools": tools(program), "instructions": counted(program, "")}
    with (ROOT / FILE).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return check_page(update=True)


def gate(program: Path, only: str, last: dict) -> int:
    """@param last  the last line of the file"""
    here = tools(program)
    if here != last["tools"]:
        print(f"{FILE} was counted with {last['tools']}, here are {here}: nothing compared")
        return CANNOT
    now, before = counted(program, only), {name: count for name, count in last["instructions"].items() if only in name}
    wrong = findings(now, before)
    for name in now:
        if name in before:
            print(f"{name:40} {before[name] / MILLION:10.2f} {now[name] / MILLION:10.2f}  {now[name] / before[name]:.3f}")
    if wrong:
        print(*wrong, sep="\n")
        print(f"make it cheaper, or say why: python3 tests/bench/counts.py {program} --record WHY")
    return SLOWER if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, nargs="?", default=Path("build/linkcast"))
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--record", metavar="WHY", default="")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--update", action="store_true")
    o = parser.parse_args()
    if o.page:
        return check_page(o.update)
    if not shutil.which("valgrind"):
        print("valgrind is not installed: nothing counted")
        return CANNOT
    os.chdir(ROOT)
    return record(o.program.resolve(), o.record) if o.record else gate(o.program.resolve(), o.only, read_records()[-1])


if __name__ == "__main__":
    sys.exit(main())
