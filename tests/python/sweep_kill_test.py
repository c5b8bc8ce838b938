#!/usr/bin/env python3
"""linkcast sweep: the same bytes whatever was killed, however many workers answered, here or on a Dask cluster."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from program import PROGRAM, PYTHON, ROOT, InFolder, main, run, start

MANY = {"schema": "linkcast/study/1", "name": "many", "query": {"kind": "collective", "op": "all_reduce"},
        "axes": {"platform": ["p100-dgx1", "v100-dgx1"], "gpus": {"subsets_of": 8, "sizes": [2, 3, 4, 5]},
                 "size_B": {"from": "1KiB", "to": "256MiB", "factor": 8}},
        "plots": [{"x": "gpu_count", "y": "busbw_Bps"}]}
SCENARIOS = 2 * (28 + 56 + 70 + 56) * 7  # binomial coefficients of 8
LONGEST_S = 60

CLUSTER = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


class Killed(InFolder):
    def setUp(self):
        super().setUp()
        self.study = self.write("many.json", MANY)

    @classmethod
    def setUpClass(cls):
        """The table as one worker writes it without a stop."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "many.json").write_text(json.dumps(MANY))
            done = run("sweep", "many.json", "--jobs", "1", "--out", "whole", folder=Path(folder))
            assert done.returncode == 0, done.stderr
            cls.whole = (Path(folder) / "whole" / "table.csv").read_bytes()
        assert cls.whole.count(b"\n") == SCENARIOS + 1

    def table(self, out: str) -> bytes:
        return (self.folder / out / "table.csv").read_bytes()

    def journal(self, out: str) -> Path:
        return self.folder / out / "journal.jsonl"

    def done(self, out: str) -> list[int]:
        """Scenarios of the journal, as often as they stand there; without the header and a torn end."""
        lines = self.journal(out).read_bytes().split(b"\n")[1:-1]
        return [json.loads(line)["scenario"] for line in lines]

    def begin(self, out: str, *options: str, until: int = 100) -> subprocess.Popen:
        """A sweep that has answered so many scenarios."""
        process = start("sweep", self.study, "--jobs", "2", "--out", out, *options, folder=self.folder)
        ends = time.monotonic() + LONGEST_S
        while time.monotonic() < ends:
            if self.journal(out).exists() and self.journal(out).read_bytes().count(b"\n") > until:
                return process
            time.sleep(0.005)
        self.fail("nothing was answered")

    def finish(self, out: str) -> None:
        done = run("sweep", self.study, "--jobs", "2", "--out", out, "--resume", folder=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, f"{out}/table.csv: {SCENARIOS} scenarios, 0 errors\n"), done.stderr)

    def children(self, process: subprocess.Popen) -> list[int]:
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False).stdout
        return [int(pid) for pid in found.split()]


class Kill(Killed):
    def test_kill_of_all(self):
        """kill -9, a line torn in the middle, --resume: nothing lost, nothing done twice."""
        process = self.begin("out")
        process.kill()
        process.communicate()
        before = self.done("out")
        self.assertLess(len(before), SCENARIOS)
        text = self.journal("out").read_bytes()
        self.journal("out").write_bytes(text[:text[:-1].rindex(b"\n") + 20])
        refused = run("sweep", self.study, "--out", "out", folder=self.folder)
        self.assert_refused(refused, f"of {SCENARIOS} scenarios of this study: --resume goes on")
        self.finish("out")
        after = self.done("out")
        self.assertEqual(after[:len(before) - 1], before[:-1])
        self.assertEqual(sorted(after), list(range(SCENARIOS)))
        self.assertEqual(self.table("out"), self.whole)

    def test_kill_of_one_worker(self):
        process = self.begin("out")
        os.kill(self.children(process)[0], signal.SIGKILL)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(sorted(self.done("out")), list(range(SCENARIOS)))
        self.assertEqual(self.table("out"), self.whole)


class Damage(Killed):
    def setUp(self):
        super().setUp()
        self.begin("out").communicate()
        self.header, *self.lines = self.journal("out").read_bytes().splitlines(keepends=True)
        self.assertEqual(len(self.lines), SCENARIOS)

    def goes_on(self, lines: list[bytes], again: int, said: str) -> None:
        """--resume of a journal with these lines answers so many scenarios again, and the table is whole."""
        self.journal("out").write_bytes(self.header + b"".join(lines))
        kept = b"".join(line for line in lines if line.endswith(b"\n"))
        done = run("sweep", self.study, "--jobs", "2", "--out", "out", "--resume", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines() if "damaged" in line], [f"warning: {said}"] if said else [])
        journal = self.journal("out").read_bytes()
        self.assertEqual(journal[:len(self.header + kept)], self.header + kept)
        self.assertEqual(journal[len(self.header + kept):].count(b"\n"), again)
        self.assertEqual(self.table("out"), self.whole)

    def test_lines_that_are_damaged_are_answered_again(self):
        at = self.lines[7].index(b'"time_s":') + 9
        changed = self.lines[7][:at] + (b"2" if self.lines[7][at:at + 1] == b"1" else b"1") + self.lines[7][at + 1:]
        earlier = re.sub(rb',"crc32":\d+', b"", self.lines[9])  # as linkcast/journal/1 had them
        lines = [*self.lines[:7], changed, self.lines[8], earlier, b"\0\0\xff nonsense\n", self.lines[10][:-1] + self.lines[11], *self.lines[12:]]
        self.goes_on(lines, 4, "out/journal.jsonl: line 9: its checksum does not fit: bytes were changed: damaged: answered again, and so are 3 more")
        self.goes_on([changed if line is self.lines[7] else line for line in self.lines], 1,
                     "out/journal.jsonl: line 9: its checksum does not fit: bytes were changed: damaged: answered again")

    def test_what_is_torn_at_the_end_is_cut_off(self):
        self.goes_on([*self.lines[:-1], self.lines[-1][:-1]], 1, "")
        self.goes_on([*self.lines[:-3], self.lines[-3][:11]], 3, "")

    def test_parts(self):
        (self.folder / "out" / "parts").mkdir()
        part = self.folder / "out" / "parts" / "x.jsonl"
        names = b'{"part": "parts/x.jsonl", "scenarios": 5}\n'
        part.write_bytes(b"".join(self.lines[:5]))
        self.goes_on([names, *self.lines[5:]], 0, "")
        part.write_bytes(b"".join(self.lines[:4]) + self.lines[4].replace(b"{", b"[", 1))
        self.goes_on([names, *self.lines[5:]], 1, "out/parts/x.jsonl: line 5: is no line of this journal: damaged: answered again")
        part.unlink()
        self.goes_on([names, *self.lines[5:]], 5, "out/parts/x.jsonl: cannot be read: No such file or directory: damaged: answered again")
        self.goes_on([b'{"part": 1}\n', *self.lines[5:]], 5, "out/journal.jsonl: line 2: names no part: damaged: answered again")

    def test_no_journal_is_written_over(self):
        for text in (self.header.replace(b"{", b"[", 1) + self.lines[0], b"a list of mine", b"[]\n", b"{}\n" + self.lines[0]):
            self.journal("out").write_bytes(text)
            for options in ((), ("--resume",)):
                refused = run("sweep", self.study, "--out", "out", *options, folder=self.folder)
                self.assert_refused(refused, "is no journal of a sweep (linkcast/journal/2)")
                self.assertEqual(self.journal("out").read_bytes(), text)


