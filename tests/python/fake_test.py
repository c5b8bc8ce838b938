#!/usr/bin/env python3
"""Logs that linkcast writes in the form of nccl-tests: read back, found normal or faulty, and never fitted to."""
import json
import re
import unittest

from program import InFolder, main, run

MACHINE = ("--platform", "v100-dgx1")
RANGE = ("--op", "all_reduce", "-b", "8", "-e", "256M", "-f", "4")
MARK = "# linkcast forecast, no measurement"
ROW = re.compile(r"^ +\d+ +\d+ +float ", re.M)


def column(text: str, number: int) -> list[float]:
    return [float(line.split()[number]) for line in text.splitlines() if ROW.match(line)]


class Log(InFolder):
    def log(self, *words: str, name: str = "log.txt") -> str:
        done = run("fake", "nccl-tests", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.write(name, done.stdout)
        return done.stdout

    def record(self, *words: str, name: str = "log.txt", topology: str = "v100-dgx1") -> dict:
        done = run("import", "nccl-tests", name, "--machine", "box", "--topology", topology, *words, folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_figures_are_those_of_predict(self):
        text = self.log(*MACHINE, *RANGE)
        curve = json.loads(run("predict", "collective", *MACHINE, "--gpus", "0-7", *RANGE, "--json").stdout)
        points = curve["points"]
        self.assertEqual(column(text, 0), [point["size_B"] for point in points])
        for number, key, unit in ((5, "time_s", 1e-6), (6, "algbw_Bps", 1e9), (7, "busbw_Bps", 1e9), (9, "time_s", 1e-6), (11, "busbw_Bps", 1e9)):
            for printed, point in zip(column(text, number), points, strict=True):
                self.assertAlmostEqual(printed, point[key] / unit, delta=0.0051 + 5e-4 * point[key] / unit)
        average = float(re.search(r"# Avg bus bandwidth    : (\S+)", text)[1])
        self.assertAlmostEqual(average, curve["average_busbw_Bps"] / 1e9, delta=1e-4 * average)

    def test_first_and_last_line_say_what_it_is(self):
        lines = self.log(*MACHINE, *RANGE).splitlines()
        self.assertTrue(lines[0].startswith(MARK + ": platform v100-dgx1, nccl-"), lines[0])
        self.assertEqual(lines[-1], MARK)
        self.assertIn("on forecast-node0 device  0 ", "\n".join(lines))

    def test_import_reads_every_operation(self):
        for op in ("all_reduce", "reduce", "reduce_scatter", "all_gather", "broadcast", "alltoall", "sendrecv"):
            self.log(*MACHINE, "--gpus", "0-3", "--op", op, "--size", "1M", "--library", "nccl-2.18")
            record = self.record()
            self.assertTrue(record["source"].startswith(MARK[2:]), record["source"])
            self.assertEqual({point["op"] for point in record["points"]}, {op})
            self.assertEqual(record["points"][0]["gpus"], [0, 1, 2, 3])
            self.assertNotIn("verified", record["points"][0])

    def test_who_issues_it(self):
        for launch in ("graph", "process", "single_process"):
            self.log(*MACHINE, "--op", "all_reduce", "--size", "1M", "--launch", launch)
            self.assertEqual({point["launch"] for point in self.record()["points"]}, {launch})

    def test_several_nodes(self):
        self.log("--platform", "alps", "--op", "all_reduce", "--nodes", "2", "--size", "64M")
        point = self.record(topology="alps")["points"][0]
        self.assertEqual((point["nodes"], point["gpus"]), (2, [0, 1, 2, 3]))

    def test_noise_differs_by_row_and_seed(self):
        words = ("--platform", "leonardo", "--op", "all_reduce", "--nodes", "16", "--size", "64M,128M")
        quiet, one, two = (self.log(*words, *noise) for noise in ((), ("--noise", "1"), ("--noise", "2")))
        self.assertEqual(one, self.log(*words, "--noise", "1"))
        self.assertEqual(column(quiet, 5), column(quiet, 9))
        for noisy in (one, two):
            self.assertNotEqual(column(noisy, 5), column(noisy, 9))
            for drawn, still in zip(column(noisy, 5), column(quiet, 5), strict=True):
                self.assertGreater(drawn, 0.99 * still)
        self.assertNotEqual(column(one, 5), column(two, 5))

    def test_diagnose_finds_it_normal(self):
        self.log(*MACHINE, *RANGE)
        done = run("diagnose", *MACHINE, "log.txt", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(", normal: ", done.stdout.splitlines()[0])

    def test_diagnose_finds_an_edit(self):
        self.log(*MACHINE, *RANGE, "--scale", "nvlink2:0.3")
        done = run("diagnose", *MACHINE, "log.txt", folder=self.folder)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("faulty", done.stdout.splitlines()[0])

    def test_what_changed_between_two(self):
        self.log(*MACHINE, *RANGE, name="before.txt")
        self.log(*MACHINE, *RANGE, "--scale", "nvlink2:0.5", name="after.txt")
        done = run("diagnose", "after.txt", "--baseline", "before.txt", folder=self.folder)
        self.assertEqual(done.returncode, 4, done.stdout)

    def test_calibrate_refuses_it(self):
        self.log(*MACHINE, *RANGE)
        record = self.write("record.json", self.record())
        done = run("calibrate", "fit", record, "--topology", "v100-dgx1", "--out", "out.json", folder=self.folder)
        self.assert_refused(done, "record.json:/source: is a linkcast forecast, no measurement: nothing is fitted to it")
        self.assertFalse((self.folder / "out.json").exists())
        held = run("validate", "--against", record, "--platform", "v100-dgx1", folder=self.folder)
        self.assert_refused(held, "record.json:/source: is a linkcast forecast, no measurement: no forecast is held against it")

    def test_diagnose_says_what_it_is(self):
        self.log(*MACHINE, *RANGE)
        self.assertIn("left out: any measurement: the file says that it is a linkcast forecast", run("diagnose", "log.txt", folder=self.folder).stdout)

    def test_sizes_are_whole_elements_of_a_rank(self):
        text = self.log("-p", "hgx-h100", "--op", "all_gather", "--size", "8,64,100,1000")
        rows = [line.split()[:2] for line in text.splitlines() if line and not line.startswith("#")]
        self.assertEqual(rows, [["64", "2"], ["96", "3"], ["992", "31"]])
        self.assertIn(run("diagnose", "-p", "hgx-h100", "log.txt", folder=self.folder).returncode, (0, 5))  # 5: too small to decide

    def test_a_log_with_such_a_part_is_refused_too(self):
        text = self.log(*MACHINE, *RANGE)
        real = "".join(line for line in text.replace("forecast-node0", "node0").splitlines(True) if not line.startswith(MARK))
        self.write("log.txt", real)
        self.assertFalse(self.record()["source"].startswith(MARK[2:]))
        self.write("log.txt", real + text.replace("forecast-node0", "node0"))
        self.assertTrue(self.record()["source"].startswith(MARK[2:]))

    def test_refused(self):
        words = ("fake", "nccl-tests", *MACHINE, "--op", "all_reduce", "--size", "1M")
        self.assert_refused(run(*words, "--json"), "--format: a log is text")
        self.assert_refused(run(*words, "--library", "mpi-openmpi"), "nccl-tests runs NCCL or RCCL")
        self.assertEqual(run("fake").returncode, 2)
        several = run("fake", "nccl-tests", "-p", "hgx-h100", "--op", "allgatherv", "--sizes", "1MiB,2MiB", "--gpus", "0,1")
        self.assert_refused(several, "--op: nccl-tests has no 'allgatherv'")


class Matrix(InFolder):
    def matrix(self, *words: str) -> dict[str, list[str]]:
        done = run("fake", "topo-m", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.write("topo.txt", done.stdout)
        rows = [line.split("\t") for line in done.stdout.split("\nLegend")[0].splitlines()]
        self.assertEqual(rows[0][1:-1], [row[0] for row in rows[1:] if row[0]])
        return {row[0]: row[1:-1] for row in rows[1:] if row[0]}

    def test_of_every_machine_it_is_symmetric(self):
        platforms = [one["name"] for one in json.loads(run("list", "platforms", "--json").stdout)["platforms"]]
        nvidias = [name for name in platforms if name not in ("lumi", "mi300x", "mi325x", "mi350x")]
        self.assertGreater(len(nvidias), 45)
        for name in nvidias:
            with self.subTest(name):
                rows = list(self.matrix(name).values())
                self.assertEqual(rows, [list(column) for column in zip(*rows)])

    def test_what_the_importer_reads_of_it(self):
        for name, links in (("v100-dgx1", {(0, 1): "NV1", (0, 3): "NV2", (0, 5): "SYS"}), ("dgx2", {(0, 15): "NV6"})):
            rows = self.matrix(name)
            for (a, b), link in links.items():
                self.assertEqual(rows[f"GPU{a}"][b], link)
            done = run("import", "topo-m", "topo.txt", "--machine", "box", "--option", "gpu=V100", folder=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            (self.folder / "box.json").write_text(done.stdout)
            again = run("fake", "topo-m", str(self.folder / "box.json"))
            self.assertEqual(again.returncode, 0, again.stderr)
            gpus = [key for key in rows if key.startswith("GPU")]
            back = [line.split("\t") for line in again.stdout.splitlines() if line.startswith("GPU")]
            self.assertEqual([row[1:1 + len(gpus)] for row in back], [rows[key][:len(gpus)] for key in gpus])

    def test_edits_and_refusals(self):
        self.assertEqual(self.matrix("v100-dgx1", "--remove", "gpu0-gpu3")["GPU0"][3], "PHB")
        self.assert_refused(run("fake", "topo-m", "mi300x"), "mi300x: has no GPUs of NVIDIA")


if __name__ == "__main__":
    main()
