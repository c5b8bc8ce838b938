#!/usr/bin/env python3
"""How many seeded defects do the tests catch? Builds the sources with the chosen defects of defects.txt, each asleep until
LINKCAST_MUTANT names it; runs every test once to see which defects it reaches; then wakes one defect after the other and
runs the tests that reach it, the shortest first, C++ before Python, until one fails. Lints and pages do not count: they
compare with our own output. An hour of CPU for all.
    python3 tests/mutation/mutation.py [--only ROOM or NUMBER ...] [--jobs 2] [--out score.json]
    python3 tests/mutation/mutation.py --check     the list still fits the sources"""
import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import defects as seeded

ROOT = Path(__file__).resolve().parents[2]
SUITES = ("unit", "physics", "paper", "refit", "python")
LEAST_TIMEOUT_S, LONGER = 30, 10  # a test that takes ten times as long as without the defect has failed
MOST_MEMORY_B = 6 << 30
SKIPPED = 77


def copy_tree(folder: Path, defects: list[seeded.Defect]) -> str:
    """Sources with the defects; what has not changed keeps its time, for ninja. @returns  a hash of all but the tests"""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           capture_output=True, check=True, text=True).stdout.split("\0")
    of_file: dict[str, list[seeded.Defect]] = {}
    for defect in defects:
        of_file.setdefault(defect.file, []).append(defect)
    wanted, digest = set(), hashlib.sha256()
    for name in sorted(filter(None, names)):
        source, target = ROOT / name, folder / name
        if not source.is_file():
            continue
        data = source.read_bytes()
        if name in of_file:
            data = seeded.mutated(data.decode(), of_file[name]).encode()
        if not name.startswith("tests/"):
            digest.update(name.encode() + b"\0" + data)
        wanted.add(target)
        if not target.is_file() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(source.stat().st_mode & 0o777)
    for old in [path for path in folder.rglob("*") if path.is_file() and path not in wanted and path.relative_to(folder).parts[0] != "build"]:
        old.unlink()
    return digest.hexdigest()


def build(source: Path, folder: Path, jobs: int) -> None:
    if not (folder / "build.ninja").is_file():
        subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DLINKCAST_PYTHON_MODULE=OFF"], check=True, stdout=sys.stderr)
    subprocess.run(["ninja", "-C", folder, f"-j{jobs}", "linkcast", "test_unit", "test_physics", "test_paper"], check=True, stdout=sys.stderr)


