#!/usr/bin/env python3
"""The gate of counts.py finds what it is for."""
import argparse
import contextlib
import io
import shutil
import sys
import unittest
from pathlib import Path

import counts

PROGRAM = Path("build/linkcast")
RECORDS = [{"instructions": {"copy": 2000000, "gone": 5000000}},
           {"instructions": {"copy": 1000000, "ring": 4000000}}]


class Findings(unittest.TestCase):
    def test_three_percent_more_passes_and_no_more(self):
        self.assertEqual(counts.findings({"copy": 1030, "ring": 500}, {"copy": 1000, "ring": 1000}), [])
        self.assertEqual(counts.findings({"copy": 1031}, {"copy": 1000}),
                         ["copy: 1,031 instructions, 1.031 times the 1,000 of tests/bench/counts.jsonl, at most 1.03"])

    def test_file_and_cases_are_the_same(self):
        self.assertEqual(counts.findings({"new": 1}, {}), ["new: is not in tests/bench/counts.jsonl"])
        self.assertEqual(counts.findings({}, {"old": 1}), ["old: is in tests/bench/counts.jsonl and no longer counted"])


class Page(unittest.TestCase):
    def test_rows_are_those_of_the_last_line(self):
        self.assertEqual(counts.table(RECORDS).split("\n")[2:], ["| copy | 2.0 | 2.0 | 1.0 | 0.50 |", "| ring | 4.0 |  | 4.0 | 1.00 |", ""])

    def test_the_rest_of_the_page_stays(self):
        page = counts.with_table(f"a\n{counts.BEGIN}\nold\n{counts.END}\nb\n", RECORDS)
        self.assertEqual(page, f"a\n{counts.BEGIN}\n{counts.table(RECORDS)}{counts.END}\nb\n")
        with self.assertRaises(SystemExit):
            counts.with_table("a page without", RECORDS)


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Gate(unittest.TestCase):
    """Of the program: its own count passes, as do 2 % more than the file says; 4 % and a case that the file lacks do not."""

    def gate(self, instructions):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = counts.gate(PROGRAM.resolve(), "copy", {"tools": counts.tools(PROGRAM), "instructions": instructions})
        return code, said.getvalue()

    def test_a_count_and_its_changes(self):
        count = counts.counted(PROGRAM.resolve(), "copy")["copy"]
        self.assertEqual(self.gate({"copy": int(count / 1.02)})[0], 0)
        code, said = self.gate({"copy": int(count / 1.04)})
        self.assertEqual(code, counts.SLOWER)
        self.assertRegex(said, r"copy: [\d,]+ instructions, 1\.04")
        self.assertEqual(self.gate({})[0], counts.SLOWER)

    def test_other_tools_compare_nothing(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(counts.gate(PROGRAM.resolve(), "copy", {"tools": {}, "instructions": {"copy": 1}}), counts.CANNOT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    given, rest = parser.parse_known_args()
    PROGRAM = given.program
    unittest.main(argv=[sys.argv[0], *rest])
