#!/usr/bin/env python3
"""The same value by every door: lists of each option that may be repeated, sizes as numbers and as texts of each key."""
import json
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import program
from program import ROOT, answers, main, run

FIT = "calibrate fit calibrate/data/p100-dgx1/p2p-matrix.json --topology p100-dgx1 --bootstrap 0 --json --out FOLDER/fit.json"
LEARN = "calibrate fit calibrate/data/abci-v100x4/nccl-2.8.json --unmeasured --topology abci-v100 --inherit models/params/v100-dgx1.json"
COLLECTIVE = "predict collective --platform v100-dgx1 --op all_reduce --size 1MiB --gpus 0,1 --json"
COPY = "predict p2p --platform v100-dgx1 --src gpu0 --dst gpu5 --size 1MiB --json"
DIAGNOSE = "diagnose --platform rtx-4090 tests/input/pasted/rtx-4090-4.txt --json"
# Options of the program: (command, option) -> the rest of the command line, and two values; what is said of them where they are refused.
OPTIONS = {
    ("predict flows", "--flow"): ("predict flows --platform gx8 --json", "gpu0:gpu1:1MiB", "gpu1:gpu0:1MiB"),
    ("predict collective", "--with"): (COLLECTIVE, "all_reduce:1MiB:2,3", "all_reduce:1MiB:4,5,6"),
    ("predict collective", "--beside"): ("predict collective --platform leonardo --nodes 4 --op all_reduce --size 1GiB --json", "incast:4", "alltoall:4"),
    ("place", "--with"): ("place --platform v100-dgx1 --job all_reduce:64MiB --ranks 2 --json", "all_reduce:64MiB:4,5", "allgatherv:1MiB,2MiB:6,7"),
    ("place", "--option"): ("place --platform v100-dgx1 --job data_parallel --ranks 2 --json", "steps=1", "buckets=2"),
    ("place", "--hosts"): ("place --platform v100-dgx1 --job all_reduce:64MiB --ranks 2 --format rankfile", "a", "b", "2 hosts for one node"),
    ("replay", "--option"): ("replay data_parallel --platform v100-dgx1 --json", "ranks=2", "steps=1"),
    ("replay", "--also"): ("replay data_parallel --option ranks=2 --platform v100-dgx1 --json", "data_parallel:2,3,4,5", "no-such-trace:6,7", "'no-such-trace' is no file"),
    ("schedule", "--policy"): ("schedule apps-traces/jobs/day-dgx1.jsonl --platform v100-dgx1", "packed", "no-such", "'no-such'"),
    ("wiring", "--mix"): ("wiring --platform p100-dgx1 --steps 1 --json", "2+2", "4"),
    ("diagnose", "--baseline"): (DIAGNOSE, "tests/input/pasted/rtx-4090-4.txt", "tests/input/pasted/no-such.txt", "no-such.txt"),
    ("diagnose", "--option"): (DIAGNOSE, "gpus=0,1,2,3", "colour=red", "--option colour"),
    ("import", "--option"): ("import topo-m tests/input/import/topo-virtual.txt", "gpu=A10G", "colour=red", "--option colour"),
    ("init", "--option"): ("init tests/input/import/topo-virtual.txt --out FOLDER/box", "gpu=A10G", "colour=red", "--option colour"),
    ("trace", "--option"): ("trace data_parallel", "ranks=2", "steps=1"),
    ("validate", "--against"): ("validate --json", "calibrate/data/p100-dgx1/p2p-matrix.json", "calibrate/data/no-such.json", "no-such.json"),
    ("validate", "--class"): ("validate 001 --json", "collective", "copy", "class 'copy'"),
    ("calibrate fit", "--only"): (FIT, "peer", "relay"),
    ("calibrate fit", "--inherit"): (FIT, "models/params/v100-dgx1.json", "models/params/gx8.json"),
    ("calibrate fit", "--inherit-library"): (FIT, "models/params/v100-dgx1.json", "models/params/no-such.json", "no-such.json"),
    ("calibrate fit", "--hold-out"): (f"{LEARN} --json --out FOLDER/fit.json", "size=0B-", "op=none", "op=none"),
    ("calibrate fit", "--leave-out"): (FIT, "gpus", "colour", "colour"),
    ("serve", "--platform"): ("serve --port 0", "gx8", "no-such", "no-such"),
    ("serve", "--warm"): ("serve --port 0 --platform gx8", "all_reduce:1MiB", "no-such:1MiB", "'no-such'"),
    ("ui", "--platform"): ("ui --no-browser", "gx8", "no-such", "no-such"),
    ("after", "--after"): ("whatif predict collective --platform hgx-h100 --op all_reduce --size 1MiB --json", "without=nvls,tree", "protocol=Simple"),
    ("edits", "--disable"): (COPY, "nvlink2", "gpudirect"),
    ("edits", "--remove"): (COPY, "gpu0-gpu1", "gpu2-gpu3:1"),
    ("edits", "--swap"): (COPY, "gpu0-gpu1:nvlink4", "gpu0-gpu2:nvlink4"),
    ("edits", "--add"): (COPY, "gpu0-gpu5:nvlink2:2", "gpu1-gpu4:nvlink2"),
    ("edits", "--set"): (COPY, "kind=nvlink2:bandwidth=50GB/s", "transport.peer.r0.startup_s=5us"),
    ("edits", "--scale"): (COPY, "gpu0-gpu1:0.5", "gpu0-gpu2:0.5"),
    ("edits", "--slow"): (COPY, "gpu0:2", "gpu5:1.5"),
    ("edits", "--flaky"): (COPY, "gpu0-gpu1:0.05", "gpu0-gpu2:0.1"),
    ("edits", "--nics"): (COPY, "1", "2", "given twice"),
    ("edits", "--oversubscription"): (COPY, "1", "2", "given twice"),
    ("edits", "--fabric-file"): (COPY, "docs/fabrics/torus.json", "docs/fabrics/dragonfly.json", "given twice"),
    ("edits", "--edit"): (COPY, "remove gpu0-gpu1", "slow gpu5:2"),
}
MIB = 2 ** 20
# Keys of queries that are sizes: where they stand and a query that has them.
SIZES = {
    "collective_query/size_B": {"kind": "collective", "platform": "gx8", "op": "all_reduce", "size_B": MIB},
    "collective_query/sizes_B": {"kind": "collective", "platform": "gx8", "gpus": [0, 1], "op": "allgatherv", "sizes_B": [MIB, 4 * MIB]},
    "collective_query/buffer_B": {"kind": "collective", "platform": "gx8", "op": "all_reduce", "size_B": 64 * MIB, "buffer_B": MIB},
    "collective_query/ll_buffer_B": {"kind": "collective", "platform": "hgx-h100", "op": "all_reduce", "size_B": 64, "ll_buffer_B": MIB},
    "collective_query/ll128_buffer_B": {"kind": "collective", "platform": "hgx-h100", "op": "all_reduce", "size_B": 64, "ll128_buffer_B": 15 * MIB},
    "collective_query/with[]/size_B": {"kind": "collective", "platform": "gx8", "gpus": [0, 1], "op": "all_reduce", "size_B": MIB,
                                       "with": [{"op": "all_reduce", "gpus": [2, 3], "size_B": MIB}]},
    "collective_query/with[]/sizes_B": {"kind": "collective", "platform": "gx8", "gpus": [0, 1], "op": "all_reduce", "size_B": MIB,
                                        "with": [{"op": "allgatherv", "gpus": [2, 3], "sizes_B": [MIB, MIB]}]},
    "p2p_query/size_B": {"kind": "p2p", "platform": "gx8", "src": 0, "dst": 1, "size_B": MIB},
    "p2p_query/chunk_B": {"kind": "p2p", "platform": "v100-dgx1", "src": 0, "dst": 5, "size_B": 8 * MIB, "transport": "relay", "via": "gpu1", "chunk_B": MIB},
    "flows_query/flows": {"kind": "flows", "platform": "gx8", "flows": [["gpu0", "gpu1", MIB], ["gpu1", "gpu0", 2 * MIB]]},
    "place_query/job/size_B": {"kind": "place", "platform": "gx8", "ranks": 2, "job": {"op": "all_reduce", "size_B": MIB}},
    "place_query/job/sizes_B": {"kind": "place", "platform": "gx8", "ranks": 2, "job": {"op": "allgatherv", "sizes_B": [MIB, MIB]}},
    "place_query/with[]/job/size_B": {"kind": "place", "platform": "gx8", "ranks": 2, "job": "all_reduce:1MiB",
                                      "with": [{"job": {"op": "all_reduce", "size_B": MIB}, "gpus": [4, 5]}]},
    "place_query/with[]/job/sizes_B": {"kind": "place", "platform": "gx8", "ranks": 2, "job": "all_reduce:1MiB",
                                       "with": [{"job": {"op": "allgatherv", "sizes_B": [MIB, MIB]}, "gpus": [4, 5]}]},
    "rings_query/size_B": {"kind": "rings", "platform": "gx8", "op": "all_reduce", "size_B": MIB},
    "rings_query/sizes_B": {"kind": "rings", "platform": "gx8", "gpus": [0, 1], "op": "allgatherv", "sizes_B": [MIB, MIB]},
    "routes_query/size_B": {"kind": "routes", "platform": "gx8", "src": 0, "dst": 5, "size_B": MIB},
}
# The same as options: (command, option) -> the line, SIZE where it stands.
SIZE_OPTIONS = {
    ("collective", "--size"): "predict collective --platform gx8 --op all_reduce --size SIZE",
    ("collective", "--sizes"): "predict collective --platform gx8 --gpus 0,1 --op allgatherv --sizes SIZE,1MiB",
    ("collective", "--buffer"): "predict collective --platform gx8 --op all_reduce --size 64MiB --buffer SIZE",
    ("collective", "--ll-buffer"): "predict collective --platform hgx-h100 --op all_reduce --size 64MiB --ll-buffer SIZE",
    ("collective", "--ll128-buffer"): "predict collective --platform hgx-h100 --op all_reduce --size 64MiB --ll128-buffer 15728640",
    ("collective", "--with"): "predict collective --platform gx8 --gpus 0,1 --op all_reduce --size 1MiB --with all_reduce:SIZE:2,3",
    ("collective", "--minbytes"): "predict collective --platform gx8 --op all_reduce --minbytes SIZE --maxbytes SIZE",
    ("flows", "--flow"): "predict flows --platform gx8 --flow gpu0:gpu1:SIZE",
    ("p2p", "--size"): "predict p2p --platform gx8 --src 0 --dst 1 --size SIZE",
    ("p2p", "--chunk"): "predict p2p --platform v100-dgx1 --src 0 --dst 5 --size 8MiB --transport relay --via gpu1 --chunk SIZE",
    ("place", "--job"): "place --platform gx8 --ranks 2 --job all_reduce:SIZE",
    ("place", "--with"): "place --platform gx8 --ranks 2 --job all_reduce:1MiB --with all_reduce:SIZE:4,5",
    ("rings", "--size"): "rings --platform gx8 --op all_reduce --size SIZE",
    ("rings", "--sizes"): "rings --platform gx8 --gpus 0,1 --op allgatherv --sizes SIZE,1MiB",
    ("routes", "--size"): "routes --platform gx8 --src 0 --dst 5 --size SIZE",
    ("wiring", "--job"): "wiring --platform p100-dgx1 --steps 1 --mix 4 --job all_reduce:SIZE",
}


