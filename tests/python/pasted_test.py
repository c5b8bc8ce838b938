#!/usr/bin/env python3
"""`linkcast LOG` and nothing else, of logs as people paste them: the machine, the verdict, the exit code, in time."""
import json
import re
import time
import unittest

import program
from program import InFolder, main, run

LOGS = program.ROOT / "tests/input/pasted"
MOST_S = 120  # of any log, on a machine that does other things too; docs/diagnose.md says what they take
MEASURED = {"a100-80gb-8", "b200-8", "l40s-8", "mi300x-8"}  # figures of a public table, see make.py; forecasts in the others
EXPECTED = {  # log: platform, GPUs, nodes, exit code
    "h100-8": ("hgx-h100", 8, 1, 0),
    "h200-8": ("hgx-h200", 8, 1, 0),
    "a100-80gb-8": ("dgx-a100", 8, 1, 0),
    "a100-40gb-8": ("dgx-a100", 8, 1, 0),
    "v100-8": ("v100-dgx1", 8, 1, 0),
    "b200-8": ("dgx-b200", 8, 1, 0),
    "l40s-8": ("l40s", 8, 1, 5),
    "rtx-4090-4": ("rtx-4090", 4, 1, 5),
    "rtx-3090-2": ("rtx-3090", 2, 1, 0),
    "mi300x-8": ("mi300x", 8, 1, 0),
    "h100-8-two-nodes": ("hgx-h100", 8, 2, 5),
}


def answer(name: str) -> tuple[dict, int, float]:
    begin = time.monotonic()
    done = run(LOGS / f"{name}.txt", "--json")
    return json.loads(done.stdout)["files"][0], done.returncode, time.monotonic() - begin


class Pasted(unittest.TestCase):
    def test_every_log_of_the_folder_is_expected(self):
        self.assertEqual({path.stem for path in LOGS.glob("*.txt")}, set(EXPECTED))
        self.assertLessEqual(MEASURED, set(EXPECTED))

    def test_machine_verdict_and_time(self):
        for name, (platform, gpus, nodes, code) in EXPECTED.items():
            with self.subTest(name):
                found, exit_code, took_s = answer(name)
                self.assertEqual((found["platform"], found["normal"], exit_code), (platform, code == 0, code))
                self.assertRegex(found["chosen"], rf"^{platform}: .*\b{gpus} x " + (f".* on {nodes} nodes" if nodes > 1 else ""))
                self.assertEqual(found["log"]["nodes"], nodes)
                self.assertEqual((found["slow"], found["causes"]), (0, []))
                self.assertLess(took_s, MOST_S)

    def test_the_page_has_the_same_table(self):
        page = (program.ROOT / "docs/diagnose.md").read_text()
        rows = dict(re.findall(r"^\| `([a-z0-9-]+)\.txt` \| [^|]*\| (.*) \|$", page, re.MULTILINE))
        self.assertEqual(set(rows), set(EXPECTED))
        for name, (platform, _, _, code) in EXPECTED.items():
            figures, machine, said, _ = rows[name].split(" | ")
            self.assertEqual((machine, said, figures == "forecast"), (f"`{platform}`", str(code), name not in MEASURED))


class CutOff(InFolder):
    """A log that ends inside a row, or begins among the ranks; what is cut off elsewhere is an error."""

    def test_rows_and_ranks_that_are_not_at_an_end(self):
        lines = (LOGS / "h100-8.txt").read_text().splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if " 1048576 " in line)
        cut = [*lines[:place], lines[place][:60] + "\n", *lines[place + 1:]]
        self.assert_refused(run(self.write("row.txt", "".join(cut))), f"row.txt:{place + 1}: has ")
        ranks = [line for line in lines if " Rank  3 " not in line]
        self.assert_refused(run(self.write("rank.txt", "".join(ranks))), "rank 4 stands where rank 3 is due")

    def test_what_was_left_out_or_assumed_is_said(self):
        for name, what in (("l40s-8", "which is cut off"), ("a100-40gb-8", "assumed: ranks 0 to 2, whose lines are cut off")):
            done = run("import", "nccl-tests", LOGS / f"{name}.txt", "--machine", "m", "--topology", EXPECTED[name][0])
            self.assertIn(what, done.stderr)
            self.assertEqual(len(json.loads(done.stdout)["points"][0]["gpus"]), 8)


class Machines(InFolder):
    def test_machines_with_the_same_links_are_tried_on_one_node_alone(self):
        """Collectives over NVLink are alike on two machines with A100; networks are not."""
        self.assertIn("the likeliest of the shipped machines", answer("a100-80gb-8")[0]["chosen"])
        text = (LOGS / "a100-80gb-8.txt").read_text()
        for rank in range(4, 8):
            text = text.replace(f"device  {rank} ", f"device  {rank - 4} ")
        nodes = "".join(line.replace("gpu-node-17", "gpu-node-18") if any(f" Rank  {rank} " in line for rank in range(4, 8)) else line
                        for line in text.splitlines(keepends=True))
        done = run(self.write("nodes.txt", nodes))
        self.assert_refused(done, "is of 4 x NVIDIA A100-SXM4-80GB on 2 nodes: ")
        for words in ("--platform abci-a100'", "--platform dgx-a100'"):
            self.assertIn(words, done.stderr)

    def test_machines_that_nobody_built_are_not_proposed(self):
        self.assertNotIn("fig19", answer("v100-8")[0]["chosen"])


if __name__ == "__main__":
    main()
