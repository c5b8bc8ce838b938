#!/usr/bin/env python3
"""Feeds mutated input to every reader, kind of query and path of the service, and counts the tries.

    python3 tests/fuzz/fuzz.py --seconds 120                       # of all
    python3 tests/fuzz/fuzz.py --seconds 3600 --only kineto        # an hour of one reader
    python3 tests/fuzz/fuzz.py --program build-debug/linkcast      # with sanitizers: .ci/check builds it

Right is exit code 0, 1 (errors inside a batch), 2 with one line, 4 (a comparison failed), of diagnose 5 (undecided), within a minute and 1 GiB. What else is found
is written to --keep, with the command that shows it. Exit code 1: something was found."""
import argparse
import http.client
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from mutate import of_json, of_text
from readers import READERS, filled

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 60  # a batch has 40 lines, which may take 2 s each; machines are busy
FINE = (0, 1, 2, 4)
UNDECIDED = 5


class Found(Exception):
    """What the program must not do."""


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(program: str, words: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess:
    env = {**os.environ, "LINKCAST_MAX_TIME": "2 s", "LINKCAST_MAX_MEMORY": "1GiB", "ASAN_OPTIONS": "allocator_may_return_null=1"}
    try:
        found = subprocess.run([program, *words], input=stdin, capture_output=True, timeout=LONGEST_S, check=False, preexec_fn=limited, env=env)
    except subprocess.TimeoutExpired:
        raise Found(f"still running after {LONGEST_S} s") from None
    errors = found.stderr.decode(errors="replace")
    fine = (*FINE, UNDECIDED) if words[0] == "diagnose" else FINE
    if found.returncode not in fine or "runtime error" in errors or "Sanitizer" in errors:
        raise Found(f"exit code {found.returncode}: {errors[-600:]}")
    if found.returncode == 2 and (errors.splitlines() or [""])[-1][:7] != "error: ":
        raise Found(f"exit code 2 without a line of ours: {errors[-300:]}")
    if found.returncode == 1 and words[0] != "predict":
        raise Found(f"exit code 1: {errors[-300:]}")
    return found


class Readers:
    def __init__(self, program: str, keep: Path):
        self.program, self.keep = program, keep

    def once(self, name: str, rng: random.Random) -> int:
        sample, command = rng.choice(READERS[name])
        data = of_text(sample.read_bytes()[:500_000].decode(errors="replace"), rng)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / sample.name
            path.write_bytes(data)
            try:
                run(self.program, filled(command, path))
            except Found as found:
                self.kept(name, data, sample.suffix, f"{' '.join(command)}\n{found}")
                raise
        return 1

    def kept(self, name: str, data: bytes, suffix: str, why: str) -> None:
        self.keep.mkdir(parents=True, exist_ok=True)
        number = len(list(self.keep.iterdir()))
        (self.keep / f"{name}-{number}{suffix}").write_bytes(data)
        (self.keep / f"{name}-{number}.why").write_text(why)


def examples(program: str) -> list[dict]:
    """Of every kind of query."""
    schema = json.loads(subprocess.run([program, "schema"], capture_output=True, check=True).stdout)
    found: list[dict] = []

    def search(value: object) -> None:
        if isinstance(value, dict):
            found.extend(one for one in value.get("examples", []) if isinstance(one, dict) and "kind" in one)
            for inner in value.values():
                search(inner)
        elif isinstance(value, list):
            for inner in value:
                search(inner)

    search(schema)
    return found or [json.loads(line) for line in (ROOT / "tests/input/batch_mixed.jsonl").read_text().splitlines() if line.startswith("{")]


class Batch(Readers):
    A_BATCH = 40

    def __init__(self, program: str, keep: Path):
        super().__init__(program, keep)
        self.queries = examples(program)

    def line(self, rng: random.Random) -> bytes:
        query = json.dumps(rng.choice(self.queries))
        return of_text(query, rng).replace(b"\n", b" ") + b"\n"

    def once(self, name: str, rng: random.Random) -> int:
        lines = [self.line(rng) for _ in range(self.A_BATCH)]
        try:
            found = run(self.program, ["predict", "--batch", "-"], b"".join(lines))
            answers = found.stdout.splitlines()
            if len(answers) != sum(1 for line in lines if line.strip()):
                raise Found(f"{len(answers)} answers")
            for line, answer in zip([line for line in lines if line.strip()], answers):
                if b'"error":"internal' in answer:
                    raise Found(f"{answer[:300].decode(errors='replace')} to {line[:300].decode(errors='replace')}")
        except Found as problem:
            self.kept(name, b"".join(lines), ".jsonl", str(problem))
            raise
        return self.A_BATCH


class Http(Batch):
    """Bodies to each path of a service; it must live on."""
    PATHS = ("/v1/query", "/v1/place", "/v1/nodes/a", "/v1/kubernetes/filter", "/v1/kubernetes/prioritize")
    POD = {"Pod": {"metadata": {"annotations": {"linkcast/job": "all_reduce:64MiB", "linkcast/platform": "v100-dgx1"}},
                   "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}},
           "Nodes": {"items": [{"metadata": {"name": "a", "annotations": {"linkcast/busy": "0,4-6"}}}]}}
    NODE = {"platform": "v100-dgx1", "busy": [0, "gpu5"], "with": [{"job": "all_reduce:64MiB", "gpus": [2, 3]}]}

    def __init__(self, program: str, keep: Path):
        super().__init__(program, keep)
        self.process: subprocess.Popen | None = None
        self.errors = tempfile.TemporaryFile()
        self.port = 0

    def start(self) -> None:
        self.process = subprocess.Popen([self.program, "serve", "--port", "0", "--deadline", "2s"], stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def once(self, name: str, rng: random.Random) -> int:
        if self.process is None:
            self.start()
        path = rng.choice(self.PATHS)
        seed = self.POD if "kubernetes" in path else self.NODE if "nodes" in path else rng.choice(self.queries)
        body = of_text(json.dumps(seed), rng) if rng.random() < 0.9 else json.dumps(of_json(seed, rng)).encode(errors="replace")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_S)
            connection.request("POST", path, body)
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            if answer.status >= 500 and answer.status not in (503, 504):
                raise Found(f"status {answer.status}: {text[:300].decode(errors='replace')}")
            if self.process.poll() is not None:
                raise Found(f"the service ended with {self.process.returncode}")
        except (Found, OSError, http.client.HTTPException) as problem:
            self.stop()
            self.errors.seek(0)
            why = f"POST {path}\n{problem!r}: {self.errors.read()[-600:].decode(errors='replace')}"
            self.kept(name, body, ".body", why)
            raise Found(why) from None
        return 1

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join([*READERS, "batch", "http"]), help="readers, batch, http")
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz-found")
    args = parser.parse_args()
    program = str(Path(args.program).resolve())
    readers, batch, service = Readers(program, args.keep), Batch(program, args.keep), Http(program, args.keep)
    who = {name: {"batch": batch, "http": service}.get(name, readers) for name in args.only.split(",")}
    rng, tries, found = random.Random(args.seed), Counter(), Counter()
    end = time.monotonic() + args.seconds
    try:
        while time.monotonic() < end:
            for name, one in who.items():
                try:
                    tries[name] += one.once(name, rng)
                except Found as problem:
                    tries[name] += 1
                    found[name] += 1
                    print(f"{name}: {problem}", file=sys.stderr, flush=True)
                if time.monotonic() >= end:
                    break
    finally:
        service.stop()
    print("| reader | tries | found |\n| --- | --- | --- |")
    for name in who:
        print(f"| {name} | {tries[name]} | {found[name]} |")
    print(f"\n{sum(tries.values())} tries, {sum(found.values())} found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
