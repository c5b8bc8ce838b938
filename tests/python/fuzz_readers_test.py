#!/usr/bin/env python3
"""The fuzzers begin with files that their readers really read: what fails before the file is opened finds nothing."""
import re
import shutil
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program import ROOT, main, run

sys.path.insert(0, str(ROOT / "tests/fuzz"))
import readers  # noqa: E402
import seeds  # noqa: E402

OUTSIDE = {"chakra", "nsys"}  # bytes, from seeds.py


def formats() -> list[str]:
    return re.findall(r"[\w-]+", run("import", "no-such-format", "x").stderr.rsplit("one of ", 1)[1])


def problem(name: str) -> list[str]:
    found = []
    for sample, command in readers.READERS[name]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / sample.name
            shutil.copy(sample, path)
            read = run(*readers.filled(command, path))
            path.write_bytes(b"\x00\xff no such file {")
            broken = run(*readers.filled(command, path))
        if read.returncode != 0:
            found.append(f"{name}: {sample.name}: exit code {read.returncode}: {read.stderr[-300:]}")
        if broken.returncode != 2 or sample.name not in broken.stderr and sample.stem not in broken.stderr:
            found.append(f"{name}: {sample.name} broken: exit code {broken.returncode}: {broken.stderr[-300:]}")
    return found


class Readers(unittest.TestCase):
    def test_every_format_has_a_reader(self):
        self.assertGreater(len(formats()), 20)
        self.assertEqual(set(formats()) - set(readers.READERS), OUTSIDE)

    def test_good_samples_are_read_and_broken_ones_refused(self):
        with ThreadPoolExecutor(2) as pool:
            self.assertEqual([line for lines in pool.map(problem, readers.READERS) for line in lines], [])

    def test_libfuzzer_has_seeds_of_every_format(self):
        for name in formats():
            with self.subTest(name):
                self.assertNotEqual(seeds.of("import-" + name, []), [])


if __name__ == "__main__":
    main()
