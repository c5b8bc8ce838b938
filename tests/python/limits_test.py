#!/usr/bin/env python3
"""What would take too much is refused before it begins, and Ctrl-C says what was done.

With --table: estimates beside what replays took; with --imports: beside what imports took."""
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import program
from program import PROGRAM, ROOT, answers, run, start

DATA_PARALLEL = {"kind": "replay", "platform": "hgx-h200", "trace": "data_parallel"}
TRANSFORMER = {"kind": "replay", "platform": "hgx-h200", "trace": "transformer"}
FACTOR = 4  # source: docs/robustness.md, within which the estimate lies; of time, on one core of our machines
LARGE = [  # ranks and steps of replays, from a tenth of a second on
    ("data_parallel", "hgx-h200", {"ranks": 8, "steps": 500}, ()),
    ("data_parallel", "hgx-h200", {"ranks": 2, "steps": 4000}, ()),
    ("data_parallel", "gb200-nvl72", {"ranks": 72, "steps": 60}, ()),
    ("expert_parallel", "hgx-h200", {"steps": 100}, ()),
    ("transformer", "hgx-h200", {"tp": 8, "steps": 2}, ()),
    ("transformer", "alps", {"tp": 4, "pp": 2, "dp": 4, "steps": 3}, ("--nodes", "8")),
    ("data_parallel", "alps", {"ranks": 1024, "steps": 3}, ("--nodes", "256")),
]
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "s": 1, "min": 60, "h": 3600}


