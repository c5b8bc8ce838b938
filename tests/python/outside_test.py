#!/usr/bin/env python3
"""Input that is legal in form and extreme in value or size: refused with one line that names the place, never an internal error."""
import gzip
import json
import re
import resource
import subprocess
import time
import unittest

from program import PROGRAM, ROOT, InFolder, answers, main, run

COPY = {"kind": "p2p", "platform": "p100-dgx1", "src": 0, "dst": 1, "size_B": 2**20}
INPUT = ROOT / "tests/input/import"
LIBRARY_WORDS = re.compile(r"json\.exception|parse_error|type_error|out_of_range|stod|stoi|basic_string|bad_alloc|std::|Errno|Traceback|internal")


class Outside(InFolder):
    def refused(self, what: str, *words: object, stdin: str = ""):
        done = run(*words, folder=self.folder, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr[:600]))
        self.assertIn(what, done.stderr)
        self.assertNotRegex(done.stderr, LIBRARY_WORDS)
        self.assertLess(len(done.stderr), 4200)


class Values(Outside):
    """Each number that a reader takes has a range, with its unit (sim/base/ranges.hpp)."""

    def errors(self, queries: list[dict]) -> list[str]:
        found = answers(queries)
        self.assertEqual(len(found), len(queries))  # the batch goes on
        for answer in found:
            if "error" not in answer:
                self.assertTrue(0 < answer["time_low_s"] <= answer["time_s"] <= answer["time_high_s"] < 1e12, answer)
            else:
                self.assertNotRegex(answer["error"], LIBRARY_WORDS)
        return [answer.get("error", "") for answer in found]

    def test_edits(self):
        edits = {"set kind=nvlink1:bandwidth=1e300GB/s": "must be a finite number", "set kind=nvlink1:bandwidth=1e299GB/s": "must be at most 1e16 B/s",
                 "set kind=nvlink1:bandwidth=1e-30B/s": "must be at least 1 B/s", "set cable.nvlink1.retry_rate=1.0": "must be below 1",
                 "set cable.nvlink1.retry_rate=nan": "must be", "set cable.nvlink1.retry_rate=0.1x": "'0.1x' is not a number",
                 "set transport.peer_read.r0.startup_s=1e300s": "must be at most 1e10 s", "flaky gpu0-gpu1:0.999999999999": "is not a share from 0 to 0.999"}
        for (edit, what), error in zip(edits.items(), self.errors([{**COPY, "edits": [edit]} for edit in edits])):
            self.assertIn(what, error, edit)
        many = self.errors([{**COPY, "edits": [edit] * 2000} for edit in ("scale nvlink1:1000", "scale nvlink1:0.001", "scale gpu0-gpu1:1000", "slow gpu0:1000")])
        for error in many:
            self.assertIn("edits: together they change", error)
        self.assertEqual(self.errors([{**COPY, "edits": ["scale nvlink1:10", "scale nvlink1:0.1"]}]), [""])

    def test_cables_that_no_host_has(self):
        """Refused where they are added, not where a forecast between nodes meets them."""
        self.assertEqual(self.errors([{"kind": "p2p", "platform": "hgx-h200", "src": 0, "dst": 1, "size_B": 1, "edits": [edit]} for edit in ("add gpu0-nic0:nvlink4", "add nic0-gpu0:c2c")]),
                         [f"- line {line}: edit '{edit}': {kind} joins devices of one host, and a NIC leads to others: PCIe joins it with a GPU"
                          for line, edit, kind in ((1, "add gpu0-nic0:nvlink4", "nvlink4"), (2, "add nic0-gpu0:c2c", "c2c"))])

    def test_pcie_in_a_circle(self):
        query = {"kind": "collective", "platform": "hgx-h200", "op": "all_reduce", "size_B": 2**20, "nodes": 2, "gpus_per_node": 2}
        for edit in ("add gpu0-nic0:pcie5", "add nic0-plx3:pcie5", "add gpu0-plx3:pcie5"):
            self.assertIn("leads round in a circle", self.errors([{**query, "edits": [edit]}])[0])

    def test_queries(self):
        for scale in (1e308, 1e4, 1e-4):
            error = self.errors([{"kind": "collective", "platform": "hgx-h200", "op": "all_reduce", "gpus": [0, 1], "size_B": 8, "host_scale": scale}])[0]
            self.assertIn("/host_scale: must be 0.001 to 1000", error)

    def test_calibrations(self):
        good = json.loads((ROOT / "models/params/p100-dgx1.json").read_text())
        queries, places = [], []
        for name, row in good["parameters"].items():
            for key, value in [("value", v) for v in (0, -1, 1e-308, 1e-30, 1e30, 1e308)] + [("stderr", v) for v in (-1, 1e30, 1e308)]:
                bad = {**good, "parameters": {**good["parameters"], name: {**row, key: value}}}
                queries.append({**COPY, "platform": str(self.write(f"c{len(queries)}.json", bad))})
                places.append((name, key, value))
        refused = 0
        for (name, key, value), error in zip(places, self.errors(queries)):
            if abs(value) >= 1e30 or value < 0:
                self.assertIn(f"/parameters/{name}/{key}: must be", error.replace("a bandwidth must be", "must be"), value)
            refused += error != ""
        self.assertGreater(refused, 6 * len(good["parameters"]))

    def test_records_and_traces(self):
        record = json.loads((ROOT / "tests/input/pass_measurement.json").read_text())
        point = next(point for point in record["points"] if "time_s" in point)
        for time_s in (1e11, 1e300):
            path = self.write("m.json", {**record, "points": [{**point, "time_s": [time_s]}]})
            self.refused("/points/0/time_s/0: must be at most 1e10 s", "check", path)
        header = {"schema": "trace/1", "name": "x", "ranks": 1, "source": "test"}
        event = {"rank": 0, "kind": "compute", "time_s": 1}
        for place, first, second in (("host_scale: must be at most 1000", {**header, "host_scale": 1e308}, event), ("launch_s: must be at most 1e10 s", {**header, "launch_s": 1e300}, event),
                                     ("time_s: must be at most 1e10 s", header, {**event, "time_s": 1e300}), ("host_s: must be at most 1e10 s", header, {**event, "host_s": 1e300}),
                                     ("slowdown: must be at most 1000", header, {**event, "slowdown": 1e9})):
            self.refused(place, "check", self.write("t.jsonl", json.dumps(first) + "\n" + json.dumps(second) + "\n"))

    def test_a_job_shorter_than_the_clock_can_show(self):
        jobs = ({"schema": "jobs/1", "name": "day", "source": "test"}, {"id": "a", "arrival_s": 34450.81, "gpus": 1, "iterations": 3024, "compute_s": 4.586e-11},
                {"id": "b", "arrival_s": 1e9, "gpus": 1, "iterations": 7, "compute_s": 1e-9})
        done = run("schedule", self.write("jobs.jsonl", "".join(json.dumps(job) + "\n" for job in jobs)), "--platform", "p100-dgx1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused("line 2:/arrival_s: must be at most 1e10 s", "schedule", self.write("late.jsonl", json.dumps(jobs[0]) + "\n" + json.dumps({**jobs[1], "arrival_s": 1e11})),
                     "--platform", "p100-dgx1")


