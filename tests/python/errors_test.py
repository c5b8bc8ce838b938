#!/usr/bin/env python3
"""An error names the key to whoever wrote a batch query, and the option to whoever wrote a command line."""
import json
import subprocess
import unittest

import program
from program import ROOT, answers, run

LIBRARY = {"kind": "replay", "platform": "hgx-h200", "trace": "data_parallel", "options": {"ranks": "4"}}
WORDS = ("replay", "data_parallel", "--option", "ranks=4", "--platform", "hgx-h200")
ALPS = {**LIBRARY, "platform": "alps"}
ON_ALPS = (*WORDS[:-1], "alps")


class WithoutEnd(unittest.TestCase):
    def test_a_device_is_no_platform(self):
        error = answers([{"kind": "p2p", "platform": "/dev/zero", "src": 0, "dst": 1, "size_B": 1}])[0]["error"]
        self.assertIn("/dev/zero: is longer than 512 MiB", error)
        done = run("replay", "/dev/zero", "--platform", "gx8")
        self.assertEqual((done.returncode, done.stderr), (2, "error: /dev/zero line 1: is longer than 256 MiB\n"))


class AsTyped(program.InFolder):
    """The commonest slips on a command line, and sizes as people write them, by every door."""

    def refused(self, words: str, start: str):
        done = run(*words.split())
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertTrue(done.stderr.startswith("error: " + start), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_commands(self):
        self.refused("diagnos --platform hgx-h100 x.log", "unknown subcommand 'diagnos' (did you mean 'diagnose'?)")
        self.refused("predict colective --platform hgx-h100", "unknown subcommand of predict 'colective' (did you mean 'collective'?)")
        self.refused("predict --platform hgx-h100", "predict needs one of collective, flows, p2p before --platform")
        self.refused("record -- ls", "--out is required")
        self.refused("show hgx-h100 --remove nic6-plx6 nic7-plx7", "not expected: 'nic7-plx7'; an option takes one value, several as 0,1,2 or with the option repeated")
        self.refused("predict collective --platform hgx-h100 --op all_reduce --size 1MiB --remove nic4", "command line: edit 'remove nic4': 'nic4' is a device, not a cable: at it are ")
        self.refused("predict collective --platform hgx-h100 --gpus 0 1 --op all_reduce --size 1MiB", "not expected: '1'; an option takes one")
        self.refused("predict collective --platform hgx-h100 --op all_reduce --size 1MiB --nodes 1,2", "--nodes: '1,2' is no number: several are a study, see 'linkcast sweep' (see --help)")
        self.refused("predict collective --platform hgx-h100 --op all_reduce --size 1MiB --nodes two", "--nodes: 'two' is no number (see --help)")
        self.refused("predict --bacth queries.jsonl", "unknown option --bacth (did you mean '--batch'?)")

    def test_check_reads_all_files(self):
        for name, text in (("good.json", (ROOT / "topologies/dgx2.json").read_text()), ("bad.json", "{"), ("worse.json", "[]")):
            (self.folder / name).write_text(text)
        done = run("check", "bad.json", "good.json", "worse.json", folder=self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, "good.json: ok, topology/1\n"))
        self.assertIn("warning: bad.json: not JSON", done.stderr)
        self.assertIn("warning: worse.json", done.stderr)
        self.assertTrue(done.stderr.endswith("error: 2 of 3 files are wrong\n"), done.stderr)

    def test_sizes_with_units(self):
        plain = [{"kind": "p2p", "platform": "gx8", "src": 0, "dst": 1, "size_B": 67108864},
                 {"kind": "flows", "platform": "gx8", "flows": [["gpu0", "gpu1", 1048576], ["gpu1", "gpu0", 1000]]},
                 {"kind": "collective", "platform": "v100-dgx1", "gpus": [0, 1], "op": "allgatherv", "sizes_B": [1048576, 4194304]}]
        text = [{**plain[0], "size_B": "64MiB"}, {**plain[1], "flows": [["gpu0", "gpu1", "1MiB"], ["gpu1", "gpu0", "1kB"]]},
                {**plain[2], "sizes_B": ["1MiB", "4 MiB"]}]
        job = {"kind": "place", "platform": "hgx-h100", "ranks": 4, "job": {"op": "all_reduce", "size_B": 67108864}}
        plain, text = plain + [job], text + [{**job, "job": {"op": "all_reduce", "size_B": "64M"}}]
        for number, words in zip(answers(plain), answers(text)):
            self.assertNotIn("error", number)
            self.assertEqual({**number, "inputs": 0}, {**words, "inputs": 0})
        wrong = {"64 blocks": "unknown unit", "64kiB": "unknown unit", "-1": "is negative", "9" * 99: "is no size", "a\nb": "is no size"}
        for size, words in wrong.items():
            error = answers([{**plain[0], "size_B": size}])[0]["error"]
            self.assertTrue(error.startswith("- line 1:/size_B: ") and words in error and len(error) < 200 and "\n" not in error, error)
        self.assertTrue(answers([{**plain[1], "flows": [["gpu0", "gpu1", 1], ["gpu1", "gpu0", "oops"]]}])[0]["error"].startswith("- line 1:/flows/1/2: "))

    def test_three_warnings(self):
        words = "predict collective --platform rtx-4090 --gpus 0-7 --op all_reduce --size 1MiB".split()
        shown = run(*words).stderr.splitlines()
        everything = [line for line in run("-v", *words).stderr.splitlines() if line.startswith("warning: ")]
        self.assertGreater(len(everything), 3)
        self.assertEqual(shown[:3], everything[:3])
        self.assertTrue(shown[0].startswith("warning: nothing was measured on rtx-4090"))
        self.assertEqual(len(shown), 4)
        self.assertRegex(shown[3], r"^warning: \d more of what was assumed: -v shows (it|them)$")

    def test_rings_alike_are_one_line(self):
        printed = run(*"rings --platform hgx-h100 --gpus 0-7".split()).stdout
        self.assertIn("  rings 0 to 11: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 0\n", printed)
        self.assertNotIn("ring 1:", printed)


