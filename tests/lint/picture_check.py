#!/usr/bin/env python3
"""The picture of README.md shows today's forecasts, within the tolerance of printed.py."""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from printed import changes
from tree import ROOT, finish

PICTURE = "docs/overview.svg"


def drawn(picture: Path) -> list[str]:
    """What python/run.py plots.overview wrote into the picture about it."""
    found = re.search(r"<dc:description>(.*?)</dc:description>", picture.read_text(), re.S)
    if not found:
        raise SystemExit(f"{picture}: has no description: python3 python/run.py plots.overview --out docs/overview.svg")
    return found[1].split("; ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    program = Path(parser.parse_args().program).resolve()
    with tempfile.TemporaryDirectory() as folder:
        today = Path(folder) / "today.svg"
        done = subprocess.run([sys.executable, "-B", "python/run.py", "plots.overview", "--program", str(program), "--out", str(today)],
                              cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 77:
            print(done.stderr.strip())
            sys.exit(77)
        if done.returncode != 0:
            finish("picture", [done.stderr.strip()], 1)
        shown, now = drawn(ROOT / PICTURE), drawn(today)
    findings = [f"{PICTURE}: {change}" for change in changes(shown, now, 0.02)]
    if findings:
        findings.append(f"to accept: python3 python/run.py plots.overview --out {PICTURE}")
    finish("picture", findings, len(now))


if __name__ == "__main__":
    main()