def tests_of(folder: Path) -> list[dict]:
    """As ctest knows them: name, command, working folder, suite."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout)
    tests = []
    for test in listed["tests"]:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        suite = next((label for label in properties.get("LABELS", []) if label in SUITES), None)
        if suite and test.get("command"):
            tests.append({"name": test["name"], "command": test["command"], "suite": suite,
                          "folder": properties.get("WORKING_DIRECTORY", str(folder)), "cpp": "/test_" in test["command"][0]})
    return tests


def run(test: dict, env: dict, timeout_s: float) -> tuple[int, float]:
    """@returns  exit code (124: out of time), seconds"""
    began = time.monotonic()
    process = subprocess.Popen(["prlimit", f"--data={MOST_MEMORY_B}", "--core=0", *test["command"]], cwd=test["folder"], env={**os.environ, **env},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        code = 124
    try:
        os.killpg(process.pid, signal.SIGKILL)  # of its own session: what it has started
    except ProcessLookupError:
        pass
    process.wait()
    return code, time.monotonic() - began


def reached_by(test: dict) -> dict | None:
    """The test without a defect: seconds, and the defects whose places it reaches; nothing if it fails or is skipped."""
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder) / "reached"
        code, seconds = run(test, {"LINKCAST_MUTANT_REACHED": str(seen)}, 1800)
        if code != 0:
            if code != SKIPPED:
                print(f"fails without a defect, left out: {test['name']}", file=sys.stderr)
            return None
        numbers = sorted({int(line) for line in seen.read_text().split()}) if seen.exists() else []
    return {**test, "seconds": seconds, "reached": numbers}


def baseline(folder: Path, digest: str, jobs: int, cpp: bool) -> list[dict]:
    """Each test once; of tests that an earlier run knows, what it found."""
    kept = folder / f"reached_{'cpp' if cpp else 'python'}.json"
    known = {}
    if kept.is_file():
        before = json.loads(kept.read_text())
        known = {test["name"]: test for test in before["tests"]} if before["digest"] == digest else {}
    tests = [one for one in tests_of(folder) if one["cpp"] == cpp]
    with ThreadPoolExecutor(jobs) as pool:
        found = [test for test in pool.map(lambda test: known.get(test["name"]) or reached_by(test), tests) if test]
    kept.write_text(json.dumps({"digest": digest, "tests": found}))
    print(f"{len(found)} tests, {sum(test['seconds'] for test in found):.0f} s", file=sys.stderr, flush=True)
    return found


def hunt(answer: dict, tests: list[dict], budget_s: float) -> None:
    """Runs the tests that reach a defect until one fails."""
    reaching = sorted((t for t in tests if answer["number"] in t["reached"]), key=lambda t: t["seconds"])
    answer["reached_by"] += len(reaching)
    began = time.monotonic()
    for test in reaching:
        if sum(t["seconds"] for t in reaching[:answer["run"]]) > budget_s:
            break
        code, _ = run(test, {"LINKCAST_MUTANT": str(answer["number"])}, max(LEAST_TIMEOUT_S, LONGER * test["seconds"]))
        answer["run"] += 1
        if code not in (0, SKIPPED):
            answer.update(caught_by=test["name"] + (" (time out)" if code == 124 else ""), cpp=test["cpp"])
            break
    verdict = "caught by " + answer["caught_by"] if answer["caught_by"] else f"survived {answer['run']} of {answer['reached_by']} tests"
    print(f"{answer['number']:4} {answer['file']}: {answer['means']}: {verdict}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def score(folder: Path, digest: str, chosen: list[seeded.Defect], options: argparse.Namespace) -> list[dict]:
    known = {one["means"]: one for one in json.loads(options.known.read_text())} if options.known else {}
    answers = []
    for one in chosen:
        before = known.get(one.means, {})
        answers.append({"number": one.number, "room": one.room, "file": one.file, "means": one.means, "reached_by": before.get("reached_by", 0),
                        "run": 0, "caught_by": before.get("caught_by", ""), "cpp": before.get("cpp", False)})
    for cpp in (True, False):
        left = [one for one in answers if not one["caught_by"]]
        if not left or (not cpp and options.cpp):
            break
        tests = baseline(folder, digest, options.jobs, cpp)
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda answer: hunt(answer, tests, options.budget), left))
        if options.out:
            options.out.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    return answers


def table(answers: list[dict]) -> str:
    lines = ["| room | defects | caught | of these by C++ tests | survived | not reached | score |", "| --- | --- | --- | --- | --- | --- | --- |"]
    rooms = list(dict.fromkeys(one["room"] for one in answers))
    for room in [*rooms, "all"]:
        here = [one for one in answers if room in (one["room"], "all")]
        caught = [one for one in here if one["caught_by"]]
        unreached = [one for one in here if not one["reached_by"]]
        lines.append(f"| {room} | {len(here)} | {len(caught)} | {sum(one['cpp'] for one in caught)} | {len(here) - len(caught) - len(unreached)} | "
                     f"{len(unreached)} | {100 * len(caught) / len(here):.0f} % |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="the list still fits the sources; builds nothing")
    parser.add_argument("--only", nargs="+", default=[], metavar="ROOM", help="rooms, or numbers of defects")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of the list: a sample")
    parser.add_argument("--cpp", action="store_true", help="the C++ tests alone")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS", help="of the tests for one defect, the shortest first")
    parser.add_argument("--known", type=Path, help="an older --out: what was caught there is not tried again (tests only came on top)")
    parser.add_argument("--out", type=Path, help="JSON: each defect and what caught it")
    options = parser.parse_args()
    try:
        all_defects = seeded.read()
        wrong = seeded.findings(all_defects, ROOT)
        for finding in wrong:
            print(finding)
        if wrong or not all_defects:
            return 1
        for file in {defect.file for defect in all_defects}:
            seeded.mutated((ROOT / file).read_text(encoding="utf-8"), [one for one in all_defects if one.file == file])
    except seeded.Malformed as error:
        print(error)
        return 1
    if options.check:
        print(f"{len(all_defects)} defects fit the sources")
        return 0
    chosen = [one for one in all_defects if not options.only or one.room in options.only or str(one.number) in options.only]
    chosen = chosen[::options.every]
    if not chosen:
        parser.error("--only: no such room: " + ", ".join(dict.fromkeys(one.room for one in all_defects)))
    digest = copy_tree(options.folder, chosen)  # sources without one are compiled already, as the program's
    folder = options.folder / "build"  # beside the sources as that of the program, so that ccache knows what has no defects
    build(options.folder, folder, options.jobs)
    answers = score(folder, digest, chosen, options)
    print(table(answers))
    for one in answers:
        if not one["caught_by"]:
            print(f"{'survived' if one['reached_by'] else 'not reached'}: {one['number']} {one['file']}: {one['means']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