class DeepJson(program.InFolder):
    """Values of 200,000 levels exhaust the stack where they are copied: no importer takes more than 100."""

    def refused(self, text: str, *words: str):
        (self.folder / "deep.json").write_text(text)
        done = run("import", words[0], "deep.json", *words[1:], folder=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr[:300])
        self.assertRegex(done.stderr, "(?m)^error: .+: nested deeper than 100 levels$")  # behind what was assumed
        self.assertLess(len(done.stderr), 1000)

    def test_traces(self):
        deep = "[" * 200000 + "]" * 200000
        event = '{"ph": "X", "name": "k", "cat": "kernel", "ts": 1, "dur": 1, "args": {"x": %s}}' % deep
        self.refused('{"traceEvents": [%s]}' % event, "kineto")
        self.refused('{"traceEvents": [%s]}' % event.replace(deep, '{"a":' * 60000 + "0" + "}" * 60000), "kineto")
        self.refused('{"nodes": [%s]}' % event, "pytorch-et")
        self.refused('{"version": "2.1", "entries": [%s]}' % event, "flight-recorder")
        self.refused("[%s]" % event, "chakra")

    def test_measurements(self):
        printed = '{"testcases": 0, "nvbandwidth": {"x": %s}}' % ("[" * 200000 + "]" * 200000)
        self.refused(json.dumps({"tests": [printed]}), "nvbandwidth", "--machine", "box", "--topology", "hgx-h200")


