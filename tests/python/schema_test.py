#!/usr/bin/env python3
"""The key tables, the readers of queries and the JSON Schemas made from the tables say the same."""
import importlib.util
import json
import re
import sys
import unittest

from program import ROOT, answers, main, run

sys.path.insert(0, str(ROOT / "tests/corpus"))
import queries as corpus  # noqa: E402

WARNING = "{}: '{}' is called '{}' now; the old name goes on working in this version only"
SHARE = 5  # of the queries that have answers, one of so many is asked; all that must be refused are
# A key or type that a reader refuses by itself: what a schema can know.
FORM = re.compile(r"^- line \d+:/.*(unknown key|missing key|must be (a string|true or false|a whole number|a number|a finite number|an array|an object))")


def by_kind(name: str) -> dict:
    return json.loads(run("schema", name).stdout)


def kinds() -> list[dict]:
    return json.loads(run("list", "kinds", "--json").stdout)["kinds"]


class OldSpellings(unittest.TestCase):
    """docs/stability.md: an old value goes on working for one version, with a warning that names the new one."""

    COPY = {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 1 << 20}
    FLOWS = {"kind": "flows", "platform": "p100-dgx1", "flows": [["gpu0", "gpu1", 1 << 20], ["gpu0", "gpu2", 1 << 20]]}

    def test_dma_is_copy_engine(self):
        for query in (self.COPY, self.FLOWS):
            old, new, unset = answers([{**query, "engine": "dma"}, {**query, "engine": "copy_engine"}, query])
            self.assertEqual(old["warnings"],
                             [*new["warnings"], WARNING.format("engine", "dma", "copy_engine")])
            self.assertEqual(old["inputs"], new["inputs"])  # what is written uses the new one
            self.assertEqual({**old, "warnings": new["warnings"]}, new)
            self.assertEqual(new["time_s"], unset["time_s"])

    def test_ce_is_too(self):
        old, new = answers([{**self.COPY, "engine": "ce"}, {**self.COPY, "engine": "copy_engine"}])
        self.assertEqual({**old, "warnings": new["warnings"]}, new)
        self.assertEqual([warning for warning in old["warnings"] if "is called" in warning], [WARNING.format("engine", "ce", "copy_engine")])

    def test_algorithms_as_nccl_algo_names_them(self):
        query = {"kind": "collective", "platform": "p100-dgx1", "gpus": [0, 1, 2, 3], "op": "all_reduce", "size_B": 1 << 20}
        old, new = answers([{**query, "algorithm": "Ring"}, {**query, "algorithm": "ring"}])
        self.assertEqual({**old, "warnings": new["warnings"]}, new)
        self.assertEqual([warning for warning in old["warnings"] if "is called" in warning], [WARNING.format("algorithm", "Ring", "ring")])
        done = run("predict", "collective", "-p", "p100-dgx1", "--gpus", "0-3", "--op", "all_reduce", "--size", "1MiB", "--algorithm", "Ring")
        self.assertEqual((done.returncode, done.stderr.count("is called")), (0, 1), done.stderr)

    def test_files_warn_once_whatever_they_hold(self):
        data = ROOT / "calibrate/data/hgx-h200"
        done = run("check", *(data / f"{occasion}-{bench}.json" for occasion in ("two-gpus", "20261121c") for bench in ("p2p_copy", "nccl_base")))
        said = sorted(line for line in done.stderr.splitlines() if "is called" in line)
        self.assertEqual(said, ["warning: " + WARNING.format(*words) for words in (("algorithm", "Ring", "ring"), ("algorithm", "Tree", "tree"),
                                                                                 ("engine", "ce", "copy_engine"))], done.stderr)

    def test_options_and_columns_of_imports(self):
        words = ("import", "p2pBandwidthLatencyTest", ROOT / "tests/input/import/p2p-a100-writes.txt", "--machine", "m", "--topology", "t", "--option")
        old, new = (run(*words, f"engine={name}") for name in ("ce", "copy_engine"))
        self.assertEqual(old.stdout, new.stdout)
        self.assertEqual(old.stderr.count("warning: " + WARNING.format("engine", "ce", "copy_engine") + "\n"), 1, old.stderr)
        self.assertNotIn("is called", new.stderr)
        head = "source,target,size_B,time_s,transport,engine\n"
        row = "gpu0,gpu1,1048576,1e-4,peer,{}\n"
        words = ("import", "csv", "-", "--machine", "m", "--topology", "t", "--option", "timing=single")
        old, new = (run(*words, stdin=head + row.format(name) * 2) for name in ("ce", "copy_engine"))
        self.assertEqual(json.loads(old.stdout)["points"], json.loads(new.stdout)["points"], old.stderr)
        self.assertEqual(old.stderr.count("is called"), 1, old.stderr)

    def test_it_is_no_other_key_and_no_other_kind(self):
        rings = {"kind": "rings", "platform": "p100-dgx1", "gpus": [0, 1], "engine": "dma"}
        collective = {"kind": "collective", "platform": "p100-dgx1", "gpus": [0, 1], "op": "all_reduce", "size_B": 1 << 20, "engine": "dma"}
        for answer in answers([rings, collective, {**self.COPY, "direction": "dma"}]):
            self.assertIn("error", answer)

    def test_the_command_line_takes_it_too(self):
        words = ("predict", "p2p", "-p", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size", "1MiB", "--engine", "dma")
        printed = run(*words)
        self.assertEqual(printed.returncode, 0)
        self.assertIn("'dma' is called 'copy_engine' now", printed.stdout + printed.stderr)


class Stability(unittest.TestCase):
    def test_the_page_names_every_schema_of_files(self):
        page = (ROOT / "docs/stability.md").read_text()
        row = next(line for line in page.splitlines() if line.startswith("| schemas of files"))
        folders = ("sim", "cli", "calibrate", "validate", "apps-traces", "models", "python")
        sources = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".hpp", ".py")]
        used = {name for path in sources for name in re.findall(r'"((?:linkcast/)?[a-z-]+/1)"', path.read_text())}
        self.assertEqual(set(re.findall(r"`([a-z/-]+/1)`", row)), used - {"linkcast/journal/1"})  # of a sweep that goes on


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schemas = {kind["name"]: by_kind(kind["name"]) for kind in kinds()}

    def queries_with(self, name: str, key: str, value: object) -> list[dict]:
        """The examples of the kind with the key, and what it needs, and without what it excludes."""
        schema = self.schemas[name]["$defs"]["query"]
        made = []
        for example in schema["examples"]:
            query = {**example}
            for needed in schema.get("dependentRequired", {}).get(key, []):
                query.setdefault(needed, schema["properties"][needed]["examples"][0])
            for rule in schema.get("allOf", []):
                pair = rule.get("not", {}).get("required", [])
                if key in pair:
                    query.pop(pair[1 - pair.index(key)], None)
            made.append({**query, key: value})
        return made

    def of_each_operation(self, name: str, query: dict) -> list[dict]:
        """An algorithm is one of some operations."""
        operations = self.schemas[name]["$defs"]["query"]["properties"].get("op", {}).get("enum", [])
        return [{**query, "op": op} for op in operations] if "algorithm" in query else [query]

    def test_every_example_is_answered(self):
        asked = [example for schema in self.schemas.values() for example in schema["$defs"]["query"]["examples"]]
        for query, answer in zip(asked, answers(asked), strict=True):
            self.assertNotIn("error", answer, query)

    def test_a_reader_knows_every_key_of_its_table(self):
        for name, schema in self.schemas.items():
            for key, row in schema["$defs"]["query"]["properties"].items():
                if key == "kind":
                    continue
                self.assertIn("examples", row, f"{name}: {key} has no example")
                tried = answers(self.queries_with(name, key, row["examples"][0]))
                self.assertTrue(any("unknown key" not in answer.get("error", "") for answer in tried), (name, key, tried))

    def test_a_reader_knows_every_choice_of_its_table(self):
        for name, schema in self.schemas.items():
            for key, row in schema["$defs"]["query"]["properties"].items():
                for value in row.get("anyOf", [row])[0].get("enum", []):
                    asked = self.queries_with(name, key, value)
                    tried = answers([query for one in asked for query in self.of_each_operation(name, one)])
                    self.assertTrue(any(not re.search("is not allowed|unknown (library|collective)", answer.get("error", ""))
                                        for answer in tried), (name, key, value, tried))

    def test_a_reader_refuses_other_keys(self):
        for name, schema in self.schemas.items():
            asked = [{**example, "launch_time": 1} for example in schema["$defs"]["query"]["examples"]]
            known = set(schema["$defs"]["query"]["properties"])
            for answer in answers(asked):
                self.assertIn("/launch_time: unknown key; known here: ", answer.get("error", ""))
                read = set(answer["error"].split("known here: ")[1].split(", "))
                self.assertLessEqual(read, known, f"{name}: read, but not in its table")

    def test_every_kind_has_a_command(self):
        for kind in kinds():
            shown = run(*kind["command"].split(), "--help")
            self.assertEqual(shown.returncode, 0, kind)
            for row in self.schemas[kind["name"]]["$defs"]["query"]["properties"].values():
                if kind["command"].startswith("show"):
                    continue
                option = row.get("x-option", "").split(",")[-1]
                self.assertIn(option, shown.stdout, kind)

    def test_a_replay_has_at_least_one_rank(self):
        query = {"kind": "replay", "platform": "hgx-h200", "trace": "h200x4-alexnet"}
        for ranks in (-1, 0, 1000001):
            self.assertIn("/ranks: must be 1 to 1000000", answers([{**query, "ranks": ranks}])[0]["error"])


