#!/usr/bin/env python3
"""Every figure of validate/plots can be made: the files exist, are PNG and larger than an empty picture."""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tree import ROOT, finish

SMALLEST_B = 10_000
PNG = b"\x89PNG\r\n\x1a\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="linkcast")
    program = Path(parser.parse_args().program).resolve()
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, "-B", "validate/plots/make.py", "--program", str(program), "--out", folder],
                             cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode == 77:
            print(run.stderr.strip())
            sys.exit(77)
        if run.returncode != 0:
            finish("plots", [run.stderr.strip()], 1)
        pictures = [Path(line) for line in run.stdout.splitlines()]
        findings = [f"{picture.name}: {len(data)} bytes" for picture in pictures
                    if not (data := picture.read_bytes()).startswith(PNG) or len(data) < SMALLEST_B]
    finish("plots", findings, len(pictures))


if __name__ == "__main__":
    main()
