#!/usr/bin/env python3
"""linkcast sweep: what a study stands for, what its table says, what it refuses."""
import csv
import json
import math
import re
import struct
import subprocess
import sys
import unittest

from program import PROGRAM, PYTHON, ROOT, InFolder, answers, has, main, run

sys.path.insert(0, str(ROOT / "python"))
from linkcast_programs.sweep import progress, questions  # noqa: E402

BASE = {"schema": "linkcast/study/1", "name": "small", "query": {"kind": "collective", "platform": "p100-dgx1", "op": "all_reduce"},
        "axes": {"gpus": [[0, 1], [0, 1, 2, 3, 4]], "size_B": ["1MiB", "64MiB"]}}


def study(**changes) -> dict:
    return {**BASE, **changes}


class Pace(unittest.TestCase):
    def rate_of(self, pieces: list[tuple[float, int]]) -> float:
        now, pace = 0.0, progress.Pace(0.0)
        for seconds, done in pieces:
            now += seconds
            pace.step(now, done)
        return pace.rate()

    def test_a_pause_is_no_pace(self):
        steady = [(0.5, 50)] * 40
        self.assertAlmostEqual(self.rate_of(steady), 100)
        self.assertAlmostEqual(self.rate_of([*steady, (600, 50), *steady]), 100)

    def test_what_went_fast_at_the_beginning_is_forgotten(self):
        self.assertAlmostEqual(self.rate_of([(1, 100_000)] * 3 + [(2, 20)] * 60), 10)

    def test_the_first_pieces(self):
        self.assertEqual(self.rate_of([(0.1, 5)]), 0)
        self.assertAlmostEqual(self.rate_of([(4, 2)]), 0.5)
        self.assertAlmostEqual(self.rate_of([(9, 1), (3, 2)]), 0.25)  # of few the slowest counts


class Estimate(unittest.TestCase):
    def test_a_stall_is_no_work(self):
        self.assertAlmostEqual(questions.mean_without_stall([0.1] * 31 + [60]), 0.1)
        self.assertAlmostEqual(questions.mean_without_stall([0.1] * 30 + [5, 5]), (3 + 10) / 32)

    def test_of_few_the_slow_one_counts(self):
        self.assertAlmostEqual(questions.mean_without_stall([1, 60]), 30.5)