def commands(*words: str):
    """Every command of the program, as its help lists them."""
    text = run(*words, "--help").stdout
    below = re.findall(r"(?m)^  ([a-z0-9-]+) ", text.split("\nCommands:\n")[1].split("\n\n")[0]) if "\nCommands:\n" in text else []
    if words:
        yield words, text
    for name in below:
        yield from commands(*words, name)


def repeated(text: str) -> dict[str, str]:
    """Options of a help that take several values, each with what it takes."""
    return dict(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+) ([^\s]+) \.\.\.", text))


def outcome(done: subprocess.CompletedProcess) -> tuple[int, str, list[str]]:
    """Without progress, which depends on the time."""
    return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if line.startswith(("error: ", "warning: "))]


def as_texts(value: object) -> object:
    """Sizes as texts."""
    if isinstance(value, dict):
        return {key: as_texts(one) if key not in ("src", "dst", "gpus", "ranks") else one for key, one in value.items()}
    if isinstance(value, list):
        return [as_texts(one) for one in value]
    return value if not isinstance(value, int) or isinstance(value, bool) else f"{value // MIB}MiB" if value % MIB == 0 else f"{value}B"


class Lists(program.InFolder):
    def test_every_option_that_may_be_repeated_takes_a_list(self):
        options = {(" ".join(words), name): (kind, "[OPTIONS]\n" not in text) for words, text in commands()
                   for name, kind in repeated(text).items()}
        options |= {("edits", name): (kind, False) for name, kind in repeated(run("help", "edits").stdout).items()}
        options["after", "--after"] = ("KEY=VALUE", False)
        self.assertGreater(len(options), 35)
        for (command, name), (kind, has_words) in options.items():
            if "," in kind:  # a value has commas itself, and is given once
                continue
            command = command.removeprefix("whatif ")
            with self.subTest(command=command, option=name):
                line, first, second, *says = OPTIONS[command, name]
                base = line.replace("FOLDER", str(self.folder))
                lists = [[name, f"{first},{second}"], [f"{name}={first},{second}"]] + ([] if has_words else [[name, first, second]])
                twice = run(*base.split(), name, first, name, second)
                self.assertTrue(says[0] in twice.stderr if says else twice.returncode == 0, twice.stderr)  # both were read
                for words in lists:
                    got = run(*base.split(), *words)
                    self.assertEqual(outcome(got), outcome(twice), words)

    def test_commas_of_a_value_stay(self):
        (self.folder / "a,b.jsonl").write_text("{}")
        for words, says in ((("replay", ROOT / "apps-traces", "--platform", "gx8", "--also", "a,b.jsonl"), "apps-traces"),
                            (("show", "hgx-h100", "--network", "roce_400:nodes=4,bandwidth=10GB/s", "--json"), "")):
            done = run(*words, folder=self.folder)
            self.assertEqual(done.returncode, 2 if says else 0, done.stderr)
            self.assertIn(says, done.stderr)

    def test_commas_in_the_name_of_a_file(self):
        """What is said of a copy without commas, alone and with more elements on either side."""
        trace = run("trace", "data_parallel", "--option", "ranks=2", "--option", "steps=1").stdout
        machine = (ROOT / "topologies" / "gx8.json").read_text()
        for name, text in (("t.jsonl", trace), ("a,b.jsonl", trace), ("a,,c:d.jsonl", trace), ("box.json", machine), ("my,box.json", machine)):
            (self.folder / name).write_text(text)
        replay, place = ("replay", "t.jsonl", "-p", "v100-dgx1", "--json"), ("place", "-p", "v100-dgx1", "--job", "data_parallel", "--ranks", "2", "--json")
        for words, option, values in ((replay, "--also", ["t.jsonl:4-5"]), (replay, "--also", ["t.jsonl"]), (replay, "--also", ["t.jsonl:2,3", "t.jsonl:4,5"]),
                                      (place, "--with", ["t.jsonl:4,5"]), (place, "--with", ["data_parallel:2,3", "t.jsonl:4,5", "data_parallel:6,7"])):
            expected = run(*words, *(word for value in values for word in (option, value)), folder=self.folder)
            self.assertEqual(expected.returncode, 0, expected.stderr)
            for name in ("a,b.jsonl", "a,,c:d.jsonl"):
                with self.subTest(option=option, values=values, name=name):
                    got = run(*words, option, ",".join(values).replace("t.jsonl", name), folder=self.folder)
                    self.assertEqual(got.returncode, 0, got.stderr)
                    self.assertEqual(self.without_names(got.stdout, name), self.without_names(expected.stdout, "t.jsonl"))
        served = [run("serve", "--port", 0, "-p", f"{box},no-such", folder=self.folder) for box in ("box.json", "my,box.json")]
        self.assertEqual(served[0].stderr, served[1].stderr)
        self.assertIn("no-such", served[1].stderr)

    def without_names(self, text: str, name: str) -> dict:
        answer = json.loads(text.replace(name, "t.jsonl") if name else text)
        return {key: value for key, value in answer.items() if key != "inputs"}

    def test_a_list_with_an_empty_element_or_an_edit_without_verb(self):
        """None of them is an element; a list of edits may have blanks, and the keys of a network commas."""
        for words, option, lists in ((COPY, "--remove", ("gpu0-gpu4,", "gpu0-gpu4,,gpu0-gpu1", ",gpu0-gpu4")), (COPY, "--edit", ("remove gpu0-gpu4,",)),
                                     (COLLECTIVE, "--with", ("all_reduce:1MiB:2,3,", "all_reduce:1MiB:2,,3")), ("serve --port 0", "-p", ("gx8,",))):
            for text in lists:
                with self.subTest(option=option, text=text):
                    done = run(*words.split(), option, text)
                    self.assertEqual((done.returncode, done.stderr), (2, f"error: {option}: '{text}' has a comma too many\n"))
        for text in ("remove gpu0-gpu4,gpu1-gpu5", "--remove gpu0-gpu4,gpu1-gpu5"):
            done = run(*COPY.split(), f"--edit={text}")
            self.assertEqual((done.returncode, done.stderr), (2, "error: --edit: 'gpu1-gpu5' has no verb: each edit of a list begins with one, e.g. "
                                                                 "remove gpu0-gpu4,remove gpu1-gpu5\n"))
        listed, twice = run(*COPY.split(), "--edit", "slow gpu0:2, slow gpu5:2"), run(*COPY.split(), "--slow", "gpu0:2", "--slow", "gpu5:2")
        self.assertEqual(self.without_names(listed.stdout, ""), self.without_names(twice.stdout, ""))
        self.assertEqual(run("show", "hgx-h100", "--edit", "network roce_400:nodes=4,bandwidth=10GB/s", "--json").returncode, 0)