class Stop(Killed):
    def test_interrupt(self):
        process = self.begin("out")
        workers = self.children(process)
        self.assertTrue(workers)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn(f"stopped: {len(self.done('out'))} of {SCENARIOS} scenarios are done and kept; to go on: ", errors)
        for worker in workers:
            self.assertFalse(Path(f"/proc/{worker}").exists())
        self.finish("out")
        self.assertEqual(sorted(self.done("out")), list(range(SCENARIOS)))

    def test_other_studies_and_programs(self):
        self.begin("out").communicate()
        other = self.write("other.json", {**MANY, "query": {"kind": "collective", "op": "broadcast"}})
        self.assert_refused(run("sweep", other, "--out", "out", "--resume", folder=self.folder), "was written by another study: name")
        header, rest = self.journal("out").read_text().split("\n", 1)
        changed = json.loads(header) | {"linkcast": "0.0.1"}
        self.journal("out").write_text(json.dumps(changed) + "\n" + rest)
        self.assert_refused(run("sweep", self.study, "--out", "out", "--resume", folder=self.folder),
                            "was written by another version of linkcast: name")


FAKE = """#!/usr/bin/python3 -B
# Stands for a linkcast that dies of one question until the file "mended" is there; the table is the real one's.
import json, os, sys
if "--version" in sys.argv:
    sys.exit(print("linkcast 0.0.0"))
if "--table" in sys.argv:
    os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
for line in sys.stdin:
    size = json.loads(line)["size_B"]
    if size == 4 and not os.path.exists("mended"):
        os.kill(os.getpid(), 9)
    print(json.dumps({"time_s": size * 0.5, "algorithm": "none"}), flush=True)
""".replace("PROGRAM", repr(str(PROGRAM)))


class Crash(InFolder):
    def test_a_question_that_kills(self):
        """It is asked twice and becomes an error; --resume asks it alone again."""
        fake = self.write("linkcast", FAKE)
        fake.chmod(0o755)
        self.write("study.json", {"schema": "linkcast/study/1", "name": "x", "axes": {"size_B": [1, 2, 4, 8, 16]}})
        command = [PYTHON, "-B", str(ROOT / "python" / "run.py"), "sweep", "--program", str(fake), "--data-dir", str(ROOT),
                   "--jobs", "1", "study.json"]
        table = self.folder / "x.sweep" / "table.csv"
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, "x.sweep/table.csv: 5 scenarios, 1 error\n"), done.stderr)
        rows = table.read_text().splitlines()
        self.assertTrue(rows[3].endswith(',"linkcast ended with signal 9, twice"'), rows[3])
        self.assertEqual([row.split(",")[2] for row in rows[1:]], ["0.5", "1.0", "", "4.0", "8.0"])
        self.write("mended", "")
        done = subprocess.run([*command, "--resume"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "x.sweep/table.csv: 5 scenarios, 0 errors\n"), done.stderr)
        self.assertEqual([row.split(",")[2] for row in table.read_text().splitlines()[1:]], ["0.5", "1.0", "2.0", "4.0", "8.0"])
        numbers = [json.loads(line)["scenario"] for line in (self.folder / "x.sweep" / "journal.jsonl").read_text().splitlines()[1:]]
        self.assertEqual(sorted(numbers), [0, 1, 2, 2, 3, 4])


class Dask(Killed):
    def test_cluster(self):
        cluster = subprocess.Popen([PYTHON, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, cwd=self.folder)
        try:
            address = cluster.stdout.readline().strip()
            done = run("sweep", self.study, "--scheduler", address, "--out", "out", folder=self.folder)
            self.assertEqual((done.returncode, done.stdout), (0, f"out/table.csv: {SCENARIOS} scenarios, 0 errors\n"), done.stderr)
        finally:
            cluster.communicate("\n", timeout=LONGEST_S)
        self.assertEqual(self.table("out"), self.whole)


if __name__ == "__main__":
    main("matplotlib", "jinja2", "distributed")