class Replay(program.InFolder):
    def check(self, query: dict, words: tuple, key: str, option: str, rest: str):
        """@param rest  of the text, the same in both but for a key at its end"""
        self.assertEqual(answers([query])[0]["error"], f"- line 1: {key}: {rest}")
        self.assert_refused(run(*words), "")
        self.assertEqual(run(*words).stderr, f"error: {option}: {rest}\n".replace("needs nodes", "needs --nodes"))

    def test_placement(self):
        for gpus, rest in (([0, 1, 2], "data_parallel has 4 ranks and 3 GPUs are named"), ([0, 1, 2, 9], "there is no GPU 9, the machine has 0 to 7"),
                           ([0, 1, 2, 2], "GPU 2 is named twice")):
            text = ",".join(map(str, gpus))
            self.check({**LIBRARY, "placement": gpus}, (*WORDS, "--placement", text), "placement", "--placement", rest)

    def test_transport(self):
        kinds = answers([{**LIBRARY, "transport": "pigeon"}])[0]["error"].split("one of ")[1]
        self.check({**LIBRARY, "transport": "pigeon"}, (*WORDS, "--transport", "pigeon"), "transport", "--transport",
                   f"'pigeon' is no kind of message: one of {kinds}")
        self.check({**LIBRARY, "transport": "mpi_network"}, (*WORDS, "--transport", "mpi_network"), "transport", "--transport",
                   "is of messages between nodes, and needs nodes")

    def test_nodes(self):
        self.check({**LIBRARY, "gpus_per_node": 2}, (*WORDS, "--gpus-per-node", "2"), "gpus_per_node", "--gpus-per-node", "needs nodes")
        self.check({**ALPS, "nodes": 2, "gpus_per_node": 9}, (*ON_ALPS, "--nodes", "2", "--gpus-per-node", "9"), "gpus_per_node",
                   "--gpus-per-node", "must be 1 to 4")
        error = answers([{**ALPS, "nodes": 999999}])[0]["error"]
        self.assertIn("line 1: nodes: must be 1 to ", error)
        self.check({**ALPS, "nodes": 999999}, (*ON_ALPS, "--nodes", "999999"), "nodes", "--nodes", error.split("nodes: ")[1])

    def test_options_of_an_application(self):
        for key, value, rest in (("colour", "red", "data_parallel takes "), ("ranks", "many", "'many' is not a whole number of at least ")):
            error = answers([{**LIBRARY, "options": {key: value}}])[0]["error"]
            self.assertTrue(error.startswith(f"- line 1: option {key}: {rest}"), error)
            self.check({**LIBRARY, "options": {key: value}}, ("replay", "data_parallel", "--option", f"{key}={value}", "--platform", "hgx-h200"),
                       f"option {key}", f"--option {key}", error.split(f"option {key}: ")[1])
        self.check({**LIBRARY, "trace": "h200x4-alexnet"}, ("replay", "h200x4-alexnet", *WORDS[2:]), "options", "--option",
                   "h200x4-alexnet is no application: only those take options")
        error = answers([{**LIBRARY, "trace": "bfs", "options": {"scale": "99"}}])[0]["error"]
        self.assertIn(": option scale: at most 40", error)
        self.assert_refused(run("trace", "bfs", "--option", "scale=99"), "error: --option scale: at most 40")

    def test_ranks(self):
        header = {"schema": "trace/1", "name": "half", "source": "by hand", "ranks": 4, "groups": {"half": [0, 1]}}
        trace = self.write("half.jsonl", json.dumps(header) + "\n")
        rest = (f"{trace} has 4 ranks and group 'half' of 2 of them: only traces whose groups are all ranks can be replayed on another "
                "number")
        self.check({"kind": "replay", "platform": "hgx-h200", "trace": str(trace), "ranks": 2},
                   ("replay", trace, "--ranks", "2", "--platform", "hgx-h200"), "ranks", "--ranks", rest)

    def test_too_few_gpus(self):
        words = ("replay", "data_parallel", "--option", "ranks=9", "--platform", "hgx-h200")
        self.assertEqual(run(*words).stderr, "error: data_parallel has 9 ranks and the machine has 8 GPUs\n")

    def test_also(self):  # no query has it
        self.assert_refused(run(*WORDS, "--also", "data_parallel:0-3"), "error: --also: GPU 0 has a rank of another job")
        self.assert_refused(run(*ON_ALPS, "--also", "data_parallel"), "error: --also: data_parallel has 4 ranks and 0 GPUs are left for it")

    def test_local_step(self):  # calibrate has no query
        done = run("calibrate", "trace", "h200x4-alexnet", "--platform", "hgx-h200", "--local-step", "1us")
        self.assertTrue(done.stderr.startswith("error: --local-step: what the GPUs of h200x4-alexnet compute takes "), done.stderr)


