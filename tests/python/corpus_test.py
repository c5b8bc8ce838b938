#!/usr/bin/env python3
"""The corpus asks of everything that there is, and a comparison of two runs finds what differs."""
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from program import PROGRAM, ROOT, InFolder, answers, main, run

sys.path.insert(0, str(ROOT / "tests/corpus"))
import compare  # noqa: E402
import machines  # noqa: E402
import queries  # noqa: E402
import solvers  # noqa: E402
from allowed import Allowed  # noqa: E402

CORPUS = ROOT / "tests/corpus/corpus.py"
ANSWER = {"id": "a-0", "time_s": 0.0034512345678901234, "bottleneck": ["gpu0->gpu1"], "warnings": ["above 40 MB: extrapolated"],
          "versions": {"git": "1234567", "linkcast": "0.1"}}
QUERIES = [{"id": "a-0", "kind": "p2p"}, {"id": "a-1", "kind": "rings"}, {"id": "a-2", "kind": "p2p"}]
ERROR = {"id": "a-1", "error": "- line 2:/gpus: 9 is no GPU of gx8: 0 to 7"}
OUT = "$ show gx8\nexit code 0\n--- stdout\ngpu0-sr0  15.75 GB/s\nsr0-cpu0  15.75 GB/s\n--- stderr\nbatch: 7 queries answered\n"


def corpus(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-B", str(CORPUS), *map(str, words)], capture_output=True, text=True, check=False)


def listed(what: str) -> list[str]:
    return [row["name"] for row in json.loads(run("list", what, "--json").stdout)[what]]


class Generated(InFolder):
    def setUp(self):
        super().setUp()
        good = [line for line in queries.lines() if line.startswith('{"id": "') and '"wrong-' not in line]
        self.queries = [query for query in map(json.loads, good) if "-" in query["id"]]

    def values(self, key: str) -> set:
        return {query[key] for query in self.queries if isinstance(query.get(key), str)}

    def test_the_same_bytes_each_time(self):
        for folder in ("a", "b"):
            self.assertEqual(corpus("generate", "--out", self.folder / folder).returncode, 0)
        for name in ("queries.jsonl", "commands.json"):
            self.assertEqual((self.folder / "a" / name).read_bytes(), (self.folder / "b" / name).read_bytes())
        self.assertGreaterEqual(len((self.folder / "a/queries.jsonl").read_text().splitlines()), 2000)
        self.assertGreaterEqual(len(json.loads((self.folder / "a/commands.json").read_text())), 150)

    def test_asks_of_all_that_the_program_lists(self):
        refused = answers([{"kind": "no such kind", "platform": "gx8"}])[0]["error"]
        kinds = set(re.split(r", ", refused.partition("one of ")[2]))
        self.assertIn("collective", kinds)
        self.assertEqual(kinds - self.values("kind"), set())
        self.assertEqual(set(listed("platforms")), self.values("platform"))
        self.assertEqual(set(listed("libraries")) - self.values("library"), set())
        self.assertEqual(set(listed("collectives")) - self.values("op"), set())
        self.assertEqual(set(listed("algorithms")) - self.values("algorithm"), set())
        self.assertEqual(set(listed("traces")) - self.values("trace"), set())

    def test_machines_are_what_the_program_says(self):
        shown = answers([{"kind": "show", "platform": name} for name in machines.MACHINES])
        for machine, answer in zip(machines.ALL, shown, strict=True):
            kinds = [device["kind"] for device in answer["devices"]]
            self.assertEqual((machine.gpus, machine.cpus, machine.nics), tuple(map(kinds.count, ("gpu", "cpu", "nic"))), machine.name)

    def test_ids_are_different(self):
        ids = [query["id"] for query in self.queries]
        self.assertEqual(len(ids), len(set(ids)))


class Died(InFolder):
    """What stands in for the program dies as a real one would under a signal or a sanitizer."""

    def asked_of(self, script: str) -> subprocess.CompletedProcess:
        program = self.folder / "build" / "linkcast"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        (self.folder / "queries.jsonl").write_text('{"id": "a-0", "kind": "p2p"}\n')
        (self.folder / "commands.json").write_text(json.dumps([{"lines": ["list kinds"], "stdin": "", "inputs": {}, "texts": {}}]))
        return corpus("run", "--program", program, "--out", self.folder)

    def test_a_signal(self):
        done = self.asked_of("kill -SEGV $$")
        self.assertEqual(done.returncode, 3)
        self.assertIn('{"crash": "signal 11"', done.stderr)
        self.assertIn("0000.out: $ list kinds: signal 11", done.stderr)

    def test_a_sanitizer(self):
        done = self.asked_of('[ "$1" = list ] && exit 99; cat >/dev/null; echo "{}"')
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.count("99"), 1)

    def test_a_broken_invariant(self):
        answer = '{\\"error\\":\\"internal: activity 0\\"}'
        done = self.asked_of(f'[ "$1" = list ] && exit 3; cat >/dev/null; echo "{answer}"')
        self.assertEqual(done.returncode, 3)
        self.assertIn("internal: activity 0", done.stderr)
        self.assertIn("exit code 3", done.stderr)

    def test_neither(self):
        self.assertEqual(self.asked_of('[ "$1" = list ] && exit 2; cat >/dev/null; echo "{}"').returncode, 0)


