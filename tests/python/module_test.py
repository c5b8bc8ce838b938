#!/usr/bin/env python3
"""`import linkcast`: the same answers as the command line, batches on threads, errors, Ctrl-C, notebooks."""
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

from program import PROGRAM, ROOT, SKIPPED, InFolder, answers, main, run

sys.path.insert(0, str(ROOT / "python"))
if not list((PROGRAM.parent / "module").glob("_native*")):
    print("skipped: the Python module is not built")
    sys.exit(SKIPPED)
import linkcast  # noqa: E402

LOG = ROOT / "tests/input/import/p2p-p100-cuda8.txt"
BOX = {"platform": "p100-dgx1"}
QUESTIONS = {
    "p2p": {"src": "gpu0", "dst": "gpu4", "size_B": 2**26},
    "flows": {"flows": [["gpu0", "gpu1", 2**26], ["gpu0", "gpu2", 2**26]]},
    "collective": {"op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 2**20},
    "rings": {"gpus": [0, 1, 2, 3]},
    "routes": {"src": "gpu0", "dst": "gpu5"},
    "replay": {"trace": "data_parallel", "options": {"ranks": "4"}},
    "place": {"job": "all_reduce:1MiB", "ranks": 2},
    "show": {},
}
SLOW = "import linkcast\nquery = {'kind': 'place', 'platform': 'v100-dgx1', 'job': 'data_parallel', 'ranks': 4, 'top': 1}\n"


def asked(kind: str) -> dict:
    return {"kind": kind, **BOX, **QUESTIONS[kind]}


class Questions(unittest.TestCase):
    def test_every_kind_as_the_command_line(self):
        expected = dict(zip(QUESTIONS, answers([asked(kind) for kind in QUESTIONS]), strict=True))
        for kind, keys in QUESTIONS.items():
            got = getattr(linkcast, kind)("p100-dgx1", **keys)
            self.assertEqual(got.raw, expected[kind], kind)
            self.assertEqual(type(got).__name__, kind.capitalize())
            self.assertEqual(linkcast.ask(asked(kind)), got)
        self.assertEqual(linkcast.predict("p100-dgx1", "gpu0", "gpu4", 2**26).raw, expected["p2p"])
        fabric = linkcast.fabric("alps")
        self.assertEqual(fabric.raw, answers([{"kind": "fabric", "platform": "alps"}])[0])

    def test_texts_as_on_the_command_line(self):
        words = ("predict", "collective", "--platform", "p100-dgx1", "--gpus", "0-3", "--op", "all_reduce", "--size", "1MiB", "--json")
        got = linkcast.collective("p100-dgx1", "all_reduce", gpus="0-3", size_B="1MiB", solver="fluid", alternatives=True)
        self.assertEqual(got.raw, json.loads(run(*words).stdout))
        self.assertEqual(linkcast.flows("p100-dgx1", ["gpu0:gpu1:64MiB", "gpu0:gpu2:64MiB"]).time_s,
                         linkcast.flows("p100-dgx1", QUESTIONS["flows"]["flows"]).time_s)
        self.assertEqual(linkcast.place("p100-dgx1", "all_reduce:1MiB", 2, busy="gpu0,gpu1").gpus,
                         linkcast.place("p100-dgx1", "all_reduce:1MiB", 2, busy=[0, 1]).gpus)

    def test_edits(self):
        machine = linkcast.Platform("p100-dgx1")
        broken = machine.edit("remove gpu0-gpu4")
        self.assertEqual(repr(broken), "Platform('p100-dgx1').edit('remove gpu0-gpu4')")
        self.assertEqual(broken.p2p(**QUESTIONS["p2p"]).raw, answers([{**asked("p2p"), "edits": ["remove gpu0-gpu4"]}])[0])
        self.assertEqual((machine.p2p(**QUESTIONS["p2p"]).transport, machine.edits), ("peer", ()))
        words = ("whatif", "predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu4", "--size", "64MiB", "--remove",
                 "gpu0-gpu4", "--json")
        self.assertEqual(broken.whatif("p2p", solver="fluid", **{**QUESTIONS["p2p"], "size_B": "64MiB"}).raw, json.loads(run(*words).stdout))
        self.assertIn("time_s: 3.639 ms \N{RIGHTWARDS ARROW} 6.555 ms", repr(broken.whatif("p2p", **QUESTIONS["p2p"])))

    def test_native_solver_again_and_on_a_thread(self):
        times = [linkcast.p2p("p100-dgx1", **QUESTIONS["p2p"], solver="native").time_s for _ in range(2)]
        thread = threading.Thread(target=lambda: times.append(linkcast.p2p("p100-dgx1", **QUESTIONS["p2p"], solver="native").time_s))
        thread.start()
        thread.join()
        self.assertEqual(times, [answers([{**asked("p2p"), "solver": "native"}])[0]["time_s"]] * 3)

    def test_python_threads(self):
        """The one that comes second has no engine of SimGrid's."""
        expected, got = linkcast.ask(asked("collective")), []
        threads = [threading.Thread(target=lambda: got.append(linkcast.ask(asked("collective")))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [expected] * 4)

    def test_values_of_python(self):
        query = asked("collective")
        broken = linkcast.Platform("p100-dgx1").edit("remove gpu0-gpu1")
        expected = answers([{**query, "edits": ["remove gpu0-gpu1", "slow gpu2:2"]}])[0]
        odd = {**query, "platform": broken, "edits": ["slow gpu2:2"], "gpus": range(4)}
        self.assertEqual([linkcast.ask(odd).raw, linkcast.batch([odd])[0].raw], [expected] * 2)
        for key, says in (("size", r"collective\(\) takes no 'size' \(did you mean 'size_B'\?\)"), ("edits", r"takes no 'edits': Platform\(NAME\)\.edit")):
            with self.assertRaisesRegex(TypeError, says):
                linkcast.collective("p100-dgx1", "all_reduce", **{key: "1MiB"})
        with self.assertRaisesRegex(TypeError, "object is no value of a query"):
            linkcast.ask({**query, "gpus": object()})
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        sizes = [linkcast.collective("p100-dgx1", "all_reduce", gpus=numpy.arange(4), size_B=size).time_s for size in 2 ** numpy.arange(10, 12)]
        self.assertEqual(sizes, [linkcast.collective("p100-dgx1", "all_reduce", gpus="0-3", size_B=size).time_s for size in (1024, 2048)])

    def test_no_question(self):
        good, wrong = linkcast.batch([asked("p2p"), 5])
        self.assertGreater(good.time_s, 0)
        self.assertIn("must be an object", wrong.error)
        for wrong in (lambda: linkcast.ask(5), lambda: linkcast.report({"a": 1}, out="x.html"), lambda: linkcast.predict(None, "gpu0", "gpu1", 1)):
            self.assertRaisesRegex(linkcast.InputError, "must be a|is no answer", wrong)

    def test_errors(self):
        for call, what in (
                (lambda: linkcast.predict("p100-dgx1", "gpu0", "gpu17", 1), "query:/dst: 'gpu17' is no GPU or CPU of p100-dgx1"),
                (lambda: linkcast.predict("p100-dgx1", "gpu0", "gpu1", "64XB"), "size_B: '64XB': unknown unit 'XB'"),
                (lambda: linkcast.Platform("none"), "unknown platform 'none': one of "),
                (lambda: linkcast.ask({**asked("p2p"), "sizes": 3}), "query:/sizes: unknown key"),
                (lambda: linkcast.Platform("p100-dgx1").edit("remove gpu0-gpu7"), "edit 'remove gpu0-gpu7': no such cable"),
                (lambda: linkcast.run("show", "none"), "unknown platform 'none'"),
                (lambda: linkcast.run("report", "none.json", "--out", "page.html"), "none.json: "),
                (lambda: linkcast.diagnose("p100-dgx1", "none.txt"), "none.txt: no such file")):
            with self.assertRaises(linkcast.InputError) as caught:
                call()
            self.assertIn(what, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(AttributeError):
            linkcast.rings("p100-dgx1", gpus="0-3").time_s  # noqa: B018


class Objects(unittest.TestCase):
    def test_keys(self):
        copy = linkcast.predict("p100-dgx1", "gpu0", "gpu1", "64MiB")
        self.assertEqual((copy.time_s, copy["time_s"], copy.via, copy.warnings), (copy.raw["time_s"], copy.raw["time_s"], None, []))
        copy.raw["from_a_later_version"] = 3
        self.assertEqual(copy.from_a_later_version, 3)
        self.assertIn("time_low_s", dir(copy))
        self.assertTrue(repr(copy).startswith("P2p(time_s=0.003639"), repr(copy))

    def test_signatures(self):
        self.assertEqual(list(inspect.signature(linkcast.routes).parameters)[:3], ["platform", "src", "dst"])
        self.assertIn("size_B", linkcast.keys("predict"))

    def test_html(self):
        answer = linkcast.collective("p100-dgx1", "all_reduce", gpus="0-4", size_B="1MiB")
        page = answer._repr_html_()
        self.assertIn("warning: GPU 4 has NVLink only to GPU 0", page)
        self.assertRegex(page, r"<th[^>]*>busbw</th><td[^>]*>[0-9.]+ [GM]B/s</td>")
        self.assertIn("placements", linkcast.place("p100-dgx1", "all_reduce:1MiB", 2)._repr_html_())
        self.assertIn("<table>", linkcast.Platform("p100-dgx1")._repr_html_())

    def test_frames(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        routes = linkcast.routes("p100-dgx1", "gpu0", "gpu5")
        self.assertEqual(list(routes.to_frame()["time_s"]), [route["time_s"] for route in routes.routes])
        frame = linkcast.batch([asked("p2p"), {**asked("p2p"), "dst": "none"}]).to_frame()
        self.assertEqual((frame["size_B"][0], frame["error"].isna().tolist()), (2**26, [True, False]))
        self.assertEqual(len(linkcast.predict("p100-dgx1", "gpu0", "gpu1", 1).to_frame()), 1)


class Batches(InFolder):
    def test_the_same_bytes(self):
        lines = [json.dumps({**asked(kind), "id": i}) for i, kind in enumerate([*QUESTIONS, "p2p", "collective"] * 3)]
        lines += ["", "{}", "no JSON", json.dumps({**asked("p2p"), "dst": "none"}), json.dumps({"id": "\x01", "kind": "\x02"})]
        file = self.write("batch", "\n".join(lines) + "\n")
        printed = run("predict", "--batch", file.name, folder=self.folder).stdout
        for jobs in (1, 3):
            self.assertEqual("".join(line + "\n" for line in linkcast.batch_lines(lines, jobs, "batch")), printed)

    def test_objects(self):
        got = linkcast.batch([asked("p2p"), {"kind": "p2p", "platform": "none"}, asked("rings")], jobs=2)
        self.assertEqual([type(answer).__name__ for answer in got], ["P2p", "Failure", "Rings"])
        self.assertTrue(got.errors()[0].error.startswith("batch line 2: unknown platform 'none'"), got.errors())
        self.assertEqual((got[1].raw["error"], linkcast.batch([])), (got.errors()[0].error, []))
        with self.assertRaises(ValueError):
            linkcast.batch([], jobs=0)

    def test_arrays_are_what_a_batch_says(self):
        numpy = self.numpy()
        src, dst, size = [0, 3, 1], [1, 0, 2], numpy.array([1024.0, 2**26, 12345])
        results = ["time_s", "time_low_s", "bandwidth_Bps", "transport", "latency_s"]
        found = linkcast.arrays({"kind": "p2p", "platform": "hgx-h200"}, results, src=src, dst=dst, size_B=size)
        queries = [{"kind": "p2p", "platform": "hgx-h200", "src": a, "dst": b, "size_B": int(c)} for a, b, c in zip(src, dst, size)]
        for i, answer in enumerate(linkcast.batch(queries)):
            for key in results:
                if key == "transport":
                    self.assertTrue(numpy.isnan(found[key][i]))
                else:
                    self.assertEqual(found[key][i], answer.raw[key], key)
        scaled = {"kind": "collective", "platform": "v100-dgx1", "op": "all_reduce", "gpus": [0, 1, 2, 3], "launch": "process", "size_B": 2**20}
        factors = [1.5, 1, 0.25]
        self.assertEqual(linkcast.arrays(scaled, host_scale=factors)["time_s"].tolist(),
                         [answer.time_s for answer in linkcast.batch([{**scaled, "host_scale": factor} for factor in factors])])

    def test_arrays_on_threads(self):
        """The same numbers, and of several queries that cannot be answered the first, however many threads there are."""
        copy = {"kind": "p2p", "platform": "hgx-h200", "src": 0, "dst": 1}
        size = self.numpy().arange(1, 5001) * 1000
        one = linkcast.arrays(copy, jobs=1, size_B=size)["time_s"].tolist()
        self.assertEqual(linkcast.arrays(copy, jobs=3, size_B=size)["time_s"].tolist(), one)
        self.assertEqual(linkcast.arrays(copy, size_B=size)["time_s"].tolist(), one)
        size[[2900, 2950, 3000, 4000]] = -1
        for _ in range(10):
            with self.assertRaisesRegex(linkcast.InputError, "^row 2900:/size_B: must be"):
                linkcast.arrays(copy, jobs=4, size_B=size)
        with self.assertRaises(ValueError):
            linkcast.arrays(copy, jobs=0, size_B=[1])

    def test_arrays_that_are_refused(self):
        numpy = self.numpy()
        copy = {"kind": "p2p", "platform": "hgx-h200", "dst": 1}
        masked = numpy.ma.masked_array([1.0, 2.0], mask=[False, True])
        for columns, what in (({"size_B": [1, 2], "from_": [1]}, "from: must be as long as size_B: 2 numbers, not 1"), ({}, "columns: give a key"),
                              ({"size_B": [[1, 2], [3]]}, "size_B: must be a list of numbers, one a query, not of lists"),
                              ({"size_B": [[1, 2], [3, 4]]}, "size_B: must be a list of numbers, one a query, not of 2 dimensions"),
                              ({"size_B": 5}, "size_B: must be a list of numbers, one a query, not of 0 dimensions"),
                              ({"size_B": masked}, "size_B: has masked numbers"), ({"size_B": ["1"]}, "size_B: must be numbers, not <U1"),
                              ({"size_B": [1, None]}, "size_B: must be numbers, not object"), ({"size_B": [True]}, "size_B: must be numbers, not bool"),
                              ({"size_B": [1j]}, "size_B: must be numbers, not complex128"),
                              ({"size_B": [1, numpy.nan]}, "size_B: row 1 is nan"), ({"size_B": [-numpy.inf, 1]}, "size_B: row 0 is -inf"),
                              ({"size_B": [1, 2, -3]}, "row 2:/size_B: must be"), ({"size_B": [1], "dst": [0]}, "dst: is given twice"),
                              ({"size_B": [1], "size_B_": [2]}, "size_B: is given twice"), ({"size_B": [1, 2], "src": [0, 9]}, "row 1:/src: 'gpu9' is no GPU"),
                              ({"size_B": [1], "colour": [1]}, "row 0:/colour: unknown key")):
            with self.subTest(what), self.assertRaisesRegex(linkcast.InputError, "^" + what):
                linkcast.arrays(copy if "src" in columns else {**copy, "src": 0}, **columns)
        for results in ("time_s", []):
            with self.assertRaisesRegex(linkcast.InputError, "^results: "):
                linkcast.arrays(copy, results, src=[0], size_B=[1])
        for key, what in (("time", "'time' is no key of an answer of p2p .did you mean 'time_s'?"), ("bandwidth_bps", ".* .did you mean 'bandwidth_Bps'"),
                          ("colour", "'colour' is no key of an answer of p2p$")):
            with self.assertRaisesRegex(linkcast.InputError, "^results: " + what):
                linkcast.arrays(copy, ["time_s", key], src=[0], size_B=[1])
        whole = numpy.ma.masked_array([1.0, 2.0])  # of which none is masked
        self.assertEqual(len(linkcast.arrays(copy, src=[0, 0], size_B=whole)["time_s"]), 2)
        self.assertEqual(len(linkcast.arrays(copy, src=[], size_B=[])["time_s"]), 0)

    def numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        return numpy

    def interrupted(self, call: str) -> tuple[float, str]:
        """Seconds from Ctrl-C to the end of a process that makes this call, and what it said."""
        script = SLOW + f"print('begin', flush=True)\n{call}\nprint('done')\n"
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        out, err = process.communicate(timeout=60)
        self.assertNotIn("done", out, "it ended before Ctrl-C came")
        return time.monotonic() - begin, err.splitlines()[-1]

    def test_ctrl_c(self):
        for call in ("linkcast.batch([query] * 100000, jobs=2)", "[linkcast.ask(query) for _ in range(100000)]",
                     "linkcast.validate()"):
            took_s, said = self.interrupted(call)
            self.assertEqual(said, "KeyboardInterrupt", call)
            self.assertLess(took_s, 5, call)


class Files(InFolder):
    def test_diagnose(self):
        self.assertEqual(linkcast.diagnose("p100-dgx1", LOG).verdict, "normal")
        wrong = linkcast.diagnose(linkcast.Platform("p100-dgx1").edit("scale gpu0-gpu1:2"), LOG)
        done = run("diagnose", "--platform", "p100-dgx1", "--edit", "scale gpu0-gpu1:2", LOG, "--json")
        self.assertEqual((wrong.raw, wrong.normal, done.returncode), (json.loads(done.stdout), False, 4))
        self.assertEqual(wrong.text + "\n", run("diagnose", "--platform", "p100-dgx1", "--edit", "scale gpu0-gpu1:2", LOG).stdout)
        self.assertIn("<pre>", wrong._repr_html_())

    def test_validate(self):
        data = "calibrate/data/p100-dgx1/p2p-matrix.json"
        for words, call in ((("TPDS-001",), lambda: linkcast.validate("TPDS-001")),
                            (("--against", ROOT / data), lambda: linkcast.validate(against=ROOT / data))):
            got, done = call(), run("validate", *words, "--json")
            self.assertEqual((got.raw, got.ok), (json.loads(done.stdout), done.returncode == 0))

    def test_import(self):
        words = ("import", "p2pBandwidthLatencyTest", LOG, "--machine", "box", "--topology", "p100-dgx1", "--option", "engine=sm")
        done = run(*words)
        got = linkcast.import_("p2pBandwidthLatencyTest", LOG, machine="box", topology="p100-dgx1", engine="sm")
        self.assertEqual((got.text, got.notes), (done.stdout, done.stderr.splitlines()))
        out = self.folder / "record.json"
        kept = linkcast.import_("p2pBandwidthLatencyTest", LOG, machine="box", topology="p100-dgx1", engine="sm", out=out)
        self.assertEqual((out.read_text(), kept.raw), (done.stdout, json.loads(done.stdout)))

    def test_import_of_a_trace(self):
        goal = self.write("send.goal", "num_ranks 2\nrank 0 {\nl1: send 64b to 1 tag 0\n}\nrank 1 {\nl1: recv 64b from 0 tag 0\n}\n")
        got, done = linkcast.import_("goal", goal), run("import", "goal", goal)
        self.assertEqual((got.text, got.notes), (done.stdout, done.stderr.splitlines()))
        self.assertEqual([row["kind"] for row in (json.loads(line) for line in got.text.splitlines()[1:])], ["send", "recv"])

    def test_fit(self):
        data = [ROOT / "calibrate/data/p100-dgx1" / name for name in ("p2p-matrix.json", "p2p-message-size.json")]
        out = self.folder / "fitted.json"
        run("calibrate", "fit", *data, "--topology", "p100-dgx1", "--bootstrap", "0", "--out", out)
        got = linkcast.fit("p100-dgx1", *data, bootstrap=0, out=self.folder / "again.json")
        self.assertEqual((got.text, (self.folder / "again.json").read_text()), (out.read_text(),) * 2)
        self.assertEqual(linkcast.Platform(self.folder / "again.json").p2p("gpu0", "gpu1", 1).transport, "peer")
        with self.assertRaisesRegex(linkcast.InputError, "^calibrate fit: no measurement given"):
            linkcast.fit("p100-dgx1", bootstrap=0)

    def test_init(self):
        topo = ROOT / "tests/input/import/topo-virtual.txt"
        done = run("init", topo, "--option", "gpu=A10G", "--machine", "vm", "--out", self.folder / "a", "--json")
        got, said = linkcast.init(topo, machine="vm", out=self.folder / "b", gpu="A10G"), json.loads(done.stdout)
        self.assertEqual((got.found, got.notes), (said["found"], said["notes"]))
        for name in ("vm-topology.json", "vm.json"):
            self.assertTrue((self.folder / "b" / name).is_file(), name)
        with self.assertRaisesRegex(linkcast.InputError, "^out: .* is there already: set force to replace it"):
            linkcast.init(topo, machine="vm", out=self.folder / "b", gpu="A10G")

    def test_no_process_and_no_option(self):
        """The pipelines run in this process, and their errors name keys, not options of a command line."""
        with unittest.mock.patch("subprocess.Popen", side_effect=AssertionError("a process was started")):
            linkcast.diagnose("p100-dgx1", LOG)
            linkcast.validate("TPDS-001")
            linkcast.import_("p2pBandwidthLatencyTest", LOG, machine="box", topology="p100-dgx1")
            self.assertIn("p100-dgx1", linkcast.platforms())
            for call, what in (
                    (lambda: linkcast.diagnose("hgx-h100", LOG), "name the platform that it was run on, or set force"),
                    (lambda: linkcast.import_("p2pBandwidthLatencyTest", LOG, machine="box", topology="hgx-h100"), "^topology: "),
                    (lambda: linkcast.validate("none"), "^validate: unknown claim 'none'")):
                with self.assertRaisesRegex(linkcast.InputError, what) as caught:
                    call()
                self.assertNotRegex(str(caught.exception), "--[a-z]")


class Studies(InFolder):
    STUDY = {"name": "sizes", "query": {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1"},
             "axes": {"size_B": ["1KiB", "1MiB"]}}

    def test_sweep(self):
        done = linkcast.sweep(self.STUDY, self.folder / "dict")
        self.assertTrue((done.folder / "report.html").is_file())
        self.assertEqual((done.scenarios, done.errors, done.folder), (2, 0, self.folder / "dict"))
        expected = linkcast.batch([{**self.STUDY["query"], "size_B": size} for size in (2**10, 2**20)])
        self.assertEqual([float(row["time_s"]) for row in done.rows()], [answer.time_s for answer in expected])
        query = {**self.STUDY["query"], "size_B": 1}
        study = self.write("study.json", {"schema": "linkcast/study/1", "name": "two", "query": {key: query[key] for key in ("kind", "platform", "src", "size_B")},
                                          "axes": {"dst": ["gpu1", "gpu99"]}})
        done = linkcast.sweep(study, self.folder / "file", jobs=1)
        self.assertEqual((done.scenarios, done.errors), (2, 1))
        with self.assertRaisesRegex(linkcast.InputError, "^study:/axes: missing key"):
            linkcast.sweep({"name": "nothing"})

    def test_wiring(self):
        found = linkcast.wiring("v100-dgx1", mixes=["4+4"], steps=2)
        self.assertEqual((found.gpus, found.looked_at, found.own["mixes"]), (8, 2, {"4+4": 1.0}))
        for wrong in ("hgx-h200", linkcast.Platform("v100-dgx1").edit("remove gpu0-gpu1")):
            with self.assertRaises(linkcast.InputError):
                linkcast.wiring(wrong, steps=1)

    def test_report(self):
        machine = linkcast.Platform("v100-dgx1")
        curve = linkcast.batch([{"kind": "collective", **BOX, "op": "all_reduce", "gpus": [0, 1], "size_B": size} for size in (2**10, 2**20)])
        whatif = machine.edit("remove gpu0-gpu1").whatif("collective", op="all_reduce", gpus="0-7", size_B=2**20)
        page = linkcast.report(curve, machine.rings(gpus=[0, 1]), whatif, linkcast.diagnose("p100-dgx1", LOG), out=self.folder / "page.html",
                               title="All of it")
        text = page.read_text()
        for word in ("<title>All of it", "2 answers", "v100-dgx1", LOG.name):
            self.assertIn(word, text)
        for results in ((), ("missing.json",)):
            with self.assertRaises(linkcast.InputError):
                linkcast.report(*results, out=self.folder / "none.html")


class Typed(unittest.TestCase):
    def test_mypy(self):
        if subprocess.run(["mypy", "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mypy is not installed")
        done = subprocess.run(["mypy", "--cache-dir", os.devnull], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