class CommandLine(unittest.TestCase):
    def test_it_answers_as_a_batch_does(self):
        also = [{"trace": "data_parallel", "placement": [4, 5, 6, 7]}]
        replay = {"kind": "replay", "platform": "hgx-h200", "trace": "data_parallel", "options": {"ranks": "4"}}
        words = ("replay", "data_parallel", "--option", "ranks=4", "--platform", "hgx-h200")
        for line, query in ((("show", "gx8"), {"kind": "show", "platform": "gx8"}), (words, replay), ((*words, "--also", "data_parallel"), {**replay, "also": also}),
                            ((*words, "--utilisation"), {**replay, "utilisation": True})):
            printed, answer = json.loads(run(*line, "--json").stdout), answers([query])[0]
            for one in (printed, answer):
                one["inputs"].pop("query")
            self.assertEqual(printed, answer)
            rows = by_kind(query["kind"])["$defs"]["result"]
            self.assertLessEqual(set(printed), set(rows["properties"]))
            self.assertLessEqual(set(rows["required"]) - {"id"}, set(printed))


@unittest.skipUnless(importlib.util.find_spec("jsonschema"), "needs jsonschema")
class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from jsonschema import Draft202012Validator
        cls.all = json.loads(run("schema").stdout)
        Draft202012Validator.check_schema(cls.all)

        def validator(name):
            return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": cls.all["$defs"]})
        cls.of = {name: validator(name) for name in cls.all["$defs"]}
        lines = [json.loads(line) for line in corpus.lines() if line.startswith('{"id"') and line.endswith("}") and "1e999" not in line
                 and '"id": 15' not in line]
        wrong = [query for query in lines if str(query["id"]).startswith("wrong-")]
        good = [query for query in lines if not str(query["id"]).startswith("wrong-")]
        asked = good[::SHARE] + wrong
        cls.pairs = list(zip(asked, answers(asked), strict=True))

    def test_a_query_that_is_answered_passes(self):
        for query, answer in self.pairs:
            if "error" not in answer:
                self.assertEqual([error.message for error in self.of[f"{query['kind']}_query"].iter_errors(query)], [], query)

    def test_an_answer_passes(self):
        for query, answer in self.pairs:
            name = "error" if "error" in answer else f"{query['kind']}_result"
            self.assertEqual([error.message for error in self.of[name].iter_errors(answer)], [], query)

    def test_a_wrong_key_or_type_does_not_pass(self):
        refused = 0
        for query, answer in self.pairs:
            if not FORM.search(answer.get("error", "")) or f"{query.get('kind')}_query" not in self.of:
                continue
            known = self.all["$defs"][f"{query['kind']}_query"]["properties"]
            if "unknown key" in answer["error"] and set(query) <= set(known):
                continue  # a key of the kind that this machine, library or pair of devices does not take
            refused += 1
            self.assertFalse(self.of[f"{query['kind']}_query"].is_valid(query), (query, answer))
        self.assertGreater(refused, 100)


if __name__ == "__main__":
    main()