class Words(Outside):
    """No message has words of a library, or quotes without end."""

    def test_numbers_and_texts_that_are_no_json(self):
        for text in ("[1e400]", '{"a": ' + "1" * 400 + "e400}", "[" + "x" * 5000, '{"' + "k" * 5000):
            self.write("x.json", text)
            for words in (("check",), ("import", "kineto"), ("import", "flight-recorder"), ("import", "pytorch-et"), ("import", "chakra"), ("show",), ("report", "--out", "p.html"), ("sweep",)):
                self.refused("x.json", *words, "x.json")
            self.refused("x.json", "place", "--platform", "alps", "--groups", "x.json", "--job", "all_reduce:1MiB", "--ranks", "8")
        for error in (answer["error"] for answer in map(json.loads, run("predict", "--batch", "-", stdin='{"size_B": 1e400}\n' + "[" * 5000 + "\n").stdout.splitlines())):
            self.assertNotRegex(error, LIBRARY_WORDS)
            self.assertLess(len(error), 400)

    def test_groups_of_wrong_types(self):
        good = {"schema": "node-groups/1", "name": "a", "source": "x", "switches": [{"name": "s", "nodes": ["n1", "n2"]}]}
        for place, wrong in (("/switches/0/nodes: must be an array", {"switches": [{"name": "s", "nodes": [1, 2]}]}), ("/switches: must be an array", {"switches": "x"}),
                             ("/switches/0: must be an object", {"switches": ["s"]}), ("/switches/0/name", {"switches": [{"name": 1, "nodes": ["n"]}]})):
            path = self.write("groups.json", {**good, **wrong})
            for words in (("place", "--platform", "alps", "--groups", path, "--job", "all_reduce:1MiB", "--ranks", "8"), ("check", path)):
                self.refused(place, *words)

    def test_messages_name_their_file(self):
        self.refused("/dev/null: is a device or a pipe, not a file", "/dev/null")
        topology = json.loads((ROOT / "topologies/alps.json").read_text())
        topology["fabric"]["links"]["host"]["bandwidth"] = "200 Gb"
        path = self.write("alps.json", topology)
        for command in ("show", "check"):
            self.refused(f"{path}:/fabric/links/host/bandwidth: ", command, path)


