#!/usr/bin/env python3
"""Faults: nothing lost, nothing double, nothing half-written, and a message that says how to go on.

With --table TIMES [NAME...]: so many of each fault, as docs/robustness.md shows them."""
import sys
import unittest

import drills
import drills_more
import program

SHORT = 3  # of each in ctest
ALL = {**drills.DRILLS, **drills_more.MORE}


class Drills(unittest.TestCase):
    pass


def add(name: str) -> None:
    def test(self: unittest.TestCase):
        times = 9 if name in ("cut", "folders", "output") else 1 if name.startswith("dask") else SHORT
        row = drills.run_drill(ALL[name], times)
        self.assertEqual(row.bad(), 0, row)
        if row.times == 0:
            self.skipTest(row.message)
    setattr(Drills, f"test_{name}", test)


for each in ALL:
    add(each)


def table(times: int, only: list[str]) -> None:
    print("| fault | times | lost | double | half-written | other | what is said |\n| --- | --- | --- | --- | --- | --- | --- |")
    for name, drill in ALL.items():
        if only and name not in only:
            continue
        row = drills.run_drill(drill, times)
        print(f"| {row.fault} | {row.times} | {row.lost} | {row.double} | {row.half} | {row.wrong} | {row.message[:200].replace('|', '/')} |", flush=True)


if __name__ == "__main__":
    if "--table" in sys.argv:
        at = sys.argv.index("--table")
        table(int(sys.argv[at + 1]), sys.argv[at + 2:])
    else:
        program.main()
