#!/usr/bin/env python3
"""Files that come from a pipe, packed, or in UTF-16 are read as any other."""
import gzip
import re
import shlex
import subprocess
import unittest
from pathlib import Path

from program import PROGRAM, ROOT, InFolder, main, run

INPUT = ROOT / "tests/input/import"
TOPOLOGY = ROOT / "topologies/hgx-h200.json"


def piped(*words: object, folder: Path) -> subprocess.CompletedProcess:
    """In bash; a word that begins with '<' is the file whose text comes from a pipe."""
    def shown(word: object) -> str:
        return f"<(cat {shlex.quote(str(word)[1:])})" if str(word).startswith("<") else shlex.quote(str(word))
    line = " ".join([shlex.quote(str(PROGRAM)), *map(shown, words)])
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


class Pipes(InFolder):
    def assert_works(self, result: subprocess.CompletedProcess) -> str:
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_init(self):
        self.assert_works(piped("init", f"<{INPUT}/topo-h200.txt", f"<{INPUT}/nvlink-h200.txt", "--machine", "a", folder=self.folder))
        self.assert_works(run("init", INPUT / "topo-h200.txt", INPUT / "nvlink-h200.txt", "--machine", "b", folder=self.folder))
        text = (self.folder / "b-topology.json").read_text().replace('"b"', '"a"')
        self.assertEqual((self.folder / "a-topology.json").read_text(), text)

    def test_import(self):
        asked = ["--machine", "box", "--topology", "p100-dgx1"]
        log = INPUT / "p2p-p100-cuda8.txt"
        plain = self.assert_works(run("import", "p2pBandwidthLatencyTest", log, *asked)).replace(log.name, "NAME")
        pipe = self.assert_works(piped("import", "p2pBandwidthLatencyTest", f"<{log}", *asked, folder=self.folder))
        self.assertEqual(pipe.replace("standard input", "NAME"), plain)
        dash = run("import", "p2pBandwidthLatencyTest", "-", *asked, stdin=log.read_text())
        self.assertEqual(self.assert_works(dash).replace("standard input", "NAME"), plain)

    def test_platform(self):
        asked = ["--src", "gpu0", "--dst", "gpu1", "--size", "1MiB"]
        for command in (["predict", "p2p"], ["routes"]):
            plain = self.assert_works(run(*command, "-p", TOPOLOGY, *asked))
            self.assertEqual(self.assert_works(piped(*command, "-p", f"<{TOPOLOGY}", *asked, folder=self.folder)), plain)
            self.assertEqual(self.assert_works(run(*command, "-p", "-", *asked, stdin=TOPOLOGY.read_text())), plain)

    def test_diagnose(self):
        log = INPUT / "nvbandwidth-pasted.txt"
        words = ["diagnose", "-p", "hgx-h200", "--force"]
        plain, pipe = run(*words, log), piped(*words, f"<{log}", folder=self.folder)
        self.assertEqual(pipe.returncode, plain.returncode, pipe.stderr)
        self.assertIn("against hgx-h200", pipe.stdout)
        self.assertEqual(pipe.stdout.splitlines()[1:], plain.stdout.splitlines()[1:])

    def test_a_pipe_that_is_wrong_is_named_as_it_was_given(self):
        result = piped("import", "osu", f"<{INPUT}/list-pcie.txt", "--machine", "m", "--topology", "t", folder=self.folder)
        self.assert_refused(result, "/dev/fd/")


class Encodings(InFolder):
    def variants(self, source: Path) -> dict[str, Path]:
        text = source.read_text()
        made = {"gz": gzip.compress(source.read_bytes()), "le": b"\xff\xfe" + text.encode("utf-16-le"),
                "be": b"\xfe\xff" + text.encode("utf-16-be"), "mark": b"\xef\xbb\xbf" + source.read_bytes()}
        made["le-gz"] = gzip.compress(made["le"])
        for name, data in made.items():
            (self.folder / f"variant-{name}").write_bytes(data)
        return {name: self.folder / f"variant-{name}" for name in made}

    def assert_alike(self, source: Path, command: list[str], options: list[str]):
        plain = run(*command, source, *options)
        self.assertIn(plain.returncode, (0, 4), plain.stderr)  # diagnose: 4 where something is off
        for name, path in self.variants(source).items():
            result = run(*command, path, *options)
            self.assertEqual(result.returncode, plain.returncode, result.stderr)
            self.assertEqual(self.without(result.stdout, path), self.without(plain.stdout, source), name)

    def without(self, text: str, path: Path) -> str:
        """Name and hash of the file, which differ."""
        return re.sub(r"[0-9a-f]{64}", "HASH", text.replace(str(path), "NAME").replace(path.name, "NAME"))

    def test_logs_of_benchmarks(self):
        asked = ["--machine", "box", "--topology", "p100-dgx1"]
        self.assert_alike(INPUT / "p2p-p100-cuda8.txt", ["import", "p2pBandwidthLatencyTest"], asked)
        self.assert_alike(INPUT / "nccl-all_reduce_perf-p100.txt", ["import", "nccl-tests"], asked + ["--option", "op=all_reduce"])
        self.assert_alike(INPUT / "nvbandwidth-h100.json", ["import", "nvbandwidth"], ["--machine", "box", "--topology", "hgx-h100"])
        self.assert_alike(INPUT / "nvbandwidth-h100.txt", ["diagnose", "-p", "hgx-h100"], [])

    def test_topologies_and_traces(self):
        self.assert_alike(INPUT / "topo-v100-dgx1.txt", ["import", "topo-m"], ["--machine", "box", "--option", "gpu=V100"])
        self.assert_alike(INPUT / "nccl-p100-dgx1.xml", ["import", "nccl-xml"], ["--machine", "box"])
        self.assert_alike(ROOT / "tests/input/traces/nccl-log-one-process.txt", ["import", "nccl-log"], [])
        self.assert_alike(TOPOLOGY, ["check"], [])

    def test_half_a_gzip_file_is_refused(self):
        (self.folder / "half.gz").write_bytes(gzip.compress((INPUT / "topo-h200.txt").read_bytes())[:60])
        self.assert_refused(run("import", "topo-m", "half.gz", "--machine", "m", folder=self.folder), "end too early")


if __name__ == "__main__":
    main()
