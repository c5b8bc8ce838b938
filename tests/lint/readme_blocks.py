#!/usr/bin/env python3
"""What the pages show is what the program prints: every ```console block is run and compared.

A block holds lines "$ command", each followed by all that the command writes (standard output and error together).
--update writes what the commands print today into the pages.
"""
import argparse
import difflib
import re
import subprocess
from pathlib import Path

from tree import ROOT, files, finish, text_of

BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.M | re.S)


def pages() -> list[Path]:
    return [name for name in files(".md") if len(name.parts) == 1 or name.parts[0] == "docs"]


def output_of(command: str, program: str) -> str:
    run = subprocess.run(["bash", "-c", command.replace("build/linkcast", program)], cwd=ROOT, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout.replace(program, "build/linkcast")


def as_printed_today(block: str, program: str) -> str:
    commands = [line for line in block.split("\n") if line.startswith("$ ")]
    return "".join(f"{command}\n{output_of(command[2:], program)}" for command in commands)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    (ROOT / "reports").mkdir(exist_ok=True)  # git-ignored; the pages write there
    findings, blocks = [], 0
    for name in pages():
        old = text_of(name)
        blocks += len(BLOCK.findall(old))
        new = BLOCK.sub(lambda block: as_printed_today(block[0], options.program), old)
        if options.update:
            (ROOT / name).write_text(new)
        elif new != old:
            difference = difflib.unified_diff(old.split("\n"), new.split("\n"), str(name), "printed today", n=0, lineterm="")
            findings.append("\n".join(difference) + "\nto accept: python3 tests/lint/readme_blocks.py --update")
    finish("pages", findings, blocks)


if __name__ == "__main__":
    main()
