#!/usr/bin/env python3
"""Every figure of linkcast_programs.plots can be made: the files exist, are PNG and larger than an empty picture."""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tree import ROOT, finish

SMALLEST_B = 10_000
PNG = b"\x89PNG\r\n\x1a\n"


DATA = "calibrate/data/p100-dgx1"


def run(command: list[str]) -> str:
    """What it prints; ends this check where it fails, as skipped where it says so."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stderr.strip())
        sys.exit(77)
    if done.returncode != 0:
        finish("plots", [done.stderr.strip()], 1)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="linkcast")
    program = Path(parser.parse_args().program).resolve()
    with tempfile.TemporaryDirectory() as folder:
        python = [sys.executable, "-B"]
        made = run([*python, "python/run.py", "plots.make", "--program", str(program), "--out", folder])
        run([str(program), "calibrate", "fit", f"{DATA}/p2p-message-size.json", f"{DATA}/p2p-matrix.json", "--topology", "p100-dgx1",
             "--bootstrap", "10", "--out", f"{folder}/fit.json", "--report", folder])
        made += run([*python, "python/run.py", "plots.residuals", folder])
        pictures = [Path(line) for line in made.splitlines()]
        findings = [f"{picture.name}: {len(data)} bytes" for picture in pictures
                    if not (data := picture.read_bytes()).startswith(PNG) or len(data) < SMALLEST_B]
    finish("plots", findings, len(pictures))


if __name__ == "__main__":
    main()
