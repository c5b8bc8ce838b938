"""Further faults: commands that write folders killed, Dask workers that die or come back late, clocks that jump."""
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import record_test
from drills import NODE, SEED, STUDY, Row, killed_after, last_line, linkcast, one_error
from program import PROGRAM, PYTHON, ROOT, has

MACHINE = ROOT / "tests/input/nccl-topology-4-h200.xml"
LONG = {**STUDY, "axes": {**STUDY["axes"], "gpus": {"subsets_of": 8, "sizes": [3, 4, 5]}, "size_B": {"from": "1KiB", "to": "1GiB", "factor": 2}}}
LONG_SCENARIOS = 2 * (56 + 70 + 56) * 21  # binomial coefficients of 8
CLUSTER = """
import sys
import dask
from distributed import LocalCluster
dask.config.set({"distributed.scheduler.worker-ttl": "2s"})
if __name__ == "__main__":
    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        print(cluster.scheduler_address, *[worker.pid for worker in cluster.workers.values()], flush=True)
        input()
"""
FAKETIME = next((path for path in (Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"), Path("/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"))
                 if path.exists()), None)
JUMPS = ("+0", "+40d", "-40d", "+1h", "-1h", "-2y")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def emulate_killed(times: int, folder: Path) -> Row:
    row = Row("kill -9 in `emulate --out`")
    make = lambda out: ["emulate", "--graphs", "--gpus", "3", "--onto", MACHINE, "--machine", "hgx-h200", "--out", out]
    begin = time.monotonic()
    assert linkcast(*make(folder / "whole"), folder=folder).returncode == 0
    longest_s, whole = time.monotonic() - begin, contents(folder / "whole")
    rng, out = random.Random(SEED), folder / "out"
    for _ in range(times):
        shutil.rmtree(out, ignore_errors=True)
        killed_after(make(out), folder, rng.uniform(0, longest_s))
        row.times += 1
        there = contents(out) if out.exists() else {}
        row.half += sum(whole.get(name) != data for name, data in there.items())
        again = linkcast(*make(out), folder=folder)
        row.wrong += again.returncode != 0
        row.lost += contents(out) != whole
    row.message = "each file is the whole one; the same command again writes the folder"
    return row


def record_killed(times: int, folder: Path) -> Row:
    """With the PyTorch of record_test.py, which only pretends."""
    row = Row("kill -9 in `record`")
    for name, text in record_test.FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = {**os.environ, "PYTHONPATH": str(folder)}
    words = ["record", "--out", "steps", "--warm-up", 2, "--untraced", 4, "--recorded", 3, "--", sys.executable, "train.py", 12]
    begin = time.monotonic()
    assert linkcast(*words, folder=folder, env=env).returncode == 0
    longest_s, rng, steps = time.monotonic() - begin, random.Random(SEED), folder / "steps"
    for number in range(times):
        shutil.rmtree(steps, ignore_errors=True)
        killed_after(words, folder, rng.uniform(longest_s / 2, longest_s) if number else longest_s * 3, env=env)
        row.times += 1
        there = (steps / "rank0.json").exists()
        again = linkcast(*words, folder=folder, env=env)  # the whole bundle that is there must stay
        if there:
            row.wrong += not one_error(again)
            row.message = last_line(again.stderr, folder)
        else:
            row.lost += again.returncode != 0
        row.half += linkcast("import", "kineto", steps / "rank0.json", "--out", folder / "trace.jsonl", folder=folder).returncode != 0
    return row


def dask_workers(how: signal.Signals) -> Callable[[int, Path], Row]:
    """One is killed, or stopped until the scheduler has given it up, and goes on then."""
    def drill(times: int, folder: Path) -> Row:
        row = Row("a Dask worker dies" if how == signal.SIGKILL else "a Dask worker comes back after it was given up")
        if not has("distributed"):
            row.message = "not run: needs the Python package distributed"
            return row
        (folder / "study.json").write_text(json.dumps(LONG))
        assert linkcast("sweep", "study.json", "--out", "whole", folder=folder).returncode == 0
        whole = (folder / "whole" / "table.csv").read_bytes()
        rng = random.Random(SEED)
        for number in range(times):
            struck(row, folder, folder / f"out{number}", whole, how, rng.uniform(0.3, 2.5))
        row.message = row.message or "its scenarios are asked of another worker; the table has the same bytes"
        return row
    return drill


def struck(row: Row, folder: Path, out: Path, whole: bytes, how: signal.Signals, after_s: float) -> None:
    cluster = subprocess.Popen([PYTHON, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
    sweep = None
    try:
        address, *workers = cluster.stdout.readline().split()
        sweep = subprocess.Popen([str(PROGRAM), "sweep", "study.json", "--scheduler", address, "--out", str(out)], cwd=folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        parts, end = out / "parts", time.monotonic() + 60
        while not parts.exists() and time.monotonic() < end and sweep.poll() is None:
            time.sleep(0.05)
        time.sleep(after_s)
        row.times += sweep.poll() is None  # else there was nothing left to strike
        os.kill(int(workers[0]), how)
        if how == signal.SIGSTOP:
            time.sleep(5)
            os.kill(int(workers[0]), signal.SIGCONT)
        errors = sweep.communicate(timeout=240)[1]
    except ProcessLookupError:  # given up and ended by its nanny meanwhile
        errors = sweep.communicate(timeout=240)[1]
    finally:
        if sweep is not None and sweep.poll() is None:
            sweep.kill()
        cluster.communicate("\n", timeout=120)
    if sweep.returncode != 0:  # the cluster lost what had not come to a second worker: it must say how to go on, and that must do
        row.message = last_line(errors, folder)
        row.wrong += "to go on: the same command with --resume" not in row.message
        row.wrong += linkcast("sweep", "study.json", "--out", out, "--resume", folder=folder).returncode != 0
    numbers = []
    for line in map(json.loads, (out / "journal.jsonl").read_text().splitlines()[1:]):
        numbers += [json.loads(row)["scenario"] for row in (out / line["part"]).read_text().splitlines()] if "part" in line else [line["scenario"]]
    row.double += len(numbers) - len(set(numbers))
    row.lost += LONG_SCENARIOS - len(set(numbers))
    row.half += (out / "table.csv").read_bytes() != whole


def jumping(clock: Path, ended: threading.Event, rng: random.Random) -> None:
    while not ended.wait(0.2):
        draft = clock.with_suffix(".new")
        draft.write_text(rng.choice(JUMPS) + "\n")
        draft.replace(clock)


def clocks_jump(times: int, folder: Path) -> Row:
    """The wall clock goes by days while a sweep and a service run; deadlines of 5 s must not notice."""
    row = Row("the wall clock jumps by hours to years, in `sweep`, `serve --deadline 5s` and a replay with a time limit")
    if FAKETIME is None:
        row.message = "not run: needs libfaketime"
        return row
    (folder / "study.json").write_text(json.dumps(STUDY))
    assert linkcast("sweep", "study.json", "--out", "whole", folder=folder).returncode == 0
    whole, clock = (folder / "whole" / "table.csv").read_bytes(), folder / "clock"
    clock.write_text("+0\n")
    env = {**os.environ, "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    year = subprocess.run(["date", "+%s"], env={**env, "FAKETIME_TIMESTAMP_FILE": "", "FAKETIME": "-2y"}, capture_output=True, text=True, check=True).stdout
    assert int(year) < time.time() - 3e7, "libfaketime does nothing here"
    ended = threading.Event()
    clocks = threading.Thread(target=jumping, args=(clock, ended, random.Random(SEED)))
    clocks.start()
    try:
        for number in range(times):
            row.times += 1
            done = linkcast("sweep", "study.json", "--jobs", "2", "--out", f"out{number}", folder=folder, env=env)
            row.wrong += done.returncode != 0
            row.half += done.returncode == 0 and (folder / f"out{number}" / "table.csv").read_bytes() != whole
            row.lost += asked_of_a_service(folder, env)
            replay = linkcast("--max-time", "60s", "replay", "data_parallel", "--platform", "hgx-h200", "--option", "steps=300", folder=folder, env=env)
            row.wrong += replay.returncode != 0
    finally:
        ended.set()
        clocks.join()
    row.message = row.message or "nothing is noticed: deadlines, paces and estimates are of the steady clock"
    return row


def asked_of_a_service(folder: Path, env: dict[str, str]) -> int:
    """@returns  requests that were not answered 200"""
    process = subprocess.Popen([str(PROGRAM), "serve", "--port", "0", "--platform", "v100-dgx1", "--deadline", "5s", "--state", str(folder / "nodes.json")],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    bad = 0
    try:
        connection = http.client.HTTPConnection("127.0.0.1", int(process.stdout.readline().rsplit(":", 1)[1]), timeout=60)
        for number in range(200):
            connection.request("POST", f"/v1/nodes/n{number % 7}" if number % 2 else "/v1/place",
                               json.dumps(NODE if number % 2 else {"platform": "v100-dgx1", "job": f"all_reduce:{number + 1}KiB", "ranks": 3}))
            answer = connection.getresponse()
            answer.read()
            bad += answer.status != 200
            time.sleep(0.005)
        connection.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    return bad


MORE: dict[str, Callable[[int, Path], Row]] = {
    "emulate": emulate_killed, "record": record_killed, "dask_dies": dask_workers(signal.SIGKILL), "dask_late": dask_workers(signal.SIGSTOP), "clock": clocks_jump,
}
