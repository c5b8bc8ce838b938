#!/usr/bin/env python3
"""Faults: nothing lost, nothing double, nothing half-written, and a message that says how to go on.

With --table [TIMES]: so many of each fault, as docs/robustness.md shows them."""
import sys
import unittest

import drills
import program

SHORT = 3  # of each in ctest


class Drills(unittest.TestCase):
    pass


def add(name: str) -> None:
    def test(self: unittest.TestCase):
        row = drills.run_drill(name, SHORT if name not in ("cut", "folders", "output") else 9)
        self.assertEqual(row.bad(), 0, row)
        if row.times == 0:
            self.skipTest(row.message)
    setattr(Drills, f"test_{name}", test)


for each in drills.DRILLS:
    add(each)


def table(times: int) -> None:
    print("| fault | times | lost | double | half-written | other | what is said |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name in drills.DRILLS:
        row = drills.run_drill(name, times)
        print(f"| {row.fault} | {row.times} | {row.lost} | {row.double} | {row.half} | {row.wrong} | {row.message[:200].replace('|', '/')} |", flush=True)


if __name__ == "__main__":
    if "--table" in sys.argv:
        table(int(sys.argv[sys.argv.index("--table") + 1]))
    else:
        program.main()
