#!/usr/bin/env python3
"""The check of the pages finds what it is for: changed words, lines and figures; and lets small changes of figures pass."""
import contextlib
import io
import tempfile
import time
import unittest
from pathlib import Path

import readme_blocks
from printed import agree, changes, split

TABLE = ["time         3.639 ms  (90 %: 3.609 ms to 3.669 ms)", "bandwidth    18.44 GB/s", "route        gpu0->gpu1"]


class Printed(unittest.TestCase):
    def test_quantities_within_the_tolerance(self):
        self.assertTrue(agree("time  3.639 ms", "time 3.700 ms"))
        self.assertTrue(agree("time  999.5 us", "time  1.001 ms"))  # another unit, the same time
        self.assertTrue(agree("start-up 54 us", "start-up 55 us"))  # one unit of the last digit
        self.assertTrue(agree("error -0.4 %", "error +0.5 %"))
        self.assertTrue(agree('{"time_s":0.0579387}', '{"time_s":0.0580001}'))

    def test_quantities_beyond_it(self):
        for shown, printed in [("time  3.639 ms", "time  3.739 ms"), ("time  3.639 ms", "time  3.639 us"), ("error 0.4 %", "error 1.6 %"),
                               ("time  3.639 ms", "time  -3.639 ms"), ("1.85e+10 B/s", "1.95e+10 B/s"), ("18.44 GB/s", "18.44 ms"), ("2 us", "3 us")]:
            self.assertFalse(agree(shown, printed), (shown, printed))

    def test_counts_and_names_are_exact(self):
        for shown, printed in [("8 blocks", "9 blocks"), ("gpu0->gpu1", "gpu0->gpu2"), ("nccl-2.18", "nccl-2.19"), ("64MiB", "65MiB"),
                               ("ring 0 1 2", "ring 0 2 1"), ("2.28.9", "2.28.8"), ("1.5GB/s", "1.51GB/s")]:
            self.assertFalse(agree(shown, printed), (shown, printed))

    def test_words(self):
        self.assertFalse(agree("transport peer 3.6 ms", "transport staged 3.6 ms"))
        self.assertEqual(split("nccl-2.3:  17.46 GB/s  +12.5 %")[0], "nccl-2.3: <B/s> <%>")

    def test_lines(self):
        self.assertEqual(changes(TABLE, TABLE, 0.02), [])
        self.assertEqual(len(changes(TABLE, TABLE[:2], 0.02)), 1)
        self.assertEqual(len(changes(TABLE, [TABLE[1], TABLE[0], TABLE[2]], 0.02)), 2)
        self.assertEqual(len(changes(TABLE, TABLE + ["warning: new"], 0.02)), 1)
        self.assertEqual(len(changes([], TABLE, 0.02)), 1)

    def test_exact(self):
        self.assertEqual(len(changes(TABLE, [TABLE[0].replace("3.639", "3.640"), *TABLE[1:]], None)), 1)
        self.assertEqual(len(changes(["a  b"], ["a b"], None)), 1)

    def test_says_how_much(self):
        change, = changes(TABLE, [TABLE[0], "bandwidth    22.128 GB/s", TABLE[2]], 0.02)
        self.assertAlmostEqual(change.relative, 0.2)
        self.assertEqual(str(change).splitlines()[0], "changed: 20 %")
        self.assertEqual(str(changes(["a"], ["b"], 0.02)[0]).splitlines()[0], "changed: words")


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.page = Path(self.folder.name) / "page.md"
        self.program = Path(self.folder.name) / "linkcast"
        self.program.write_text("#!/bin/sh\necho time 3.600 ms\n")
        self.program.chmod(0o755)

    def tearDown(self):
        self.folder.cleanup()

    def run_page(self, text: str, seconds: float = 20):
        self.page.write_text(text)
        return readme_blocks.run_page(str(self.page), self.program, seconds)

    def update(self, page, most: float, force: bool) -> list[str]:
        with contextlib.redirect_stdout(io.StringIO()) as self.said:
            return readme_blocks.update(page, most, force)

    def test_tolerances(self):
        for how, found in [("", 0), (" exact", 1), (" within 1 %", 1), (" within 5 %", 0)]:
            page = self.run_page(f"```console{how}\n$ build/linkcast\ntime 3.53 ms\n```\n")
            self.assertEqual((page.blocks, len(page.found), page.error), (1, found, ""), how)
        self.assertIn("known are", self.run_page("```console precise\n$ build/linkcast\n```\n").error)

    def test_every_command_is_run(self):
        page = self.run_page("```console\n$ echo a\na\n$ echo b\n```\n\n```console\n$ echo c >reports/c; cat reports/c\nd\n```\n")
        self.assertEqual((page.blocks, [change.printed for change in page.found]), (2, [["b"], ["c"]]))

    def test_a_page_has_its_own_limit(self):
        begin = time.monotonic()
        page = self.run_page("```console\n$ sleep 30 | cat\n```\n", seconds=0.2)
        self.assertIn("sleep 30", page.error)
        self.assertLess(time.monotonic() - begin, 10)

    def test_update_refuses_large_changes(self):
        page = self.run_page("```console\n$ build/linkcast\ntime 3.0 ms\n```\n")
        self.assertEqual(len(self.update(page, most=0.1, force=False)), 1)
        self.assertIn("3.0", self.page.read_text())
        self.assertIn("changed: 20 %", self.said.getvalue())
        self.assertEqual(self.update(page, most=0.1, force=True), [])
        self.assertEqual(self.page.read_text(), "```console\n$ build/linkcast\ntime 3.600 ms\n```\n")

    def test_update_takes_small_ones(self):
        page = self.run_page("before\n```console\n$ build/linkcast\ntime 3.53 ms\n```\nafter\n")
        self.assertEqual(self.update(page, most=0.1, force=False), [])
        self.assertEqual(self.page.read_text(), "before\n```console\n$ build/linkcast\ntime 3.600 ms\n```\nafter\n")


if __name__ == "__main__":
    unittest.main()
