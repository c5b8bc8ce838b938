#!/usr/bin/env python3
"""What the pages show is what the program prints: every ```console block is run and compared.

A block holds lines "$ command", each followed by all that the command writes (standard output and error together). Words must be
the same to the letter, quantities within 2 % (tests/lint/printed.py says what is a quantity); "```console exact" asks for every
character, "```console within 5 %" for another tolerance. Each page runs in a folder of its own that looks like the root of the
tree, with an empty reports/, and has a time limit of its own.

  python3 tests/lint/readme_blocks.py [PAGE...]           compare; all pages without one
  python3 tests/lint/readme_blocks.py --update [PAGE...]  write what is printed today, and say what that changed by how much
"""
import argparse
import os
import re
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from printed import TOLERANCE, Change, changes
from tree import ROOT, files, finish, text_of

BLOCK = re.compile(r"(?P<open>^```console(?: (?P<how>[^\n]*))?\n)(?P<body>.*?)(?=^```$)", re.M | re.S)
SECONDS = 240  # of a page, on a slow machine that is busy; alone the longest takes 30


@dataclass
class Page:
    """A page after its commands have run."""

    name: str
    old: str
    new: str = ""
    blocks: int = 0
    found: list[Change] = field(default_factory=list)  # beyond the tolerance
    all: list[Change] = field(default_factory=list)
    error: str = ""  # why it could not be compared


def tolerance_of(how: str | None) -> float | None:
    """Of the words behind ```console: None where every character counts."""
    if not how:
        return TOLERANCE
    if how == "exact":
        return None
    if within := re.fullmatch(r"within (\d+(?:\.\d+)?) %", how):
        return float(within[1]) / 100
    raise ValueError(f"```console {how}: known are 'exact' and 'within N %'")


def stage(folder: Path, program: Path) -> None:
    """Makes a folder look like the root of the tree; what commands write stays in its reports/."""
    for entry in ROOT.iterdir():
        if entry.name not in ("build", "reports"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "reports").mkdir()
    for entry in program.parent.iterdir():
        if entry.name in (program.name, "python", "module"):
            (folder / "build" / entry.name).symlink_to(entry)


def printed_by(body: str, folder: Path, until: float) -> str:
    """The block with what its commands print now."""
    text = ""
    for command in (line for line in body.split("\n") if line.startswith("$ ")):
        with subprocess.Popen(["bash", "-c", command[2:]], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, start_new_session=True,
                              env={**os.environ, "LINKCAST_LOG": "progress=off", "COLUMNS": "80"}) as run:  # those lines come by the clock
            try:
                text += f"{command}\n{run.communicate(timeout=max(until - time.monotonic(), 0.1))[0]}"
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)  # of the session that it leads
                raise TimeoutError(command) from None
    return text


def run_page(name: str, program: Path, seconds: float) -> Page:
    page = Page(name, text_of(Path(name)))
    until = time.monotonic() + seconds

    def renewed(block: re.Match) -> str:
        tolerance = tolerance_of(block["how"])
        new = printed_by(block["body"], folder, until)
        page.blocks += 1
        page.found += changes(block["body"].splitlines(), new.splitlines(), tolerance)
        page.all += changes(block["body"].splitlines(), new.splitlines(), None)
        return block["open"] + new

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        stage(folder, program)
        try:
            page.new = BLOCK.sub(renewed, page.old)
        except (TimeoutError, ValueError) as problem:
            page.error = f"{seconds:g} s were not enough, stopped at: {problem}" if isinstance(problem, TimeoutError) else str(problem)
    return page


def update(page: Page, most: float, force: bool) -> list[str]:
    """Writes the page; or says which changes are larger than may be taken without a look."""
    for change in page.all:
        print(f"{page.name}: {change}")
    large = [change for change in page.all if change.relative is not None and change.relative > most]
    if large and not force:
        return [f"{page.name}: not written: {len(large)} line(s) change by more than {100 * most:g} %; --force if that is meant"]
    if page.new != page.old:
        (ROOT / page.name).write_text(page.new)
    return []


def pages() -> list[str]:
    names = [name for name in files(".md") if len(name.parts) == 1 or name.parts[0] == "docs"]
    return [str(name) for name in names if BLOCK.search(text_of(name))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="*", help="README.md, docs/model.md, ...; default: all")
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit of each page (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="pages at a time (default %(default)s)")
    parser.add_argument("--update", action="store_true", help="write what the commands print today into the pages")
    parser.add_argument("--most", type=float, default=10, metavar="PERCENT",
                        help="--update refuses a page with a number that changes by more (default %(default)s)")
    parser.add_argument("--force", action="store_true", help="--update takes any change")
    options = parser.parse_args()
    program, findings, blocks = Path(options.program).resolve(), [], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for page in pool.map(lambda name: run_page(name, program, options.seconds), options.page or pages()):
            blocks += page.blocks
            if page.error:
                findings.append(f"{page.name}: {page.error}")
            elif options.update:
                findings += update(page, options.most / 100, options.force)
            else:
                findings += [f"{page.name}: {change}" for change in page.found]
    if findings and not options.update:
        findings.append("to accept: python3 tests/lint/readme_blocks.py --update")
    finish("pages", findings, blocks)


if __name__ == "__main__":
    main()
