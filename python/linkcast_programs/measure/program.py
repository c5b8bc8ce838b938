"""The linkcast that started this program, as a process that answers one command."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ..records import InputError


class Failed(Exception):
    """A command of linkcast failed, and said why on standard error. The argument is its exit code."""


class Linkcast:
    def __init__(self, program: str, data_dir: str):
        self.program, self.data_dir = program, data_dir

    def says(self, *words: object, stdin: str = "", quiet: bool = False) -> str:
        """@param quiet  warnings and progress are not shown. @raises Failed"""
        done = subprocess.run([self.program, "--data-dir", self.data_dir, *map(str, words)], input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE if quiet else None, text=True, check=False)
        if done.returncode:
            print(done.stderr or "", end="", file=sys.stderr)
            raise Failed(done.returncode)
        return done.stdout

    def compared(self, record: Path, platform: Path) -> dict:
        """Measured against forecast, point by point, of a record of schema measurement/1."""
        return json.loads(self.says("validate", "--against", record, "--platform", platform, "--json", quiet=True))["comparisons"][0]

    def answers(self, queries: list[dict]) -> list[dict]:
        """Answers of a batch, in order; one that failed has the key error."""
        lines = "".join(json.dumps(query) + "\n" for query in queries)
        done = subprocess.run([self.program, "--data-dir", self.data_dir, "predict", "--batch", "-"], input=lines, capture_output=True, text=True,
                              check=False)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        if len(found) != len(queries):
            raise InputError(f"predict: {len(found)} answers to {len(queries)} queries: {done.stderr.strip()}")
        return found