class Study(InFolder):
    def questions(self, value: dict) -> list[dict]:
        done = run("sweep", self.write("study.json", value), "--dry-run", folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_cross_product_in_file_order(self):
        asked = self.questions(BASE)
        self.assertEqual([(query["id"], query["gpus"], query["size_B"]) for query in asked],
                         [(0, [0, 1], 2**20), (1, [0, 1], 2**26), (2, [0, 1, 2, 3, 4], 2**20), (3, [0, 1, 2, 3, 4], 2**26)])
        self.assertTrue(all(query["op"] == "all_reduce" for query in asked))

    def test_macros(self):
        asked = self.questions(study(axes={"gpus": {"subsets_of": 8, "sizes": [2, 5]}, "size_B": {"from": "1KiB", "to": "1GiB", "factor": 4}}))
        self.assertEqual(len(asked), (math.comb(8, 2) + math.comb(8, 5)) * 11)  # 2^10, 2^12, ..., 2^30
        self.assertEqual(len({json.dumps(query["gpus"]) for query in asked}), math.comb(8, 2) + math.comb(8, 5))
        self.assertEqual({query["size_B"] for query in asked}, {4**i for i in range(5, 16)})
        some = self.questions(study(axes={"gpus": {"subsets_of": [1, 4, 6], "sizes": [2]}}, query={"size_B": "1MB"}))
        self.assertEqual([query["gpus"] for query in some], [[1, 4], [1, 6], [4, 6]])
        self.assertEqual(some[0]["size_B"], 10**6)

    def test_skip_and_inner_keys(self):
        asked = self.questions(study(skip=[{"gpus": [[0, 1]], "size_B": ["64MiB"]}, {"gpus": [[0, 1, 2, 3, 4]], "size_B": ["1MiB"]}]))
        self.assertEqual([(len(query["gpus"]), query["size_B"]) for query in asked], [(2, 2**20), (5, 2**26)])
        asked = self.questions(study(query={"kind": "replay", "trace": "alexnet", "options": {"batch": 64}},
                                     axes={"options.gpus": [1, 2], "platform": ["gx8"]}))
        self.assertEqual([query["options"] for query in asked], [{"batch": 64, "gpus": 1}, {"batch": 64, "gpus": 2}])


class Refused(InFolder):
    def refuse(self, value: object, what: str):
        path = self.write("study.json", value)
        self.assert_refused(run("sweep", path, folder=self.folder), f"{path}:{what}")
        self.assertFalse((self.folder / "small.sweep").exists())

    def test_shape(self):
        self.refuse("{", " line 1, column 2: not JSON")
        self.refuse('{"name": "a", "name": "b"}', " /name: duplicate key")
        self.refuse([], "/: must be an object, not array")
        self.refuse(study(colour=1), "/colour: unknown key; known here: schema")
        self.refuse(study(axis={}), "/axis: unknown key (did you mean 'axes'?); known here: schema")
        self.refuse(study(schema="linkcast/study/9"), "/schema: 'linkcast/study/9' is not known")
        self.refuse(study(name="../up"), "/name: must be letters")
        self.refuse(study(query=[]), "/query: must be an object")
        self.refuse(study(axes={}), "/axes: a study needs at least one axis")

    def test_axes(self):
        def refuse(axes: dict, what: str):
            self.refuse(study(axes=axes), "/axes" + what)
        refuse({"size_B": []}, "/size_B: an axis needs at least one value")
        refuse({"size_B": "1MiB"}, "/size_B: must be an array, not string")
        refuse({"size_B": ["1M", "1MiB"]}, "/size_B/1: 1048576 is given twice")
        refuse({"size_B": [1, 1.5]}, "/size_B/1: must be a whole number of bytes")
        refuse({"size_B": ["1KiB", 1024]}, "/size_B/1: 1024 is given twice")
        refuse({"size_B": {"from": "2KiB", "to": "1KiB", "factor": 2}}, "/size_B/to: must not be less")
        refuse({"size_B": {"from": "1KiB", "to": "2KiB", "factor": 1}}, "/size_B/factor: must be greater than 1")
        refuse({"size_B": {"from": "1KiB", "to": "2KiB", "step": 1}}, "/size_B/step: unknown key")
        refuse({"gpus": {"subsets_of": 4, "sizes": [5]}}, "/gpus/sizes/0: must be from 1 to 4")
        for of in (10**12, 1025, 0, -1):
            refuse({"gpus": {"subsets_of": of, "sizes": [2]}}, "/gpus/subsets_of: must be from 1 to 1024")
        refuse({"gpus": {"subsets_of": 64, "sizes": [32]}}, "/gpus: more than 10000000 numbers")
        refuse({"batch": {"from": 1, "to": 10**15, "factor": 1.0000001}}, "/batch: more than 1000000 values")
        refuse({"batch": {"from": 1, "to": 10**300, "factor": 2}}, "/batch/to: must be at most 2^53")
        self.refuse(study(axes={"op": ["broadcast"]}), "/query/op: is an axis too")
        refuse({"explain": [True]}, "/explain: cannot be an axis")
        self.refuse(study(query={**BASE["query"], "explain": True}), "/query/explain: not here: a table has no column for terms")

    def test_skip_and_plots(self):
        self.refuse(study(skip=[{"colour": [1]}]), "/skip/0/colour: is no axis: one of gpus, size_B")
        self.refuse(study(skip=[{"size_B": ["2MiB"]}]), "/skip/0/size_B: 2097152 is not on the axis")
        self.refuse(study(skip=[{"size_B": ["1MiB", "64MiB"]}]), "/skip: leaves nothing")
        self.refuse(study(plots=[{"x": "colour", "y": "time_s"}]), "/plots/0/x: 'colour' is not known")
        self.refuse(study(plots=[{"x": "\x1b[31mred\x07", "y": "time_s"}]), "/plots/0/x: '?[31mred?' is not known")  # no escapes on a terminal

    def test_what_linkcast_refuses_in_every_scenario(self):
        self.refuse(study(query={**BASE["query"], "colour": 1}), "/query/colour: unknown key; known here: ")
        self.refuse(study(axes={**BASE["axes"], "library": [1, 2]}), "/axes/library/0: must be a string")
        self.refuse(study(query={"kind": "collective", "platform": "p100-dgx1"}), "/query/op: missing key")
        self.refuse(study(query={"kind": "colective", "platform": "dgx2"}), "/query/kind: 'colective' is not allowed (did you mean 'collective'?): one of ")
        self.refuse(study(query={"kind": "colour", "platform": "dgx2"}), "/query/kind: 'colour' is not allowed: one of collective, ")
        self.refuse(study(axes={"size_B": [1], "gpus": [[0, 1], [0, None]]}), "/axes/gpus/1: must be an array")

    def test_options(self):
        path = self.write("study.json", BASE)
        self.assert_refused(run("sweep", "/dev/zero", folder=self.folder), "/dev/zero: is longer than 512 MiB")
        self.assert_refused(run("sweep", self.folder / "none.json"), "none.json: no such file")
        self.assert_refused(run("sweep", path, "--jobs", "0"), "--jobs")
        self.assert_refused(run("sweep", path, "--jobs", "2", "--scheduler", "tcp://localhost:1"), "--scheduler")
        self.assert_refused(run("sweep", path, "--out", path), "cannot be written")
        if has("distributed"):
            self.assert_refused(run("sweep", path, "--scheduler", "localhost"), "--scheduler: 'localhost' is no address")


class Table(InFolder):
    def rows(self, value: dict, *words: str, code: int = 0, out: str = "out") -> list[dict]:
        done = run("sweep", self.write("study.json", value), "--out", out, *words, folder=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        with open(self.folder / out / "table.csv", newline="", encoding="utf-8") as table:
            return list(csv.DictReader(table))

    def test_rows_are_what_a_batch_answers(self):
        rows = self.rows(BASE)
        queries = [{**BASE["query"], "gpus": gpus, "size_B": size} for gpus in BASE["axes"]["gpus"] for size in (2**20, 2**26)]
        for i, (row, answer) in enumerate(zip(rows, answers(queries), strict=True)):
            self.assertEqual((int(row["scenario"]), row["gpus"], int(row["size_B"])),
                             (i, " ".join(map(str, queries[i]["gpus"])), queries[i]["size_B"]))
            self.assertEqual(int(row["gpu_count"]), len(queries[i]["gpus"]))
            for key in ("time_s", "time_low_s", "time_high_s", "algbw_Bps", "busbw_Bps"):
                self.assertEqual(float(row[key]), answer[key], key)
            self.assertEqual((row["algorithm"], row["protocol"], row["error"]), (answer["algorithm"], answer["protocol"], ""))
            self.assertEqual(row["bottleneck"], "  ".join(answer["bottleneck"]))

    def test_cells_are_what_a_batch_prints(self):
        """Each key and digit of --rows, texts with commas, flags and what some rows lack."""
        value = study(query={**BASE["query"], "platform": "v100-dgx1"}, axes={"gpus": [[0, 1], [0, 1, 2, 4], [0, 9]], "size_B": [2**10, 2**26]})
        rows = self.rows(value, code=1)
        queries = run("sweep", self.folder / "study.json", "--dry-run").stdout
        printed = run("predict", "--batch", "-", "--rows", stdin=queries).stdout.splitlines()
        answered = [json.loads(line, parse_float=str, parse_int=str) for line in printed]
        self.assertEqual({row["fallback"] for row in rows}, {"true", "false", ""})
        self.assertTrue(any(", " in row["warnings"] for row in rows))
        self.assertEqual(set(rows[0]), {"scenario", "size_B", "gpus", "gpu_count"}.union(*answered))
        for row, answer in zip(rows, answered, strict=True):
            cells = {key: str(item).lower() if isinstance(item, bool) else item for key, item in answer.items()}
            for key in set().union(*answered):
                self.assertEqual(row[key], cells.get(key, ""), key)
            self.assertEqual(row["gpu_count"], answer.get("ranks", ""))

    def test_the_page_is_what_report_makes_of_the_table(self):
        """Lines by text, by number of GPUs and by none, some of the values, intervals, medians, errors and slow-downs."""
        plots = [{"x": "size_B", "y": "busbw_Bps", "by": "gpus"}, {"x": "gpu_count", "y": "time_s", "by": "op"}, {"x": "op", "y": "slowdown"},
                 {"x": "size_B", "y": "time_s", "by": "gpu_count", "where": {"op": ["all_gather"], "gpus": [[0, 1], [4, 5, 6]]}}, {"x": "gpus", "y": "algorithm"}]
        for query in ({}, {"with": [{"op": "broadcast", "gpus": [2, 3], "size_B": 2**26}]}):
            value = study(query={"kind": "collective", "platform": "hgx-h200", **query}, plots=plots[:1] if query else plots,
                          axes={"op": ["all_gather", "all_reduce"], "gpus": [[0, 1], [4, 5], [4, 5, 6], [0, 9]], "size_B": {"from": 1024, "to": 2**26, "factor": 16}})
            out = "with" if query else "out"
            self.rows(value, code=1, out=out)
            page = self.folder / out / "report.html"
            self.assertIn("is no GPU of hgx-h200", page.read_text())
            again = run("report", f"{out}/sweep.json", "--out", "again.html", folder=self.folder)
            self.assertEqual((again.returncode, page.read_text()), (0, (self.folder / "again.html").read_text()), again.stderr)

    def test_a_row_that_is_not_what_was_written(self):
        journal = self.write("journal.jsonl", '{"scenario":0,"crc32":1,"row":{"time_s":1}}\n')
        spec = {"journal": [str(journal)], "table": "/dev/null", "numbers": "/dev/null", "columns": [], "numeric": [], "axes": [], "counts_gpus": False,
                "typed": False, "scenarios": 1}
        done = subprocess.run([PROGRAM, "sweep", "--table", "-"], input=json.dumps(spec).encode() + b"\n" + bytes(8 + 8 + 4), capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{journal}: scenario 0: is no row of this sweep", done.stderr.decode())

    def test_what_table_is_given_wrong(self):
        journal = self.write("journal.jsonl", '{"scenario":0,"crc32":1,"row":{"time_s":1}}\n')
        right = {"journal": [str(journal)], "table": "/dev/null", "numbers": "/dev/null", "columns": [], "numeric": [],
                 "axes": [{"key": "size_B", "cells": ["1", None]}], "counts_gpus": False, "typed": False, "scenarios": 1}
        places = struct.pack("=qqi", 0, 0, 0)
        for change, data, said in (({}, places, f"{journal}: scenario 0: is no row"), ({"axes": [{"key": "size_B", "cells": []}]}, places, "/axes/0/cells: must be a list of"),
                                   ({"axes": [{"key": "size_B", "cells": [1]}]}, places, "/axes/0/cells: must be texts or null"), ({"axes": [{"cells": ["1"]}]}, places, "missing key"),
                                   ({"axes": 1}, places, "/axes: must be an array"), ({"scenarios": -1}, places, "/scenarios: must be from 0"),
                                   ({"scenarios": 10**17}, places, "/scenarios: must be from 0"), ({"columns": [1]}, places, "/columns: must be an array of"),
                                   ({"typed": "no"}, places, "/typed: must be"), ({"more": 1}, places, "/more: unknown key"), ({}, places[:-1], "ends too early"),
                                   ({}, struct.pack("=qqi", 2, 0, 0), "place 2 of 2 in the product of the axes"), ({}, struct.pack("=qqi", -1, 0, 0), "place -1"),
                                   ({}, struct.pack("=qqi", 0, 0, 1), "file 1 of 1 files of the journal"), ({}, struct.pack("=qqi", 0, -1, 0), f"{journal}: scenario 0")):
            line = json.dumps({**right, **change}).encode() + b"\n"
            done = subprocess.run([PROGRAM, "sweep", "--table", "-"], input=line + data, capture_output=True, check=False)
            with self.subTest(said):
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
                self.assertIn(said, done.stderr.decode())
        for line in (b"", b"[]\n", b"{\n", b"{}\n"):
            done = subprocess.run([PROGRAM, "sweep", "--table", "-"], input=line, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
            self.assertIn("standard input", done.stderr.decode())

    def named_machine(self) -> str:
        """The P100 DGX-1 with a UUID and a bus id for each GPU."""
        machine = json.loads((ROOT / "topologies" / "p100-dgx1.json").read_text())
        gpus = [device for device in machine["devices"] if device["kind"] == "gpu"]
        for number, gpu in enumerate(gpus):
            gpu |= {"uuid": f"GPU-8f2a1c00-0000-4000-8000-00000000000{number}", "bus_id": f"0000:1b:0{number}.0"}
        return str(self.write("named.json", machine))

    def test_gpu_count_is_the_number_of_ranks_however_gpus_are_written(self):
        """Of n ranks nccl-tests' bus bandwidth of all_reduce is 2 (n - 1) / n of the algorithm's: the answer says n twice."""
        uuid, bus = "GPU-8f2a1c00-0000-4000-8000-00000000000", "0000:1b:0{}.0"
        written = [([0, 1, 2], 3), ("0-3", 4), ("0,2", 2), ("0-3,6", 5), ("gpu0-gpu7", 8), ("gpu1,GPU5", 2), (["gpu0", 3], 2), ("0-7", 8),
                   (f"{uuid}1,{uuid}2,{uuid}7", 3), ([f"{uuid}3", f"{uuid}0"], 2), (",".join(bus.format(i) for i in range(5)), 5),
                   (f"0-1,{uuid}4,{bus.format(6)}", 4)]
        query = {**BASE["query"], "platform": self.named_machine(), "size_B": "1MiB"}
        for row, (text, count) in zip(self.rows(study(query=query, axes={"gpus": [text for text, _ in written]})), written, strict=True):
            self.check_count(row, count, text)

    def test_gpu_count_of_nodes_and_of_all(self):
        def rows(axes: dict, **query):
            query = {"kind": "collective", "op": "all_reduce", "size_B": "1MiB", **query}
            return self.rows(study(query=query, axes=axes), out="-".join(axes))
        for row in rows({"nodes": [1, 2, 4], "gpus_per_node": [2, 4]}, platform="leonardo"):
            self.check_count(row, int(row["nodes"]) * int(row["gpus_per_node"]), row)
        for row in rows({"gpus": ["0-1", "0,2-3"], "nodes": [1, 3]}, platform="leonardo", library="mpi-openmpi"):
            self.check_count(row, int(row["nodes"]) * (2 if row["gpus"] == "0-1" else 3), row)
        for row in rows({"nodes": [1, 2], "platform": ["leonardo", "gb200-nvl72"]}):  # all of each; multicast's channels name 32 heads
            self.check_count(row, int(row["nodes"]) * (4 if row["platform"] == "leonardo" else 72), row)

    def test_gpu_count_of_replays(self):
        query = {"kind": "replay", "platform": "hgx-h100", "trace": "alexnet", "options": {"gpus": 4}}
        rows = self.rows(study(query=query, axes={"placement": ["0-3", "4-7", [0, 2, 4, 6]]}))
        self.assertEqual([row["gpu_count"] for row in rows], ["4"] * 3)

    def check_count(self, row: dict, count: int, what: object):
        ratio = float(row["busbw_Bps"]) / float(row["algbw_Bps"])
        self.assertEqual((int(row["gpu_count"]), round(2 / (2 - ratio))), (count, count), what)

    def test_a_scenario_without_answer_is_a_row(self):
        rows = self.rows(study(axes={"gpus": [[0, 1], [0, 9], [0, 0]], "size_B": ["1MiB"]}), code=1)
        self.assertEqual([row["error"] for row in rows], ["", "/gpus/1: 9 is no GPU of p100-dgx1: 0 to 7", "/gpus/1: 0 is given twice"])
        self.assertEqual([bool(row["time_s"]) for row in rows], [True, False, False])

    def test_other_kinds(self):
        rows = self.rows(study(query={"kind": "replay", "trace": "alexnet"},
                               axes={"platform": ["gx8"], "options.gpus": [1, 2]}))
        for row in rows:
            self.assertGreater(float(row["makespan_s"]), 0)
            self.assertEqual(row["error"], "")

    def test_a_long_axis_is_thinned_in_pictures_alone(self):
        rows = self.rows(study(query={"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1"},
                               axes={"size_B": {"from": 1000, "to": 1600, "factor": 1.0001}}))
        self.assertEqual(len(rows), 601)
        page = (self.folder / "out" / "report.html").read_text()
        self.assertIn("300 of 601 values of size_B", page)
        self.assertLess(len(page), 1_500_000)

    def test_long_names_are_short_in_pictures_alone(self):
        """A fabric as an edit has 250 letters; nodes stand at the axis as they are."""
        edits = [[f"set kind=nvlink2:bandwidth={rate}GB/s", "slow gpu0:1.25", "slow gpu1:1.25", "slow gpu2:1.25"] for rate in (20, 40)]
        path = self.write("long.json", {"schema": "linkcast/study/1", "name": "long", "query": {"kind": "collective", "platform": "summit", "op": "all_reduce", "size_B": "1M"},
                                        "axes": {"edits": edits, "nodes": [1, 3, 48]}})
        done = run("sweep", path, folder=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = (self.folder / "long.sweep/report.html").read_text()
        drawn = {text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", page)}
        self.assertLessEqual({"set kind=nvlink2:bandwidth=20G ... gpu2:1.25", "set kind=nvlink2:bandwidth=40G ... gpu2:1.25", "1", "3", "48"}, drawn)
        self.assertIn("; ".join(edits[0]), (self.folder / "long.sweep/table.csv").read_text())

    def test_rows_of_a_batch(self):
        """--rows: numbers, texts and flags of an answer; of lists of answers the first, and how many there are."""
        queries = [{"kind": "routes", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu5"},
                   {"kind": "place", "platform": "p100-dgx1", "job": "all_reduce:1MiB", "ranks": 2},
                   {"kind": "collective", "platform": "p100-dgx1", "op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 2**20},
                   {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu9", "size_B": 1}]
        whole = answers(queries)
        done = run("predict", "--batch", "-", "--rows", stdin="".join(json.dumps(query) + "\n" for query in queries))
        routes, place, collective, wrong = (json.loads(line) for line in done.stdout.splitlines())
        best = whole[0]["routes"][0]
        self.assertEqual((routes["routes"], routes["route"], routes["time_s"]), (len(whole[0]["routes"]), "  ".join(best["route"]), best["time_s"]))
        first = whole[1]["placements"][0]
        self.assertEqual((place["placements"], place["placement"], place["time_s"]),
                         (len(whole[1]["placements"]), " ".join(map(str, first["gpus"])), first["time_s"]))
        self.assertEqual((collective["channels"], collective["bottleneck"]),
                         (len(whole[2]["channels"]), "  ".join(whole[2]["bottleneck"])))
        self.assertFalse({"inputs", "versions", "kind", "id"} & collective.keys())
        self.assertEqual(wrong, {"error": "/dst: 'gpu9' is no GPU or CPU of p100-dgx1: one of gpu0, gpu1, gpu2, gpu3, gpu4, gpu5, "
                                          "gpu6, gpu7, cpu0, cpu1"})

    def test_skips_number_what_is_left(self):
        """Row by row what --dry-run says, with axes and skips of several values."""
        value = study(axes={"gpus": [[0, 1], [0, 2], [1, 2, 3]], "size_B": [1, 2, 3], "library": ["nccl-2.4", "nccl-2.20"]},
                      skip=[{"gpus": [[0, 2]], "size_B": [2, 3]}, {"library": ["nccl-2.4"], "size_B": [1]}])
        done = run("sweep", self.write("study.json", value), "--dry-run", folder=self.folder)
        asked = [json.loads(line) for line in done.stdout.splitlines()]
        expected = [(gpus, size, library) for gpus in value["axes"]["gpus"] for size in (1, 2, 3) for library in value["axes"]["library"]
                    if not (gpus == [0, 2] and size > 1) and not (library == "nccl-2.4" and size == 1)]
        self.assertEqual([(query["gpus"], query["size_B"], query["library"]) for query in asked], expected)
        self.assertEqual([query["id"] for query in asked], list(range(len(expected))))

    def plots(self) -> list[dict]:
        return json.loads((self.folder / "out" / "sweep.json").read_text())["plots"]

    def test_files(self):
        def names() -> set[str]:
            return {path.name for path in (self.folder / "out").rglob("*")}
        rows, plain = self.rows(BASE, "--table-only"), {"journal.jsonl", "table.csv", "sweep.json"}
        self.assertEqual((names(), self.plots()), (plain, []))
        printed = run("sweep", "study.json", "--out", "json", "--table-only", "--json", folder=self.folder)
        self.assertEqual(json.loads(printed.stdout)["plots"], [])
        self.assertEqual(self.rows(BASE, "--resume"), rows)
        self.assertEqual(self.plots(), [{"x": "size_B", "y": "busbw_Bps", "by": "gpus"}])
        drawn = plain | {"report.html", "plots", "1-busbw_Bps-over-size_B.png", "1-busbw_Bps-over-size_B.svg"}
        self.assertEqual(names(), drawn | ({"table.parquet"} if has("pyarrow") else set()))
        if not has("pyarrow"):
            return
        # Read by the interpreter that wrote it.
        code = "import sys, json, pyarrow.parquet as p; print(json.dumps(p.read_table(sys.argv[1]).to_pylist()))"
        read = subprocess.run([PYTHON, "-c", code, self.folder / "out" / "table.parquet"], capture_output=True, text=True, check=True)
        for row, typed in zip(rows, json.loads(read.stdout), strict=True):
            self.assertEqual((float(row["time_s"]), int(row["size_B"]), row["gpus"]), (typed["time_s"], typed["size_B"], typed["gpus"]))
            self.assertEqual((row["error"], typed["error"]), ("", None))
            self.assertEqual((row["bottleneck"], row["fallback"]), (typed["bottleneck"], str(typed["fallback"]).lower()))


if __name__ == "__main__":
    main("matplotlib", "jinja2")
