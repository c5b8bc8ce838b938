"""Faults of many kinds, many times each, and what of the work was lost, double or half-written after each.

A drill is a function of how often; it gives back a Row. What it finds wrong it counts, and goes on."""
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from program import PROGRAM, ROOT

SEED = 20261124
STUDY = {"schema": "linkcast/study/1", "name": "drill", "query": {"kind": "collective", "op": "all_reduce"},
         "axes": {"platform": ["p100-dgx1", "v100-dgx1"], "gpus": {"subsets_of": 8, "sizes": [3, 4]}, "size_B": ["1KiB", "1MiB", "64MiB"]},
         "plots": [{"x": "gpu_count", "y": "busbw_Bps"}]}
IMPORT = ["import", "nccl-tests", ROOT / "tests/input/import/nccl-all_reduce_perf-p100.txt", "--machine", "m", "--topology", "p100-dgx1"]
SCENARIOS = 2 * (56 + 70) * 3  # binomial coefficients of 8
NODE = {"platform": "v100-dgx1", "busy": [0]}
READERS = {  # a sample of each kind of input, and the command that reads it; {} is the file
    "nccl-all_reduce_perf-p100.txt": ("import", "nccl-tests", "{}", "--machine", "m", "--topology", "p100-dgx1"),
    "nvbandwidth-h100.json": ("import", "nvbandwidth", "{}", "--machine", "m", "--topology", "hgx-h100"),
    "osu-bw-nv4.txt": ("import", "osu", "{}", "--machine", "m", "--topology", "v100-dgx1", "--option", "src=gpu0", "--option", "dst=gpu1"),
    "../../../apps-traces/samples/h200x4-alexnet.jsonl": ("replay", "{}", "--platform", "hgx-h200"),
    "../../../topologies/dgx2.json": ("check", "{}"),
    "../../../calibrate/data/p100-dgx1/p2p-matrix.json": ("check", "{}"),
    "../../../docs/fabrics/dragonfly.json": ("check", "{}"),
}


@dataclass
class Row:
    fault: str
    times: int = 0
    lost: int = 0
    double: int = 0
    half: int = 0
    wrong: int = 0  # neither an answer nor one line that says what is wrong, with its exit code
    message: str = ""

    def bad(self) -> int:
        return self.lost + self.double + self.half + self.wrong


def linkcast(*words: object, folder: Path, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(PROGRAM), *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300, check=False, **more)