def cost_of(trace: str, platform: str, options: dict, more: tuple) -> tuple[list[str], dict, dict]:
    """The command; what is estimated and what it took: events, bytes, seconds of CPU."""
    command = [str(PROGRAM), "replay", trace, "--platform", platform, "--json", *more]
    for key, value in options.items():
        command += ["--option", f"{key}={value}"]
    refused = subprocess.run([*command, "--max-time", "1e-9s"], capture_output=True, text=True, check=False)
    said = re.search(r"about (\S+) events, (\S+) (\S+) of memory and (\S+) (\S+?),", refused.stderr)
    assert said, refused.stderr
    estimate = {"events": float(said[1]), "B": float(said[2]) * UNITS[said[3]], "s": float(said[4]) * UNITS[said[5]]}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = {"events": json.loads(done.stdout)["events"], "s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
    return command, estimate, took


def imports(folder: Path) -> list[tuple[str, Path, tuple, float]]:
    """Files of some megabytes: what, where, words, and which share of the estimate is what it takes at least: a format's estimate is
    that of its dearest file."""
    inputs = ROOT / "tests/input"
    measurement = ("--machine", "m", "--topology")
    ends = ("--option", "src=gpu0", "--option", "dst=gpu1")
    head = "source,target,size_B,time_s,transport,direction,engine\n"
    made = {"points.csv": head + "".join(f"gpu0,gpu1,{1024 + i},{1e-6 * (i + 1)},peer,read,ce\n" for i in range(80000)),
            "goal.txt": "num_ranks 1\nrank 0 {\n" + "".join(f"l{i}: calc {i + 1}\n" + (f"l{i} requires l{i - 1}\n" if i else "") for i in range(150000)) + "}\n",
            "ti.txt": "".join(f"{rank} {word}\n" for rank in (0, 1) for word in ["init", *["compute 1e6", "allreduce 1000 100 0"] * 60000, "finalize"])}
    for name in ("perftest-write-bw.txt", "ucx-tag-bw.txt", "p2p-p100-cuda8.txt"):
        text = (inputs / "import" / name).read_text()
        made[name] = text * (3_000_000 // len(text))
    log = (inputs / "traces/nccl-log-one-process.txt").read_text().splitlines(True)
    made["nccl-log.txt"] = "".join([*log[:4], *log[4:] * 4000])
    dump = json.loads((inputs / "traces/flight-recorder-rank-0.json").read_text())
    dump["entries"] *= 3_000_000 // len(json.dumps(dump["entries"]))
    made["flight.json"] = json.dumps(dump)
    for name, text in made.items():
        (folder / name).write_text(text)
    return [("csv", folder / "points.csv", ("csv", *measurement, "hgx-h200", "--option", "timing=single"), 1),
            ("perftest", folder / "perftest-write-bw.txt", ("perftest", *measurement, "hgx-h200", *ends), 0.1),
            ("ucx_perftest", folder / "ucx-tag-bw.txt", ("ucx_perftest", *measurement, "hgx-h200", *ends, "--option", "runs=same"), 0.1),
            ("p2pBandwidthLatencyTest", folder / "p2p-p100-cuda8.txt", ("p2pBandwidthLatencyTest", *measurement, "p100-dgx1"), 0.1),
            ("goal", folder / "goal.txt", ("goal",), 1),
            ("flight-recorder", folder / "flight.json", ("flight-recorder",), 1),
            ("nccl-log", folder / "nccl-log.txt", ("nccl-log",), 1),
            ("simgrid-ti", folder / "ti.txt", ("simgrid-ti", "--option", "flops-per-second=1e12"), 1)]


def cost_of_import(path: Path, words: tuple) -> tuple[dict, dict]:
    """What is estimated and what it took: megabytes, bytes of memory, seconds of CPU."""
    command = [str(PROGRAM), "import", words[0], str(path), *words[1:]]
    refused = subprocess.run([*command, "--max-time", "1e-9s"], capture_output=True, text=True, check=False)
    said = re.search(r"about (\S+) MB, (\S+) (\S+) of memory and (\S+) (\S+?),", refused.stderr)
    assert said, refused.stderr
    estimate = {"MB": float(said[1]), "B": float(said[2]) * UNITS[said[3]], "s": float(said[4]) * UNITS[said[5]]}
    with open(os.devnull, "wb") as nothing, subprocess.Popen(command, stdout=nothing, stderr=nothing) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return estimate, {"MB": path.stat().st_size / 1e6, "B": usage.ru_maxrss * 1024, "s": usage.ru_utime + usage.ru_stime}


class Estimates(unittest.TestCase):
    def test_close_to_what_it_takes(self):
        for row in LARGE:
            command, estimate, took = cost_of(*row)
            with self.subTest(" ".join(command[1:]), estimate=estimate, took=took):
                self.assertAlmostEqual(estimate["events"] / took["events"], 1, delta=0.05)
                self.assertLess(took["s"] / FACTOR, estimate["s"])
                self.assertLess(estimate["s"], took["s"] * FACTOR)


class Refused(program.InFolder):
    def refused(self, query: dict, what: str, seconds: float = 10):
        begin = time.monotonic()
        error = answers([query])[0]["error"]
        self.assertIn(what, error)
        self.assertLess(time.monotonic() - begin, seconds)

    def test_layers_and_steps(self):
        for tensor in (1, 8):
            self.refused({**TRANSFORMER, "options": {"layers": 100000, "steps": 100000, "tp": tensor}}, "more than the limit of 4 GiB and 10 min")

    def test_ranks_and_steps(self):
        for options, what in (({"ranks": 10**9}, "more than 1000000 ranks"), ({"ranks": 4, "steps": 10**9}, "4.8e+10 events"),
                              ({"ranks": 10**6}, "at least ")):
            self.refused({**DATA_PARALLEL, "options": options}, what)
        self.refused({**DATA_PARALLEL, "repeat": 10**9}, "1.4e+11 events")
        self.refused({**TRANSFORMER, "options": {"dp": 10**5, "tp": 10**5, "batch": 10**5}}, "more than 1000000 ranks")

    def test_the_line_after_is_answered(self):
        found = answers([{**DATA_PARALLEL, "repeat": 10**9}, DATA_PARALLEL])
        self.assertIn("error", found[0])
        self.assertGreater(found[1]["time_s"], 0)

    def test_samples(self):
        query = {"kind": "collective", "platform": "leonardo", "op": "all_reduce", "size_B": 1e6, "nodes": 16, "noise": 1, "samples": 1000000}
        begin = time.monotonic()
        result = run("--max-time", "20s", "predict", "--batch", "-", stdin=json.dumps(query))
        self.assertIn("noise: about 1e+06 samples, ", result.stdout)
        self.assertLess(time.monotonic() - begin, 10)

    def test_validate(self):
        begin = time.monotonic()
        found = run("--max-time", "1.5s", "validate")  # takes 6 s of CPU
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assertRegex(found.stderr, r"validate: about \S+ claims, .* more than the limit of")
        self.assertLess(time.monotonic() - begin, 20)

    def test_sweep_and_wiring(self):
        study = {"schema": "linkcast/study/1", "name": "long", "query": {"kind": "collective", "op": "all_reduce", "gpus": [0, 1, 2]},
                 "axes": {"platform": ["p100-dgx1", "v100-dgx1"], "size_B": {"from": "1KiB", "to": "1GiB", "factor": 1.02}}}
        path = self.write("study.json", study)
        found = run("--max-time", "0.01s", "sweep", path, "--out", self.folder / "out")
        self.assert_refused(found, "error: sweep: about 1402 scenarios and ")
        self.assertEqual(run("sweep", path, "--out", self.folder / "out", "--resume").returncode, 0)
        begin = time.monotonic()
        self.assert_refused(run("wiring", "--platform", "v100-dgx1", "--steps", "1000000"), "error: wiring: about 1000000 wirings and ")
        self.assertLess(time.monotonic() - begin, 30)

    def test_options_and_environment(self):
        words = ("replay", "data_parallel", "--platform", "hgx-h200", "--option", "steps=1000")
        self.assertEqual(run(*words).returncode, 0)
        for more, env in ((("--max-time", "0.01s"), {}), (("--max-memory", "1MiB"), {}), ((), {"LINKCAST_MAX_TIME": "0.01s"}),
                          ((), {"LINKCAST_MAX_MEMORY": "1MiB"})):
            result = run(*words, *more, env=env)
            self.assert_refused(result, "more than the limit of")
            self.assertIn("more than the limit of", result.stderr)
        self.assertEqual(run("--max-time", "none", *words, env={"LINKCAST_MAX_TIME": "0.01s"}).returncode, 0)
        self.assertIn("more than the limit of", run(*words, "--max-time", "1ms").stderr)
        for more, env, what in ((("--max-time", "soon"), {}, "--max-time: 'soon' is no time"), ((), {"LINKCAST_MAX_MEMORY": "x"}, "LINKCAST_MAX_MEMORY: 'x'")):
            result = run(*words, *more, env=env)
            self.assert_refused(result, what)
            self.assertIn(what, result.stderr)


class Imports(program.InFolder):
    """What an import takes is known by the size of its files."""

    def refused_at_once(self, words: tuple, what: str) -> str:
        begin = time.monotonic()
        result = run("import", *words)
        self.assert_refused(result, "more than the limit of")
        self.assertRegex(result.stderr, what)
        self.assertLess(time.monotonic() - begin, 10)
        return result.stderr

    def sparse(self, name: str, size_B: int):
        path = self.folder / name
        with open(path, "wb") as file:
            file.truncate(size_B)
        return path

    def test_close_to_what_they_take(self):
        for what, path, words, least in imports(self.folder):
            estimate, took = cost_of_import(path, words)
            with self.subTest(what, estimate=estimate, took=took):
                self.assertAlmostEqual(estimate["MB"] / took["MB"], 1, delta=0.05)
                for key in ("B", "s"):
                    self.assertGreater(estimate[key], took[key] / FACTOR)
                    self.assertLess(estimate[key] * least, took[key] * FACTOR)

    def test_refused_before_they_are_read(self):
        measurement = ("--machine", "m", "--topology", "hgx-h200")
        for words, size_B, what in ((("nccl-tests", *measurement), 400_000_000, r"import: about 4e\+02 MB, 17 GiB of memory and"),
                                    (("kineto",), 2_000_000_000, r"import: about 2e\+03 MB, 17 GiB of memory and"),
                                    (("simgrid-ti",), 40_000_000_000, r"import: about 4e\+04 MB, .* and 67 min")):
            self.refused_at_once((words[0], self.sparse("large", size_B), *words[1:]), what)
        self.refused_at_once(("goal", self.sparse("a", 300_000_000), self.sparse("b", 300_000_000)), r"about 6e\+02 MB")

    def test_options_lift_it(self):
        path = self.sparse("large", 400_000_000)
        words = ("import", "nccl-tests", path, "--machine", "m", "--topology", "hgx-h200")
        self.assert_refused(run(*words, "--max-memory", "32GiB"), "is no text file")
        self.assert_refused(run(*words, env={"LINKCAST_MAX_MEMORY": "none"}), "is no text file")

    def test_packed(self):
        path = self.folder / "trace.txt.gz"
        path.write_bytes(gzip.compress(b"0 compute 1e6\n" * 3_000_000, 1))  # 42 MB, in a fiftieth or less
        self.refused_at_once(("simgrid-ti", path, "--max-time", "0.5s"), "import: about 42 MB, ")

    def test_standard_input_that_is_kept(self):
        with subprocess.Popen(["head", "-c", "2000000000", "/dev/zero"], stdout=subprocess.PIPE) as zeros:
            result = subprocess.run([str(PROGRAM), "import", "kineto", "-", "--max-memory", "100MiB"], stdin=zeros.stdout, capture_output=True, text=True, check=False)
            zeros.stdout.close()
        self.assert_refused(result, "memory: 1e+02 MiB are in use, more than the limit of 1e+02 MiB")

    def test_many_tables(self):
        """Each of them once held the whole file: 5 MB took 21 GB."""
        osu = (ROOT / "tests/input/import/osu-bw-nv4.txt").read_text()
        path = self.write("osu.txt", osu * (1_000_000 // len(osu)))
        took = cost_of_import(path, ("osu", "--machine", "m", "--topology", "hgx-h200", "--option", "src=gpu0", "--option", "dst=gpu1", "--option", "runs=same"))[1]
        self.assertLess(took["B"], 64 * 2**20)


class Pipe(program.InFolder):
    def test_replay_ends_where_it_takes_too_long(self):
        """Of what comes through a pipe nobody knows the length."""
        pipe = self.folder / "trace"
        os.mkfifo(pipe)
        words = ("trace", "data_parallel", "--option", "ranks=8", "--option", "steps=100000")
        with subprocess.Popen(f"{PROGRAM} {' '.join(words)} > {pipe}", shell=True, stderr=subprocess.DEVNULL) as writer:
            begin = time.monotonic()
            self.assert_refused(run("replay", pipe, "--platform", "hgx-h200", "--max-time", "0.3s"), "replay: at least ")
            self.assertLess(time.monotonic() - begin, 20)
            writer.wait(20)


class Stopped(program.InFolder):
    def stop(self, process: subprocess.Popen) -> str:
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        stderr = process.communicate(timeout=20)[1]
        self.assertEqual(process.returncode, 130, stderr)
        self.assertLess(time.monotonic() - begin, 5)
        return stderr

    def test_batch_keeps_what_is_answered(self):
        line = json.dumps({**DATA_PARALLEL, "options": {"steps": 20}})
        slow = json.dumps({**TRANSFORMER, "options": {"tp": 8, "steps": 400}})
        batch = self.write("batch.jsonl", f"{line}\n{line}\n{slow}\n{line}\n")
        out = self.folder / "answers"
        with open(out, "w", encoding="utf-8") as file:
            process = subprocess.Popen([str(PROGRAM), "--max-time", "none", "--max-memory", "none", "predict", "--batch", str(batch)], stdout=file, stderr=subprocess.PIPE, text=True)
            time.sleep(3)
            stderr = self.stop(process)
        self.assertIn(f"stopped: batch: 2 lines are answered; to go on: tail -n +3 {batch}\n", stderr)
        self.assertEqual([json.loads(text)["kind"] for text in out.read_text().splitlines()], ["replay", "replay"])

    def test_batch_on_threads_keeps_what_is_answered(self):
        line = json.dumps({**DATA_PARALLEL, "options": {"steps": 20}})
        slow = json.dumps({**TRANSFORMER, "options": {"tp": 8, "steps": 400}})
        batch = self.write("batch.jsonl", (f"{line}\n" * 40) + (f"{slow}\n" * 64) + (f"{line}\n" * 40))
        out = self.folder / "answers"
        with open(out, "w", encoding="utf-8") as file:
            process = subprocess.Popen([str(PROGRAM), "--max-time", "none", "--max-memory", "none", "predict", "--batch", str(batch), "--jobs", "2"],
                                       stdout=file, stderr=subprocess.PIPE, text=True)
            time.sleep(4)
            stderr = self.stop(process)
        self.assertIn(f"stopped: batch: 40 lines are answered; to go on: tail -n +41 {batch}\n", stderr)
        self.assertEqual(len(out.read_text().splitlines()), 40)

    def test_who_writes_a_line_to_threads_gets_its_answer(self):
        query = {"kind": "p2p", "platform": "hgx-h200", "src": "gpu0", "dst": "gpu1", "size_B": 4096}
        with subprocess.Popen([str(PROGRAM), "predict", "--batch", "-", "--jobs", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            for number in range(3):
                process.stdin.write(json.dumps({**query, "id": number}) + "\n")
                process.stdin.flush()
                self.assertEqual(json.loads(process.stdout.readline())["id"], number)
            process.stdin.close()
            self.assertEqual(process.wait(20), 0)

    def test_batch_that_waits_for_a_line(self):
        """Whoever writes the lines keeps the pipe open."""
        query = {"kind": "p2p", "platform": "hgx-h200", "src": "gpu0", "dst": "gpu1", "size_B": 4096}
        for jobs in ("1", "2"):
            with subprocess.Popen([str(PROGRAM), "predict", "--batch", "-", "--jobs", jobs], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                process.stdin.write(json.dumps(query) + "\n" + '{"kind": "p2p", "pla')
                process.stdin.flush()
                self.assertIn("time_s", process.stdout.readline())
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(5), 130)
                self.assertIn("stopped: batch: 1 lines are answered; to go on: tail -n +2 -", process.stderr.read())
                self.assertEqual(process.stdout.read(), "")  # half a line is none

    def test_batch_whose_answers_nobody_reads_ends(self):
        slow = json.dumps({**TRANSFORMER, "options": {"tp": 8, "steps": 20}})
        path = self.write("batch.jsonl", f"{slow}\n" * 200)
        for jobs in ("1", "2"):
            with open("/dev/full", "w", encoding="utf-8") as full:
                begin = time.monotonic()
                done = subprocess.run([str(PROGRAM), "predict", "--batch", str(path), "--jobs", jobs], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, "error: standard output: cannot be written\n"))
            self.assertLess(time.monotonic() - begin, 30)  # all would take minutes

    def test_more_threads_than_the_system_gives(self):
        query = json.dumps({"kind": "p2p", "platform": "hgx-h200", "src": "gpu0", "dst": "gpu1", "size_B": 4096}) + "\n"
        path = self.write("batch.jsonl", query * 10)
        done = subprocess.run(["prlimit", f"--as={600 << 20}", str(PROGRAM), "predict", "--batch", str(path), "--jobs", "200"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^error: --jobs: the system starts no more than \d+ threads\n$")

    def test_threads_wait_whatever_the_memory_of_others(self):
        query = json.dumps({"kind": "p2p", "platform": "hgx-h200", "src": "gpu0", "dst": "gpu1", "size_B": 4096}) + "\n"
        done = run("predict", "--batch", "-", "--jobs", "4", "--max-memory", "12MiB", stdin=query * 21000)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.stdout.count("\n"), 21000)

    def test_replay_says_how_far_it_was(self):
        process = start("--max-time", "none", "--max-memory", "none", "replay", "transformer", "--platform", "hgx-h200", "--option", "tp=8", "--option",
                        "steps=100", "--timeline", str(self.folder / "timeline.json"))
        time.sleep(4)
        self.assertRegex(self.stop(process), r"stopped: replay: \d+ events")
        self.assertEqual(list(self.folder.iterdir()), [])


def table_of_imports() -> None:
    print(f"{'MB':>6} {'MiB':>6} {'estimated':>9} {'CPU s':>6} {'estimated':>9}  format")
    with tempfile.TemporaryDirectory() as folder:
        for what, path, words, _ in imports(Path(folder)):
            estimate, took = cost_of_import(path, words)
            print(f"{took['MB']:6.1f} {took['B'] / 2**20:6.0f} {estimate['B'] / 2**20:9.0f} {took['s']:6.2f} {estimate['s']:9.2f}  {what}")


def table() -> None:
    print(f"{'events':>9} {'estimated':>9} {'CPU s':>6} {'estimated':>9}  command")
    for row in LARGE:
        command, estimate, took = cost_of(*row)
        print(f"{took['events']:9} {estimate['events']:9.0f} {took['s']:6.2f} {estimate['s']:9.2f}  {' '.join(command[1:])}")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
    elif "--imports" in sys.argv:
        table_of_imports()
    else:
        program.main()
