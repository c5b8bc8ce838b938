#!/usr/bin/env python3
"""C++ is formatted as .clang-format says, by version 14 (Debian 12); other versions differ in small ways: no verdict."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

from tree import CPP, ROOT, files, finish

VERSION = 14
SKIPPED = 77  # exit code: what the check needs is not installed


def version_of(program: str) -> str:
    try:
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def unformatted(program: str, names: list[Path]) -> list[str]:
    """Names of the files that the program would change; one process for all files."""
    run = subprocess.run([program, "--style=file", "--dry-run", *names], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"^(\S+):\d+:\d+: warning: code should be clang-formatted", run.stderr, re.M)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-format", default="clang-format")
    parser.add_argument("--fix", action="store_true", help="format in place")
    parser.add_argument("names", nargs="*", type=Path, help="files to look at, from the root; all without it")
    options = parser.parse_args()
    version = version_of(options.clang_format)
    if f"version {VERSION}." not in version:
        print(f"format: not checked, needs clang-format {VERSION}, found: {version}")
        sys.exit(SKIPPED)
    names = options.names or files(*CPP)
    wrong = unformatted(options.clang_format, names)
    if options.fix:
        if wrong:
            subprocess.run([options.clang_format, "--style=file", "-i", *wrong], cwd=ROOT, check=True)
        wrong = []
    findings = [f"{name}: not formatted: python3 tests/lint/format_check.py --fix" for name in wrong]
    finish("format", findings, len(names))


if __name__ == "__main__":
    main()