class Compared(InFolder):
    def setUp(self):
        super().setUp()
        self.sides = [self.folder / "a", self.folder / "b"]
        for side in self.sides:
            (side / "commands").mkdir(parents=True)
            (side / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in QUERIES))
            (side / "commands.json").write_text(json.dumps([{"lines": ["show gx8"], "stdin": "", "inputs": {}, "texts": {}}]))
            (side / "commands/0000.out").write_text(OUT)
            self.answer(side, ANSWER, ERROR, {**ANSWER, "id": "a-2"})

    def answer(self, side: Path, *given: dict) -> None:
        (side / "answers.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))

    def differs(self, *allowed: dict) -> str:
        """What is printed; nothing if all is the same or allowed."""
        with redirect_stdout(StringIO()) as said:
            good = compare.compare(*self.sides, Allowed(list(allowed), "test"))
        return "" if good else said.getvalue()

    def test_the_same(self):
        self.assertEqual(self.differs(), "")

    def test_versions_and_progress_are_no_difference(self):
        self.answer(self.sides[1], {**ANSWER, "versions": {"git": "89", "linkcast": "2"}}, ERROR, {**ANSWER, "id": "a-2"})
        (self.sides[1] / "commands/0000.out").write_text(OUT.replace("batch: 7 queries answered\n", ""))
        self.assertEqual(self.differs(), "")

    def test_a_changed_digit(self):
        self.answer(self.sides[1], {**ANSWER, "time_s": 0.0034512345678901238}, ERROR, {**ANSWER, "id": "a-2"})
        self.assertIn("1 x p2p /time_s: number, relative change", self.differs())

    def test_how_a_number_is_written(self):
        text = (self.sides[1] / "answers.jsonl").read_text()
        (self.sides[1] / "answers.jsonl").write_text(text.replace("0.0034512345678901235", "3.4512345678901235e-3"))
        self.assertIn("2 x p2p /time_s: number, relative change 0 to 0", self.differs())

    def test_a_lost_line(self):
        self.answer(self.sides[1], ANSWER, ERROR)
        self.assertIn("1 x p2p (all): lost", self.differs())

    def test_a_further_line(self):
        self.answer(self.sides[1], ANSWER, ERROR, ANSWER, ANSWER)
        self.assertIn("answers.jsonl", self.differs())

    def test_a_changed_error_and_one_that_is_gone(self):
        self.answer(self.sides[1], ANSWER, {**ERROR, "error": "- line 2:/gpus: 9 is none of gx8"}, {"id": "a-2", "error": "no"})
        said = self.differs()
        self.assertIn("1 x rings /error: text", said)
        self.assertIn("1 x p2p /error: answer", said)

    def test_keys_and_elements_that_come_and_go(self):
        self.answer(self.sides[1], {**ANSWER, "new": 1, "bottleneck": []}, ERROR, {**ANSWER, "id": "a-2"})
        said = self.differs()
        self.assertIn("1 x p2p /new: new", said)
        self.assertIn("1 x p2p /bottleneck/*: lost", said)

    def test_many_of_a_sort_are_one_line(self):
        self.answer(self.sides[1], {**ANSWER, "time_s": 0.0035}, ERROR, {**ANSWER, "id": "a-2", "time_s": 0.007})
        self.assertIn("2 x p2p /time_s: number, relative change 0.0141 to 1.03", self.differs())

    def test_order_and_spaces(self):
        text = (self.sides[1] / "answers.jsonl").read_text()
        (self.sides[1] / "answers.jsonl").write_text(text.replace('"time_s": ', '"time_s":'))
        self.assertIn("layout", self.differs())

    def test_commands(self):
        path = self.sides[1] / "commands/0000.out"
        for before, after, what in (("exit code 0", "exit code 2", "/*/exit"),
                                    ("sr0-cpu0  15.75", "sr0-cpu0  15.8", "/*/stdout/*: text, relative"),
                                    ("sr0-cpu0  15.75 GB/s\n", "", "/*/stdout/*: lost"),
                                    ("answered\n", "answered\nwarning: x\n", "/*/stderr")):
            path.write_text(OUT.replace(before, after))
            self.assertIn(what, self.differs(), what)

    def test_allow_list(self):
        self.answer(self.sides[1], {**ANSWER, "time_s": 0.0035}, ERROR, {**ANSWER, "id": "a-2"})
        entry = {"pointer": "/time_s", "why": "another rate"}
        self.assertEqual(self.differs(entry), "")
        self.assertEqual(self.differs({**entry, "max_rel": 0.02, "select": {"kind": ["p2p", "rings"]}}), "")
        self.assertIn("not allowed: 1", self.differs({**entry, "max_rel": 0.01}))
        self.assertIn("not allowed: 1", self.differs({**entry, "select": {"kind": "rings"}}))
        self.assertIn("not allowed: 1", self.differs({**entry, "pointer": "/bottleneck/**"}))
        for wrong in ({"pointer": "/time_s"}, {**entry, "max_rel": "1"}, {**entry, "colour": "red"}, {**entry, "why": " "}):
            with self.assertRaises(compare.BadInput):
                Allowed([wrong], "test")

    def test_other_corpora_are_not_compared(self):
        (self.sides[1] / "queries.jsonl").write_text("{}\n")
        done = corpus("compare", *self.sides)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("runs of one corpus", done.stderr)

    def test_exit_codes(self):
        self.assertEqual(corpus("compare", *self.sides).returncode, 0)
        self.answer(self.sides[1], ANSWER, ERROR)
        self.assertEqual(corpus("compare", *self.sides).returncode, 4)


class Run(InFolder):
    ASKED = [{"id": at, "kind": "p2p", "platform": "gx8", "src": "gpu0", "dst": "gpu1", "size_B": size}
             for at, size in enumerate((1, 0, 4096))]

    def corpus_of(self, lines: list[str]) -> Path:
        folder = self.folder / "corpus"
        folder.mkdir()
        (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in self.ASKED))
        command = {"lines": lines, "stdin": "", "inputs": {"goal.txt": "tests/input/traces/goal.txt"}, "texts": {}}
        (folder / "commands.json").write_text(json.dumps([command]))
        return folder

    def test_answers_in_order_and_files_that_are_left(self):
        folder = self.corpus_of(["import goal {tmp}/goal.txt --out {tmp}/x.jsonl", "check {tmp}/x.jsonl"])
        done = corpus("run", "--program", PROGRAM, "--out", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        given = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
        self.assertEqual([one["id"] for one in given], [0, 1, 2])
        self.assertTrue(given[1]["error"].startswith("- line 2:/size_B"), given[1])
        said = (folder / "commands/0000.out").read_text()
        self.assertIn("--- stdout\n{tmp}/x.jsonl: ok, trace/1", said)
        self.assertIn('--- file x.jsonl\n{"schema":"trace/1"', said)

    def test_a_crash_costs_one_answer(self):
        folder = self.corpus_of(["--help"])
        program = self.folder / "tree/build/linkcast"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!{sys.executable}\nimport os, sys\nfor number, line in enumerate(sys.stdin, 1):\n"
                           "    if '\"size_B\": 0' in line: os.abort()\n"
                           "    if line.strip(): print('{\"line\": %d}' % number, flush=True)\n")
        program.chmod(0o755)
        self.assertEqual(corpus("run", "--program", program, "--out", folder).returncode, 3)
        given = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
        self.assertEqual([given[0], given[2]], [{"line": 1}, {"line": 3}])
        self.assertEqual(given[1]["crash"], "signal 6")