class Sizes(unittest.TestCase):
    def test_every_size_of_a_query_is_a_number_or_a_text(self):
        found, options = set(), set()

        def walk(path: str, schema: dict):
            for key, row in schema.get("properties", {}).items():
                if key.endswith("_B") and "x-option" in row:
                    options.add((path.split("_query")[0], row["x-option"]))
                if key.endswith("_B") or "1MiB" in json.dumps(row.get("examples", "")):
                    found.add(f"{path}/{key}")
                walk(f"{path}/{key}", row)
            if isinstance(schema.get("items"), dict):
                walk(path + "[]", schema["items"])
            for one in schema.get("oneOf", []) + schema.get("anyOf", []):
                walk(path, one)

        for name, schema in json.loads(run("schema").stdout)["$defs"].items():
            if name.endswith("_query"):
                walk(name, schema)
        self.assertLessEqual(found, set(SIZES))
        self.assertLessEqual(options, set(SIZE_OPTIONS))
        for (where, query), number, text in zip(SIZES.items(), answers(list(SIZES.values())), answers(list(map(as_texts, SIZES.values())))):
            with self.subTest(where):
                self.assertNotIn("error", number)
                self.assertNotEqual(as_texts(query), query)
                self.assertEqual({**text, "inputs": 0}, {**number, "inputs": 0})

    def test_every_size_option(self):
        for option, line in SIZE_OPTIONS.items():
            with self.subTest(option):
                said = {size: run(*line.replace("SIZE", size).split()) for size in ("1048576", "1MiB", "1M")}
                shown = {size: re.sub(r"\b(1048576|1MiB|1M)\b", "SIZE", done.stdout).split() for size, done in said.items()}
                for size, done in said.items():
                    self.assertEqual((done.returncode, shown[size]), (0, shown["1MiB"]), (size, done.stderr))


