#!/usr/bin/env python3
"""Promises of docs/stability.md: keys, answers, options, names and records of the last release still pass."""
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

from program import ROOT, answers, main, run

sys.path.insert(0, str(ROOT / "tests/release"))
from interface import interface  # noqa: E402

LAST = "0.1"
RESPELLED = ("engine", "algorithm")  # keys whose old values python.schema tests


def lost(before: dict, now: dict) -> list[str]:
    """Whatever the earlier interface has and the later one lacks."""
    found = [f"{what} {name}: {one}" for what in ("answers", "options") for name, some in before[what].items()
             for one in some if one not in now[what].get(name, ())]
    found += [f"python: {name}" for name in before["python"] if name not in now["python"]]
    for kind, keys in before["keys"].items():
        for key, choices in keys.items():
            if key not in now["keys"].get(kind, {}):
                found.append(f"keys {kind}: {key}")
            elif allowed := now["keys"][kind][key]:  # else any text, or a list that another command prints
                found += [f"keys {kind}: {key}: {one}" for one in choices if one not in allowed and key not in RESPELLED]
    return found


class Interface(unittest.TestCase):
    BEFORE = json.loads((ROOT / f"tests/release/{LAST}.json").read_text())

    def test_nothing_is_lost(self):
        self.assertEqual(lost(self.BEFORE, interface(ROOT)), [])

    def test_a_loss_is_seen(self):
        """Each kind of loss, of a page without one row."""
        page, module = (ROOT / "docs/reference.md").read_text(), (ROOT / "python/linkcast/__init__.py").read_text()
        for gone in (r"^\| `sizes_B` .*\n", r"^\| `busbw_Bps` .*\n", r"^ +--bidirectional .*\n", r", `LL128`", r'"wiring"'):
            with tempfile.TemporaryDirectory() as folder:
                for path, text in (("docs/reference.md", page), ("python/linkcast/__init__.py", module)):
                    (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                    (Path(folder) / path).write_text(re.sub(gone, "", text, flags=re.M))
                self.assertTrue(lost(self.BEFORE, interface(Path(folder))), gone)

    def test_examples_are_answered(self):
        found = answers(self.BEFORE["examples"])
        self.assertEqual([answer["error"] for answer in found if "error" in answer], [])
        self.assertEqual(len(found), len(self.BEFORE["examples"]))

    def test_records_are_read(self):
        records = sorted((ROOT / "tests/release" / LAST).iterdir())
        self.assertGreater(len(records), 9)
        for record in records:
            done = run("check", record)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_page_names_what_is_read(self):
        page = (ROOT / "docs/stability.md").read_text()
        for record in (ROOT / "tests/release" / LAST).iterdir():
            schema = json.loads(record.read_text().splitlines()[0] if record.suffix == ".jsonl" else record.read_text())["schema"]
            self.assertIn(f"`{schema}`", page)


if __name__ == "__main__":
    main()