class Others(program.InFolder):
    def test_files(self):
        for words in (("import", "goal", ROOT / "tests/input/traces/goal.txt"), ("trace", "data_parallel")):
            self.assert_refused(run(*words, "--out", self.folder), f"error: --out: {self.folder}: is not a regular file")
        copies = ROOT / "calibrate/data/p100-dgx1/p2p-matrix.json"
        self.assert_refused(run("calibrate", "fit", copies, "--topology", "p100-dgx1", "--bootstrap", "0", "--out", self.folder), "")
        done = run("serve", "--port", "0", "--state", self.folder / "none" / "states.json", "--platform", "gx8")
        self.assertEqual(done.stderr, f"error: --state: {self.folder}/none/states.json: cannot be written\n")

    def test_two_outputs_are_two_files(self):
        fit = ("calibrate", "fit", ROOT / "calibrate/data/p100-dgx1/p2p-matrix.json", "--topology", "p100-dgx1", "--bootstrap", "0")
        both = self.folder / "both.json"
        (self.folder / "linked").symlink_to(self.folder)
        for report in (both, f"{self.folder}/linked/both.json", f"{self.folder}/./both.json"):
            self.assert_refused(run(*fit, "--out", both, "--fit-report", report), f"--fit-report: {report}: is the file that --out writes")
        self.assert_refused(run(*fit, "--out", self.folder / "residuals.json", "--report", self.folder),
                            f"--report: {self.folder}/residuals.json: is the file that --out writes")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["linked"])  # nothing was written

    def test_a_fit_writes_over_nothing_it_reads(self):
        data = ROOT / "calibrate/data/p100-dgx1/p2p-matrix.json"
        copy, topology = self.folder / "copy.json", self.folder / "topology.json"
        copy.write_bytes(data.read_bytes())
        topology.write_bytes((ROOT / "topologies/p100-dgx1.json").read_bytes())
        for words in (("--out", copy), ("--out", self.folder / "new.json", "--fit-report", copy)):
            self.assert_refused(run("calibrate", "fit", copy, "--topology", "p100-dgx1", *words), f"{words[-2]}: {copy}: is the file that is read")
        self.assert_refused(run("calibrate", "fit", copy, "--topology", topology, "--out", topology), f"--out: {topology}: is the file that is read")
        self.assertEqual(copy.read_bytes(), data.read_bytes())

    def test_no_import_writes_over_its_file(self):
        log = self.write("log.csv", "source,target,size_B,time_s,transport\ngpu0,gpu1,1048576,1e-4,peer\n")
        done = run("import", "csv", log, "--machine", "m", "--topology", "t", "--out", log)
        self.assert_refused(done, f"--out: {log}: is the file that is read")

    def test_programs_of_python(self):
        for words, what in ((["NOPE"], "no program is called 'NOPE': one of gallery, measure, plots."), (["plots"], "no program is called 'plots'"),
                            ([], "which program?: one of ")):
            done = subprocess.run([program.PYTHON, ROOT / "python/run.py", *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
            self.assertIn(what, done.stderr)

    def test_schedule(self):
        jobs = ROOT / "apps-traces/jobs/day-dgx1.jsonl"
        done = run("schedule", jobs, "--platform", "alps", "--nodes", "999999")
        self.assertTrue(done.stderr.startswith("error: --nodes: must be 1 to "), done.stderr)

    def test_place(self):
        words = ("place", "--platform", "hgx-h200", "--job", "data_parallel", "--ranks", "2", "--option", "colour=red")
        self.assertIn("error: command line: --option colour: data_parallel takes ", run(*words).stderr)

        self.assert_refused(run("place", "-p", "p100-dgx1", "--job", "foo:1", "--ranks", "2"), "error: --job: 'foo' is no collective: one of all_gather")

    def test_edits(self):
        def refused(platform: str, *edits: str) -> str:
            error = answers([{"kind": "show", "platform": platform, "edits": list(edits)}])[0]["error"]
            self.assertNotIn("\n", error)
            return error
        self.assertTrue(refused("lassen", "disable nvlink", "remove gpu0-gpu1").endswith("no such cable; gpu0 and gpu1 have no cable left"))
        self.assertIn("a fabric joins the nics of nodes, and this node has none", refused("gx8", "fabric single_switch:nodes=4,radix=64"))
        for edit in ("disable ib_hdr100", "swap ib_hdr100:ib_ndr", "set kind=ib_hdr100:bandwidth=50GB/s"):
            self.assertIn("joins nodes: write it as edit 'fabric dragonfly_plus:links.host.bandwidth=RATE'", refused("leonardo", edit))

    def test_what_is_no_option_stays(self):
        self.assertTrue(run("replay", "poem", "--platform", "gx8").stderr.startswith("error: trace: 'poem' is no file"))


class OfOtherQuestions(program.InFolder):
    """A key that a command has, and that this question does not take: the error says whose it is, not that there is none."""

    def check(self, query: dict, key: str, value: object, words: str, rest: str):
        self.assertEqual(answers([{**query, key: value}])[0]["error"], f"- line 1:/{key}: {rest}")
        self.assert_refused(run(*words.split()), rest)
        self.assertTrue(run(*words.split()).stderr.startswith(f"error: {words.split()[-2 if value is not True else -1]}: "))

    def test_copies_and_messages(self):
        message = {"kind": "p2p", "platform": "alps", "src": "node0/gpu0", "dst": "node1/gpu0", "size_B": 1000000}
        words = "predict p2p -p alps --src node0/gpu0 --dst node1/gpu0 --size 1MB "
        for key, value, option in (("engine", "sm", "--engine sm"), ("direction", "read", "--direction read"), ("chunk_B", 8, "--chunk 8B"),
                                   ("via", "gpu1", "--via gpu1"), ("pageable", True, "--pageable")):
            self.check(message, key, value, words + option, "is of copies inside a node, and this is a message between processes")
        self.check({"kind": "routes", "platform": "gx8", "src": "gpu0", "dst": "gpu1"}, "k", 2, "routes -p gx8 --src gpu0 --dst gpu1 -k 2",
                   "is of ways between nodes, and both ends are in one")

    def test_collectives(self):
        base = {"kind": "collective", "platform": "leonardo", "op": "all_reduce", "nodes": 2, "gpus_per_node": 1, "size_B": 1024}
        words = "predict collective -p leonardo --op all_reduce --nodes 2 --gpus-per-node 1 --size 1KiB "
        for key, value, option in (("calls", 2, "--calls 2"), ("protocol", "LL", "--protocol LL"), ("nvls", True, "--nvls"),
                                   ("engine", "direct", "--engine direct")):
            self.check({**base, "library": "mpi-openmpi"}, key, value, words + "--library mpi-openmpi " + option,
                       "is of libraries that build rings, and mpi-openmpi sends messages")
        self.check({**base, "library": "nccl-2.18"}, "transport", "pinned", words + "--library nccl-2.18 --transport pinned",
                   "is of libraries that send messages (mpi-...), and nccl-2.18 builds rings")

    def test_keys_of_a_batch_are_options(self):
        query = {"kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": 4, "gpus_per_node": 4, "size_B": 1 << 20}
        words = ("predict", "collective", "-p", "leonardo", "--op", "alltoall", "--nodes", "4", "--gpus-per-node", "4", "--size", "1MiB", "--json")
        for more, options in (({"engine": "reduced"}, ("--engine", "reduced")),
                              ({"library": "mpi-openmpi", "transport": "mpi_network"}, ("--library", "mpi-openmpi", "--transport", "mpi_network"))):
            self.assertEqual(json.loads(run(*words, *options).stdout)["time_s"], answers([{**query, **more}])[0]["time_s"])

    def test_all_solvers_between_nodes(self):
        words = ("predict", "collective", "-p", "leonardo", "--op", "all_reduce", "--nodes", "2", "--gpus-per-node", "4", "--size", "1GiB", "--json")
        times = [json.loads(run(*words, "--solver", solver).stdout)["time_s"] for solver in ("fluid", "fluid_simgrid", "native")]
        self.assertEqual(times[0], times[1])
        self.assertAlmostEqual(times[2] / times[0], 1, delta=1e-9)


class Found(program.InFolder):
    def test_diagnose_knows_the_json_of_nccl_tests(self):
        file = ROOT / "tests/input/import/nccl-tests-all-gather.json"
        words = ("diagnose", "--platform", "hgx-h200", file, "--json")
        known = run(*words, "--format", "nccl-tests")
        self.assertIn(known.returncode, (0, 5), known.stderr)  # 24.6 us of 1 MiB: one thread for four GPUs takes as long
        self.assertEqual((run(*words).returncode, run(*words).stdout, run(*words).stderr),
                         (known.returncode, known.stdout, known.stderr))

    def test_a_refused_fabric_edit_names_the_edit(self):
        query = {"kind": "fabric", "platform": "abci-v100"}
        for edit, rest in (("fabric fat_tree:radix=3", "/fabric/radix: must be even"), ("fabric pond", "/fabric/generator: 'pond'"),
                           ("fabric torus:shape=4x4", "/fabric/dimensions: missing key")):
            for edits in ([edit], ["slow gpu0:2", edit]):
                error = answers([{**query, "edits": edits}])[0]["error"]
                self.assertTrue(error.startswith(f"- line 1: edit '{edit}':{rest}"), error)
                self.assertNotIn(".json", error)


class Names(program.InFolder):
    def test_one_that_the_system_refuses_is_bad_input(self):
        name = "a" * 300
        for words in (("check", name), ("replay", name, "--platform", "p100-dgx1"), ("import", "simgrid-ti", name, "--out", "t.jsonl")):
            with self.subTest(words=words[0]):
                self.assert_refused(run(*words), "File name too long")
        error = answers([{"kind": "replay", "platform": "p100-dgx1", "trace": name}])[0]["error"]
        self.assertTrue(error.endswith("File name too long"), error)


if __name__ == "__main__":
    program.main()
