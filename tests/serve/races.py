#!/usr/bin/env python3
"""Whether threads of the service, of sweeps and of the command line race, as ThreadSanitizer sees it.

    cmake --preset tsan && cmake --build --preset tsan
    python3 tests/serve/races.py --program build-tsan/linkcast

Runs the tests of the service and of sweeps, drills, and half a minute of mixed requests at once. Tests of Ctrl-C are left out:
ThreadSanitizer holds signals back while a thread computes. Exit code 1: a race, or a test that fails."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = {  # name and words; {} is the program
    "serve": ["tests/serve/serve_test.py", "--program", "{}"],
    "limits": ["tests/serve/limits_test.py", "--program", "{}"],
    "kubernetes": ["tests/serve/kubernetes_test.py", "--program", "{}"],
    "slurm": ["tests/serve/slurm_nodes_test.py", "--program", "{}"],
    "groups": ["tests/serve/groups_test.py", "--program", "{}"],
    "mixed": ["tests/bench/serve_hold.py", "--program", "{}", "--minutes", "0.5", "--every", "0.25", "--rate", "40", "--most-growth-MiB", "500"],
    "jobs": ["tests/python/jobs_test.py", "--program", "{}"],
    "sweep": ["tests/python/sweep_test.py", "--program", "{}", "Study"],
    "sweep_kill": ["tests/python/sweep_kill_test.py", "--program", "{}", "Kill"],
    "drills": ["tests/python/drills_test.py", "--program", "{}", "Drills.test_serve", "Drills.test_two", "Drills.test_growing"],
}


def races_in(folder: Path) -> dict[str, int]:
    """How often each place is reported."""
    found: dict[str, int] = {}
    for path in folder.iterdir():
        for what in re.findall(r"SUMMARY: ThreadSanitizer: (.*)", path.read_text(errors="replace")):
            found[what] = found.get(what, 0) + 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build-tsan/linkcast")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(RUNS))
    args = parser.parse_args()
    bad = 0
    print("| run | s | exit code | races |\n| --- | --- | --- | --- |")
    for name in args.only:
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "TSAN_OPTIONS": f"log_path={folder}/report halt_on_error=0 exitcode=0 suppressions={ROOT}/tests/serve/tsan.supp"}
            begin = time.monotonic()
            words = [str(args.program.resolve()) if word == "{}" else word for word in RUNS[name]]
            done = subprocess.run([sys.executable, "-B", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
            races = races_in(Path(folder))
            print(f"| {name} | {time.monotonic() - begin:.0f} | {done.returncode} | {sum(races.values())} |", flush=True)
            bad += done.returncode != 0 or bool(races)
            for what, times in races.items():
                print(f"{times} times: {what}", file=sys.stderr)
            if races:
                print(next(Path(folder).iterdir()).read_text(errors="replace")[:6000], file=sys.stderr)
            if done.returncode != 0:
                print((done.stdout + done.stderr)[-3000:], file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
