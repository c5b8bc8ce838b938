#!/usr/bin/env python3
"""Runs the libFuzzer targets of tests/fuzz/targets, with ASan and UBSan, and counts the tries.

    cmake --preset fuzz && cmake --build --preset fuzz
    python3 tests/fuzz/targets.py --seconds 120                    # over all in turn
    python3 tests/fuzz/targets.py --seconds 3600 --only import-kineto,query
    python3 tests/fuzz/targets.py --seconds 0                      # seeds and all that was found before, once each

Seeds: tests/fuzz/seeds.py; what the fuzzer learns stays in --corpus between runs. What it finds is kept in --keep, and `linkcast_fuzz FILE`
with LINKCAST_FUZZ_TARGET shows it again. Exit code 1: something was found."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import fuzz
import seeds

ROOT = fuzz.ROOT
LONGEST_S = 180  # a try; at a low priority on busy machines a whole command with sanitizers took 74 s, 0.14 s in a release build
MOST_MB, MOST_AT_ONCE_MB = 3000, 1200


@dataclass
class Row:
    tries: int = 0
    found: list[str] = field(default_factory=list)
    seconds: float = 0


def queries(program: Path) -> list[bytes]:
    """Examples of the schema; without the program those of the tests."""
    lines = (ROOT / "tests/input/batch_mixed.jsonl").read_bytes().splitlines()
    if program.exists():
        lines += [json.dumps(query).encode() for query in fuzz.examples(str(program))]
    return lines


def quoted(word: bytes) -> str:
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}" for byte in word) + '"'


class Fuzzer:
    def __init__(self, args: argparse.Namespace):
        self.args, self.queries = args, queries(args.program)
        self.env = {**os.environ, "LINKCAST_DATA_DIR": str(ROOT), "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": "symbolize=1"}

    def names(self) -> list[str]:
        found = subprocess.run([self.args.fuzzer], env=self.env, capture_output=True, text=True, check=True).stdout.split()
        for name in self.args.only or []:
            if name not in found:
                sys.exit(f"error: --only: no target '{name}': one of {', '.join(found)}")
        return self.args.only or found

    def once(self, name: str, seconds: float) -> Row:
        row = Row()
        corpus = self.args.corpus / name
        corpus.mkdir(parents=True, exist_ok=True)
        self.args.keep.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
            start = Path(folder) / "seeds"
            start.mkdir()
            begin = seeds.of(name, self.queries)
            if not begin:
                row.found.append("no seeds: tests/fuzz/seeds.py names none")
                return row
            for number, seed in enumerate(begin):
                (start / f"{number:04}").write_bytes(seed)
            words = Path(folder) / "words.dict"
            words.write_text("\n".join(quoted(word) for word in seeds.words_of(begin)))
            end = time.monotonic() + seconds
            while not row.found or time.monotonic() < end and len(row.found) < self.args.most:
                left = end - time.monotonic()
                self.run(name, row, [corpus, start], Path(folder), ["-runs=0"] if seconds == 0 else [f"-max_total_time={max(1, int(left))}", f"-dict={words}"])
                if time.monotonic() >= end:
                    break
        row.seconds = seconds
        return row

    def run(self, name: str, row: Row, folders: list[Path], scratch: Path, more: list[str]) -> None:
        command = [self.args.fuzzer, *more, f"-timeout={LONGEST_S}", f"-rss_limit_mb={MOST_MB}", f"-malloc_limit_mb={MOST_AT_ONCE_MB}", f"-max_len={seeds.MOST_B}",
                   "-print_final_stats=1", "-use_value_profile=1", f"-artifact_prefix={self.args.keep}/{name}-", *map(str, folders)]
        env = {**self.env, "LINKCAST_FUZZ_TARGET": name, "LINKCAST_FUZZ_FOLDER": str(scratch), "TMPDIR": str(scratch)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", cwd=scratch, check=False)
        counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        row.tries += int(counted[1]) if counted else 0
        if done.returncode != 0:
            kept = re.search(r"Test unit written to (\S+)", done.stderr)
            row.found.append(kept[1] if kept else f"exit code {done.returncode}: {done.stderr[-400:]}")
            why = next((line for line in done.stderr.splitlines() if re.search(r"FOUND|runtime error|ERROR:|SUMMARY", line)), "")
            print(f"{name}: {row.found[-1]}: {why[:400]}", file=sys.stderr, flush=True)
            if kept:
                Path(kept[1] + ".why").write_text(done.stderr[-20000:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzzer", default=str(ROOT / "build-fuzz/tests/fuzz/targets/linkcast_fuzz"))
    parser.add_argument("--program", type=Path, default=ROOT / "build/linkcast", help="whose schema has examples of queries")
    parser.add_argument("--seconds", type=float, default=120, help="of all targets together")
    parser.add_argument("--only", type=lambda text: text.split(","), help="targets, see linkcast_fuzz without any word")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=int, default=20, help="findings of a target, then the next")
    parser.add_argument("--corpus", type=Path, default=ROOT / "build-fuzz/corpus")
    parser.add_argument("--keep", type=Path, default=ROOT / "build-fuzz/found")
    args = parser.parse_args()
    args.fuzzer, args.keep, args.corpus = str(Path(args.fuzzer).resolve()), args.keep.resolve(), args.corpus.resolve()
    fuzzer = Fuzzer(args)
    names = fuzzer.names()
    each = args.seconds * args.jobs / len(names)
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = dict(zip(names, pool.map(lambda name: fuzzer.once(name, each), names)))
    print("| target | tries | seconds | found |\n| --- | --- | --- | --- |")
    for name, row in rows.items():
        print(f"| {name} | {row.tries} | {row.seconds:.0f} | {len(row.found)} |")
    all_found = sum(len(row.found) for row in rows.values())
    print(f"\n{sum(row.tries for row in rows.values())} tries, {all_found} found")
    return 1 if all_found else 0


if __name__ == "__main__":
    sys.exit(main())
