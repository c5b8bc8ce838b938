"""Runs the corpus with one program and keeps what it answers.

Of what is printed, the path of the tree is written {tree} and that of a command's folder {tmp}; nothing else is changed."""
from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Iterator

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 40  # queries of a process: what it has built for one serves the next, and a crash costs one process
NOT_KEPT = {".png", ".html"}  # of the files that a command leaves: pictures and pages differ by their own libraries
JOURNAL = "journal.jsonl"  # of a sweep: names the digest of the program, and its rows are in the order in which they came
INTERNAL = 3  # linkcast's exit code of an error of its own
SANITIZED = 99  # exit code of a program whose sanitizer found something; linkcast has no such code
# Lines about progress come by the clock.
ENVIRONMENT = {**os.environ, "LINKCAST_LOG": "progress=off", "COLUMNS": "80", "ASAN_OPTIONS": f"exitcode={SANITIZED}",
               "UBSAN_OPTIONS": "print_stacktrace=1"}
MOST_S = 1800  # of a query or a line of a command; far above the slowest: `validate --json` with sanitizers and -O0


def tree_of(program: Path) -> Path:
    """The folder above that of the program: its data lie there."""
    return program.resolve().parent.parent


class _Watch:
    """Kills a process that is silent for too long."""

    def __init__(self, process: subprocess.Popen):
        self._process, self.fired = process, False
        self._timer: threading.Timer | None = None

    def _fire(self) -> None:
        self.fired = True
        self._process.kill()

    def begin(self) -> None:
        self.end()
        self._timer = threading.Timer(MOST_S, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        if self._timer:
            self._timer.cancel()


def _how(status: int, hung: bool) -> str:
    if hung:
        return f"no answer in {MOST_S} s"
    return f"signal {-status}" if status < 0 else f"exit code {status}"


def _feed(stdin: IO[bytes], text: bytes) -> None:
    try:
        stdin.write(text)
        stdin.close()
    except OSError:
        pass  # it died, which whoever reads its answers sees


def _of_one_process(program: Path, lines: list[str], first: int, errors: IO[bytes]) -> Iterator[tuple[str, float]]:
    """Answers and what each took. Empty lines come before the first, so that refusals name the line of the whole corpus.

    @returns  how the process ended, where it left queries without an answer"""
    process = subprocess.Popen([str(program.resolve()), "predict", "--batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=errors, cwd=tree_of(program), env=ENVIRONMENT)
    text = "\n" * first + "".join(line + "\n" for line in lines)
    threading.Thread(target=_feed, args=(process.stdin, text.encode()), daemon=True).start()
    watch = _Watch(process)
    before = time.monotonic()
    for _ in lines:
        watch.begin()
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            break
        yield line.decode("utf-8", "replace").rstrip("\n"), time.monotonic() - before
        before = time.monotonic()
    watch.end()
    process.stdout.close()
    return _how(process.wait(), watch.fired)


def _of_chunk(program: Path, lines: list[str], first: int) -> list[tuple[str, float]]:
    """An answer for each line. One that a process dies on is answered by how it died; a new process goes on behind it."""
    answered: list[tuple[str, float]] = []
    while len(answered) < len(lines):
        with tempfile.TemporaryFile() as errors:
            answers = _of_one_process(program, lines[len(answered):], first + len(answered), errors)
            while True:
                try:
                    answered.append(next(answers))
                except StopIteration as end:
                    how = end.value
                    break
            if len(answered) < len(lines):
                errors.seek(0)
                said = [line for line in errors.read().decode("utf-8", "replace").splitlines()]
                answered.append((json.dumps({"crash": how, "stderr": said[-5:]}), 0.0))
    return answered


def run_queries(program: Path, folder: Path, jobs: int) -> int:
    """Writes answers.jsonl, and times.jsonl with what each took and its line. @returns how many crashed"""
    lines = (folder / "queries.jsonl").read_text().splitlines()
    starts = range(0, len(lines), CHUNK)
    tree = str(tree_of(program))
    with ThreadPoolExecutor(jobs) as pool:
        chunks = pool.map(lambda start: _of_chunk(program, lines[start:start + CHUNK], start), starts)
        answered = []
        for chunk in chunks:
            answered += chunk
            if len(answered) % (10 * CHUNK) == 0 or len(answered) == len(lines):
                print(f"{len(answered)} of {len(lines)} queries", file=sys.stderr)
    texts = [text.replace(tree, "{tree}") for text, _ in answered]
    (folder / "answers.jsonl").write_text("".join(text + "\n" for text in texts))
    slow = sorted(zip((seconds for _, seconds in answered), lines), reverse=True)
    (folder / "times.jsonl").write_text("".join(f"{seconds:.4f} {line}\n" for seconds, line in slow))
    return sum(text.startswith('{"crash"') for text in texts)


def _run_line(program: Path, line: str, stdin: str, place: Path) -> str:
    words = [word.replace("{tmp}", str(place)) for word in shlex.split(line)]
    try:
        done = subprocess.run([str(program.resolve()), *words], cwd=tree_of(program), input=stdin.encode(), capture_output=True,
                              timeout=MOST_S, check=False, env=ENVIRONMENT)
        how, out, err = _how(done.returncode, False), done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        how, out, err = _how(0, True), b"", b""
    return "".join((f"$ {line}\n", f"{how}\n", "--- stdout\n", _text(out), "--- stderr\n", _text(err)))


def _text(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return text if not text or text.endswith("\n") else text + "\n(no line end)\n"


def run_command(program: Path, command: dict) -> str:
    """What its lines print, and the files that they leave."""
    with tempfile.TemporaryDirectory(prefix="linkcast-corpus-") as holder:
        place = Path(holder)
        for name, source in command["inputs"].items():
            (place / name).write_bytes((ROOT / source).read_bytes())
        for name, text in command["texts"].items():
            (place / name).write_text(text)
        parts = [_run_line(program, line, command["stdin"], place) for line in command["lines"]]
        left = sorted(path.relative_to(place) for path in place.rglob("*")
                      if path.is_file() and path.suffix not in NOT_KEPT and path.name != JOURNAL)
        parts += [f"--- file {name}\n{_text((place / name).read_bytes())}" for name in left
                  if str(name) not in {**command["inputs"], **command["texts"]}]
        return "".join(parts).replace(holder, "{tmp}").replace(str(tree_of(program)), "{tree}")


def ended_badly(folder: Path) -> list[str]:
    """Queries and command lines that a program died on, never answered, found a broken invariant at, or that a sanitizer
    stopped: each with how."""
    queries = (folder / "queries.jsonl").read_text().splitlines()
    answers = (folder / "answers.jsonl").read_text().splitlines()
    found = [f"{query}: {answer}" for query, answer in zip(queries, answers, strict=True) 
             if answer.startswith('{"crash"') or '"error":"internal' in answer]
    bad = re.compile(rf"^(signal \d+|no answer in .*|exit code ({INTERNAL}|{SANITIZED}))$")
    for path in sorted((folder / "commands").glob("*.out")):
        lines = path.read_text().splitlines()
        found += [f"{path}: {before}: {line}" for before, line in zip(lines, lines[1:])
                  if before.startswith("$ ") and bad.match(line)]
    return found


def run_commands(program: Path, folder: Path, jobs: int) -> int:
    """Writes commands/NNNN.out in the order of commands.json. @returns how many"""
    commands = json.loads((folder / "commands.json").read_text())
    (folder / "commands").mkdir(exist_ok=True)
    times = []

    def one(at: int) -> None:
        before = time.monotonic()
        (folder / "commands" / f"{at:04}.out").write_text(run_command(program, commands[at]))
        times.append(f"{time.monotonic() - before:.4f} {commands[at]['lines'][0]}\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, range(len(commands))))
    (folder / "command-times.txt").write_text("".join(sorted(times, key=lambda line: -float(line.split()[0]))))
    return len(commands)