class Solvers(InFolder):
    def test_differences_of_answers(self):
        other = {**ANSWER, "versions": {"git": "another"}}
        self.assertEqual(solvers.apart(ANSWER, other), 0)
        self.assertAlmostEqual(solvers.apart(ANSWER, {**ANSWER, "time_s": ANSWER["time_s"] * (1 + 1e-6)}), 1e-6, delta=1e-9)
        for wrong in ({"bottleneck": ["gpu1->gpu0"]}, {"bottleneck": []}, {"error": "no"}):
            self.assertEqual(solvers.apart(ANSWER, {**ANSWER, **wrong}), float("inf"))

    def test_ties_are_broken_alike(self):
        flows = [["gpu7", "gpu5", 26686], ["gpu5", "gpu2", 53], ["gpu2", "gpu1", 3145728], ["gpu1", "gpu0", 91],
                 ["gpu1", "gpu0", 268435456], ["gpu5", "gpu0", 512]]
        for query in ({"kind": "flows", "platform": "nd-h100-v5", "flows": flows},
                      {"kind": "routes", "platform": "lumi", "src": "gpu5", "dst": "gpu1"}):
            fluid, native = answers([{**query, "solver": solver} for solver in ("fluid", "native")])
            self.assertLess(solvers.apart(fluid, native), 1e-9)

    def test_no_deliberate_mistake_among_them(self):
        some_of = solvers.corpus(1)
        self.assertGreaterEqual(len(some_of), 9)
        self.assertFalse([query for some in some_of.values() for query in some if str(query["id"]).startswith("wrong")])


if __name__ == "__main__":
    main()