class Importers(Outside):
    def test_columns_of_nccl_tests_fit_each_other(self):
        for name, topology in (("nccl-tests-sendrecv.txt", "leonardo"), ("nccl-all_reduce_perf-p100.txt", "p100-dgx1")):
            words = ("import", "nccl-tests", name, "--machine", "box", "--topology", topology, "--out", "out.json")
            text = (INPUT / name).read_text()
            self.write(name, text)
            self.assertEqual(run(*words, folder=self.folder).returncode, 0)
            row = next(line for line in reversed(text.splitlines()) if re.match(r"\s*\d+\s+\d+\s+[a-z]", line))
            cells = row.split()
            begin = 5 if " root " in text else 4
            columns = [begin + i for i in (0, 1, 2, 4, 5, 6)]  # time, algbw and busbw of both halves
            for column in columns:
                for factor in (1000, 0.001, 0, -1):
                    changed = [*cells]
                    changed[column] = f"{float(cells[column]) * factor:.2f}"
                    self.write(name, text.replace(row, " ".join(changed)))
                    self.refused(name, *words)
            self.write(name, text.replace(row, " ".join([cells[0], "0", *cells[2:]])))
            self.refused("count 0 with size", *words)

    def test_no_record_that_check_refuses(self):
        text = (INPUT / "ucx-tag-bw.txt").read_text()
        words = ("import", "ucx_perftest", "ucx.txt", "--machine", "box", "--topology", "hgx-h200", "--option", "src=gpu0", "--option", "dst=gpu1")
        final = next(line for line in text.splitlines() if line.startswith("Final:"))
        for rate in ("1e308", "1e300"):
            cells = final.split()
            cells[6] = rate
            self.write("ucx.txt", text.replace(final, " ".join(cells)))
            self.refused("bandwidth_Bps", *words)
        self.write("ucx.txt", re.sub(r"(Message size:\s+)\d+", r"\g<1>-0", text))
        self.refused("size", *words)

    def test_a_header_without_end(self):
        head = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
        rows = "\n" + "".join(f"GPU{i}\t" + "\t".join(" X " if i == j else "NV18" for j in range(4)) + "\t0-63\t0\t\tN/A\n" for i in range(4))
        for header, what in ((head * 20000, "is there twice"), ("\t" + "".join(f"GPU{i}" for i in range(200000)), "more than 256 devices")):
            self.write("topo.txt", header + rows)
            begin = time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
            self.refused(what, "import", "topo-m", "topo.txt", "--machine", "box", "--option", "gpu=H200")
            self.assertLess(time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - begin, 5)

    def test_packed_files_larger_than_their_beginning_says(self):
        """Memory is looked at while importers run: the estimate knows only the first megabytes."""
        import base64
        import os
        noise = base64.b64encode(os.urandom(4_500_000))
        with gzip.open(self.folder / "lie.gz", "wb", 1) as file:
            file.write(noise)
            for _ in range(1200):
                file.write(b"a" * 1_000_000)
        for form in ("nccl-log", "goal", "pytorch-et", "kineto", "simgrid-ti", "chakra", "flight-recorder", "nccl-tests", "csv", "nccl-xml"):
            process = subprocess.Popen([PROGRAM, "--max-memory", "600MiB", "--max-time", "none", "import", form, "lie.gz",
                                        *(["--machine", "box", "--topology", "hgx-h200"] if form in ("nccl-tests", "csv", "nccl-xml") else [])],
                                       cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out), (2, ""), (form, err[:300]))
            self.assertNotRegex(err, LIBRARY_WORDS)
        with gzip.open(self.folder / "many.xml.gz", "wb", 1) as file:  # elements of 4 bytes, which take 64 each
            file.write(b"<system><!-- " + noise + b" -->")
            for _ in range(100):
                file.write(b"<a/>" * 250_000)
            file.write(b"</system>")
        done = run("--max-memory", "600MiB", "--max-time", "none", "import", "nccl-xml", "many.xml.gz", "--machine", "box", folder=self.folder)
        self.assertEqual((done.returncode, "memory: " in done.stderr), (2, True), done.stderr[:300])
        most_B = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self.assertLess(most_B, 1.7 * 2**30)  # a text that grows is copied once

    def test_no_part_of_a_trace_on_standard_output(self):
        good = "num_ranks 2\n" + "".join(f"rank {rank} {{\nl1: calc 100\n}}\n" for rank in range(2))
        self.write("good.goal", good)
        self.assertEqual(run("import", "goal", "good.goal", folder=self.folder).returncode, 0)
        self.write("bad.goal", good + "rank 7 {\n")
        self.refused("bad.goal", "import", "goal", "bad.goal")


if __name__ == "__main__":
    main()
