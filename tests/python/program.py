"""Runs the real program, and keeps what it printed."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
_parser = argparse.ArgumentParser()
_parser.add_argument("--program", type=Path, default=ROOT / "build" / "linkcast")
_options, _rest = _parser.parse_known_args()
PROGRAM = _options.program.resolve()
OWN_PYTHON = PROGRAM.parent / "python" / "bin" / "python3"
PYTHON = str(OWN_PYTHON) if OWN_PYTHON.exists() else "/usr/bin/python3"  # as linkcast chooses


def has(module: str) -> bool:
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def run(*words: object, folder: Path = ROOT, stdin: str = "", env: dict | None = None,
        program: Path = PROGRAM) -> subprocess.CompletedProcess:
    """@param env  besides that of this process. @param program  a copy of it elsewhere"""
    return subprocess.run([str(program), *map(str, words)], cwd=folder, input=stdin, capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})})


def start(*words: object, folder: Path = ROOT, stderr: int = subprocess.PIPE) -> subprocess.Popen:
    return subprocess.Popen([str(PROGRAM), *map(str, words)], cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True)


def answers(queries: list[dict]) -> list[dict]:
    """Of `predict --batch`."""
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    return [json.loads(line) for line in run("predict", "--batch", "-", stdin=lines).stdout.splitlines()]


def device_answers(queries: list[dict]) -> list[dict]:
    """The same, of collectives without the host that issues them."""
    return answers([{"launch": "graph", **query} if query.get("kind") == "collective" else query for query in queries])


class InFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, name: str, value: object) -> Path:
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def assert_refused(self, result: subprocess.CompletedProcess, what: str):
        """Bad input: exit code 2 and one line."""
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("error: "), result.stderr)
        self.assertIn(what, result.stderr)


def main(*needed: str):
    for module in needed:
        if not has(module):
            print(f"skipped: the Python package {module} is not installed")
            sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *_rest])