class Typos(unittest.TestCase):
    """A key that is written nearly right, next to the one that is missing for it."""
    TYPOS = {"/platform: missing key (did you mean 'platform' by 'platfrom'?)": {"kind": "collective", "platfrom": "gx8", "op": "all_reduce", "size_B": 1024},
             "/size_B: missing key (did you mean 'size_B' by 'size'?)": {"kind": "p2p", "platform": "gx8", "src": 0, "dst": 1, "size": 1024},
             "/job: missing key (did you mean 'job' by 'jobs'?): ": {"kind": "place", "platform": "gx8", "jobs": "all_reduce:1MiB", "ranks": 2},
             "/edit: unknown key (did you mean 'edits'?); known here: ": {"kind": "show", "platform": "gx8", "edit": ["remove gpu0-gpu1"]}}

    def test_by_batch(self):
        for (says, _), answer in zip(self.TYPOS.items(), answers(list(self.TYPOS.values()))):
            self.assertIn(says, answer["error"])

    def test_by_http(self):
        process = program.start("serve", "--port", 0, "--platform", "gx8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        address = process.stdout.readline().split()[-1]
        for says, query in self.TYPOS.items():
            request = urllib.request.Request(address + "/v1/query", json.dumps(query).encode(), {"Content-Type": "application/json"})
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            self.assertIn(says, json.load(refused.exception)["error"])
            refused.exception.close()

    @unittest.skipUnless(list((program.PROGRAM.parent / "module").glob("_native*")), "the Python module is not built")
    def test_by_python(self):
        sys.path.insert(0, str(ROOT / "python"))
        import linkcast
        for says, query in self.TYPOS.items():
            with self.assertRaises(linkcast.InputError) as refused:
                linkcast.ask(query)
            self.assertIn(says, str(refused.exception))


if __name__ == "__main__":
    main()