def killed_after(words: list[object], folder: Path, seconds: float, **more) -> None:
    """All of its processes, as a machine that loses power."""
    process = subprocess.Popen([str(PROGRAM), *map(str, words)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, **more)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def last_line(text: str, folder: Path) -> str:
    lines = [line for line in text.replace(str(folder) + "/", "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def one_error(found: subprocess.CompletedProcess) -> bool:
    return found.returncode == 2 and found.stderr.startswith("error: ") and found.stderr.count("\n") == 1


def sweep_killed(times: int, folder: Path) -> Row:
    row = Row("kill -9 in `sweep`, then `--resume`")
    (folder / "study.json").write_text(json.dumps(STUDY))
    assert linkcast("sweep", "study.json", "--out", "whole", folder=folder).returncode == 0
    whole = (folder / "whole" / "table.csv").read_bytes()
    rng = random.Random(SEED)
    for number in range(times):
        out = folder / f"out{number}"
        words = ["sweep", "study.json", "--jobs", "2", "--out", out]
        for turn in range(2):
            killed_after(words + (["--resume"] if turn and (out / "journal.jsonl").exists() else []), folder, rng.uniform(0.2, 2.5))
        if (out / "journal.jsonl").exists():
            stopped = linkcast(*words, folder=folder)
            if stopped.returncode == 2:
                row.message = last_line(stopped.stderr, folder)
        done = linkcast(*words, "--resume", folder=folder)
        row.times += 1
        if done.returncode != 0:
            row.lost += 1
            row.message = last_line(done.stderr, folder)
            continue
        numbers = [json.loads(line)["scenario"] for line in (out / "journal.jsonl").read_text().splitlines()[1:]]
        row.double += len(numbers) - len(set(numbers))
        row.lost += SCENARIOS - len(set(numbers))
        row.half += (out / "table.csv").read_bytes() != whole
    return row


def journal_damaged(times: int, folder: Path) -> Row:
    row = Row("journal of a sweep damaged: bytes changed, cut, lines repeated")
    (folder / "study.json").write_text(json.dumps(STUDY))
    assert linkcast("sweep", "study.json", "--out", "whole", folder=folder).returncode == 0
    whole, journal = (folder / "whole" / "table.csv").read_bytes(), (folder / "whole" / "journal.jsonl").read_bytes()
    rng = random.Random(SEED)
    for number in range(times):
        out = folder / f"out{number}"
        out.mkdir()
        at = rng.randrange(len(journal))
        way = rng.choice(("cut", "byte", "digit", "repeat"))
        lines = journal.splitlines(keepends=True)
        digit = journal.index(b'"time_s":', at % (len(journal) // 2)) + 9  # it stays JSON
        damaged = {"cut": journal[:at], "byte": journal[:at] + bytes([rng.randrange(256)]) + journal[at + 1:],
                   "digit": journal[:digit] + (b"1" if journal[digit:digit + 1] != b"1" else b"2") + journal[digit + 1:],
                   "repeat": b"".join(lines[:50] + lines[20:])}[way]
        (out / "journal.jsonl").write_bytes(damaged)
        done = linkcast("sweep", "study.json", "--out", out, "--resume", folder=folder)
        row.times += 1
        if done.returncode == 2:
            row.message = last_line(done.stderr, folder)
            row.wrong += not one_error(done)
        elif done.returncode == 0:
            row.half += (out / "table.csv").read_bytes() != whole
            row.double += (out / "table.csv").read_bytes().count(b"\n") != SCENARIOS + 1
        else:
            row.wrong += 1
            row.message = last_line(done.stderr, folder)
    return row


def two_sweeps(times: int, folder: Path) -> Row:
    row = Row("two sweeps at once in one folder")
    (folder / "study.json").write_text(json.dumps(STUDY))
    for number in range(times):
        out = folder / f"out{number}"
        both = [subprocess.Popen([str(PROGRAM), "sweep", "study.json", "--out", str(out)], cwd=folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        ends = sorted((process.communicate(timeout=300)[1], process.returncode) for process in both)
        row.times += 1
        codes = sorted(code for _, code in ends)
        row.wrong += codes != [0, 2]
        for text, code in ends:
            if code == 2:
                row.message = last_line(text, folder)
        numbers = [json.loads(line)["scenario"] for line in (out / "journal.jsonl").read_text().splitlines()[1:]]
        row.double += len(numbers) - len(set(numbers))
        row.lost += SCENARIOS - len(set(numbers))
    return row


def file_killed(name: str, make: Callable[[Path], list[object]], longest_s: float) -> Callable[[int, Path], Row]:
    """A command that writes one file: the old one or the new one must be there, whole."""
    def drill(times: int, folder: Path) -> Row:
        row = Row(f"kill -9 in `{name}`")
        target = folder / "whole"
        assert linkcast(*make(target), folder=folder).returncode == 0
        whole = target.read_bytes()
        rng = random.Random(SEED)
        out = folder / "out"
        for number in range(times):
            old = b"what was here before" if number % 2 else None
            out.unlink(missing_ok=True)
            if old is not None:
                out.write_bytes(old)
            killed_after(make(out), folder, rng.uniform(0, longest_s))
            row.times += 1
            found = out.read_bytes() if out.exists() else None
            row.half += found not in (old, whole)
            row.lost += found is None and old is not None
        again = linkcast(*make(out), folder=folder)
        row.wrong += again.returncode != 0 or out.read_bytes() != whole
        row.message = "the old file or the new one; the same command again writes it"
        return row
    return drill


def serve_killed(times: int, folder: Path) -> Row:
    import http.client
    row = Row("kill -9 in `serve --state`, restarted; each acknowledged state asked for")
    state, known = folder / "nodes.json", 0
    rng = random.Random(SEED)
    for _ in range(times):
        process = subprocess.Popen([str(PROGRAM), "serve", "--port", "0", "--platform", "v100-dgx1", "--state", str(state)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        line = process.stdout.readline()
        row.times += 1
        if not line.startswith("listening"):
            row.half += 1
            row.message = last_line(process.stderr.read(), folder)
            break
        connection = http.client.HTTPConnection("127.0.0.1", int(line.rsplit(":", 1)[1]), timeout=60)
        connection.request("GET", "/v1/nodes")
        there = json.loads(connection.getresponse().read())
        row.lost += max(0, known - len(there))
        known = len(there)
        until = time.monotonic() + rng.uniform(0.05, 0.6)
        while time.monotonic() < until:
            connection.request("POST", f"/v1/nodes/n{known}", json.dumps(NODE))
            if json.loads(connection.getresponse().read()).get("platform"):
                known += 1
        connection.request("POST", f"/v1/nodes/n{known}", json.dumps(NODE))  # killed with it on its way
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        connection.close()
        process.stdout.close()
        process.stderr.close()
    row.message = row.message or f"{known} states"
    return row


def full_disk(times: int, folder: Path) -> Row:
    """A file system of 64 KiB, in a mount namespace of its own; root alone may make one."""
    row = Row("full disk, while `trace`, `report`, `predict > FILE`, `sweep` write")
    (folder / "study.json").write_text(json.dumps(STUDY))
    (folder / "batch.jsonl").write_text('{"kind":"p2p","platform":"p100-dgx1","src":0,"dst":1,"size_B":1e6}\n' * 300)
    small = folder / "small"
    small.mkdir()
    commands = (f"{PROGRAM} trace data_parallel --option steps=400 --out small/t.jsonl", f"{PROGRAM} predict --batch batch.jsonl > small/a",
                f"{PROGRAM} sweep study.json --out small/s", f"{PROGRAM} trace data_parallel --option steps=400 > small/t")
    for number in range(times):
        command = commands[number % len(commands)]
        script = f"mount -t tmpfs -o size=64k none {small} && ({command}); code=$?; ls small | grep -v partial | head -5; exit $code"
        found = subprocess.run(["unshare", "-m", "bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        if "unshare failed" in found.stderr or "mount:" in found.stderr:
            row.message = "not run: needs root"
            return row
        row.times += 1
        row.half += "t.jsonl" in found.stdout
        row.wrong += found.returncode not in (1, 2) or "error: " not in found.stderr
        row.wrong += "sweep" in command and (found.returncode != 2 or "small/s/" not in found.stderr)
        row.message = last_line(found.stderr, folder)
    return row


def no_place(times: int, folder: Path) -> Row:
    row = Row("folders that cannot be written, `--out` of each command")
    (folder / "study.json").write_text(json.dumps(STUDY))
    (folder / "answer.json").write_text("{}")
    commands = (["trace", "bfs", "--out", "/proc/x"], ["sweep", "study.json", "--out", "/proc/x"],
                [*IMPORT, "--out", "/proc/x"],
                ["replay", "bfs", "--platform", "hgx-h200", "--timeline", "/proc/x"], ["serve", "--state", "/proc/x", "--port", "0"],
                ["serve", "--log", "/proc/x/y", "--port", "0"], ["calibrate", "fit", *sorted((ROOT / "calibrate/data/p100-dgx1").glob("*.json")),
                                                                "--topology", "p100-dgx1", "--bootstrap", 0, "--out", "/proc/x"])
    for number in range(times):
        found = linkcast(*commands[number % len(commands)], folder=folder)
        row.times += 1
        good = found.returncode == 2 and last_line(found.stderr, folder).startswith("error: --")
        row.wrong += not good
        if good and not row.wrong or not good:
            row.message = ("" if good else f"{commands[number % len(commands)][0]}: {found.returncode} ") + last_line(found.stderr, folder)
    return row


def closed_output(times: int, folder: Path) -> Row:
    row = Row("closed or full standard output: `| head -1`, `> /dev/full`")
    (folder / "batch.jsonl").write_text('{"kind":"p2p","platform":"p100-dgx1","src":0,"dst":1,"size_B":1e6}\n' * 2000)
    commands = ("predict --batch batch.jsonl", "trace data_parallel --option steps=2000", "show hgx-h200 --json", "list platforms", "help --man")
    for number in range(times):
        command, full = commands[number // 2 % len(commands)], number % 2
        script = f"set -o pipefail; timeout 60 {PROGRAM} {command} " + ("> /dev/full" if full else "| head -1 > /dev/null")
        found = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        row.times += 1
        good = (found.returncode in (1, 2) and found.stderr.startswith("error: ")) if full else found.returncode in (0, 1, 128 + signal.SIGPIPE)
        row.wrong += not good
        if full or not good:
            row.message = f"{last_line(found.stderr, folder)}" if good else f"{command}: {found.returncode} {last_line(found.stderr, folder)}"
    return row


def cut_inputs(times: int, folder: Path) -> Row:
    row = Row("inputs cut off at any byte, one of each kind of reader")
    rng = random.Random(SEED)
    samples = list(READERS.items())
    for number in range(times):
        name, command = samples[number % len(samples)]
        source = ROOT / "tests" / "input" / "import" / name
        whole = source.read_bytes()
        path = folder / Path(name).name
        path.write_bytes(whole[:rng.randrange(len(whole))])
        found = linkcast(*[path if word == "{}" else word for word in command], folder=folder)
        row.times += 1
        good = found.returncode == 0 or one_error(found)
        row.wrong += not good
        if not good or not row.message or found.returncode == 2 and row.wrong == 0:
            row.message = ("" if good else f"{name}, {path.stat().st_size} bytes: {found.returncode} ") + last_line(found.stderr, folder)
    return row


def growing_input(times: int, folder: Path) -> Row:
    row = Row("a batch that grows while it is read")
    line = '{"kind":"p2p","platform":"p100-dgx1","src":0,"dst":1,"size_B":1e6}\n'
    for number in range(times):
        path = folder / f"batch{number}.jsonl"
        path.write_text(line * 50)
        process = subprocess.Popen([str(PROGRAM), "predict", "--batch", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with open(path, "a", encoding="utf-8") as file:
            for _ in range(50):
                file.write(line)
                file.flush()
        answers = process.communicate(timeout=120)[0].splitlines()
        row.times += 1
        row.lost += len(answers) < 50
        row.half += any("error" in json.loads(answer) and "time_s" not in json.loads(answer) for answer in answers[:50])
        row.wrong += process.returncode not in (0, 1)
    row.message = "each whole line is answered, in order"
    return row


FIT = ["calibrate", "fit", *sorted((ROOT / "calibrate/data/p100-dgx1").glob("*.json")), "--topology", "p100-dgx1", "--bootstrap", 20]
DRILLS: dict[str, Callable[[int, Path], Row]] = {
    "sweep": sweep_killed, "journal": journal_damaged, "two": two_sweeps,
    "fit": file_killed("calibrate fit --out", lambda out: [*FIT, "--out", out], 3),
    "trace": file_killed("trace --out", lambda out: ["trace", "data_parallel", "--option", "steps=3000", "--out", out], 1.2),
    "import": file_killed("import --out", lambda out: [*IMPORT, "--out", out], 0.2),
    "timeline": file_killed("replay --timeline", lambda out: ["replay", "data_parallel", "--platform", "hgx-h200", "--option", "steps=200",
                                                             "--timeline", out], 1),
    "report": file_killed("report --out", lambda out: ["report", ROOT / "docs/sweep/table.csv", "--out", out] if (ROOT / "docs/sweep/table.csv").exists()
                          else ["report", answer_file(), "--out", out], 1.5),
    "serve": serve_killed, "disk": full_disk, "folders": no_place, "output": closed_output, "cut": cut_inputs, "growing": growing_input,
}


def answer_file() -> Path:
    path = Path(tempfile.gettempdir()) / f"linkcast-drill-{os.getpid()}.json"
    if not path.exists():
        path.write_text(subprocess.run([str(PROGRAM), "predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size",
                                        "1MiB", "--json"], capture_output=True, text=True, check=True).stdout)
    return path


def run_drill(drill: Callable[[int, Path], Row], times: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        return drill(times, Path(folder))
