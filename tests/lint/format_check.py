#!/usr/bin/env python3
"""C++ is formatted as .clang-format says, by version 14 (Debian 12); other versions differ in small ways: no verdict."""
import argparse
import subprocess

from tree import CPP, ROOT, files, finish

VERSION = 14


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-format", default="clang-format")
    parser.add_argument("--fix", action="store_true", help="format in place")
    options = parser.parse_args()
    version = subprocess.run([options.clang_format, "--version"], capture_output=True, text=True, check=True).stdout
    if f"version {VERSION}." not in version:
        print(f"format: not checked, needs clang-format {VERSION}, found: {version.strip()}")
        return
    names = files(*CPP)
    findings = []
    for name in names:
        text = (ROOT / name).read_text()
        formatted = subprocess.run([options.clang_format, "--style=file", f"--assume-filename={ROOT / name}"],
                                   input=text, capture_output=True, text=True, check=True).stdout
        if formatted == text:
            continue
        if options.fix:
            (ROOT / name).write_text(formatted)
        else:
            findings.append(f"{name}: not formatted: python3 tests/lint/format_check.py --fix")
    finish("format", findings, len(names))


if __name__ == "__main__":
    main()
