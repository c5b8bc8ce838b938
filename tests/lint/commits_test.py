#!/usr/bin/env python3
"""The check of commits finds a broken one in the middle of a history whose end is whole, in a repository made for it."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import commits

SCRIPT = Path(__file__).parent / "commits.py"


class Commits(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "repository"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit("first", **{"a/one.hpp": "#pragma once\nint one();\n", "a/one.cpp": '#include "a/one.hpp"\nint one() { return 1; }\n',
                                "b/two.cpp": '#include "a/one.hpp"\nint two() { return 2 * one(); }\n'})
        self.base = self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        mine = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        for who in ("AUTHOR", "COMMITTER"):
            mine |= {f"GIT_{who}_NAME": "Test", f"GIT_{who}_EMAIL": "test@example.org"}
        return subprocess.run(["git", "-C", str(self.root), *words], check=True, capture_output=True, text=True, env=mine).stdout.strip()

    def commit(self, header: str, **texts: str | None) -> None:
        """File -> its text, or None: it is deleted."""
        for name, text in texts.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", header)

    def findings(self, *options: str) -> tuple[int, list[str]]:
        run = subprocess.run([sys.executable, "-B", SCRIPT, "--repository", self.root, *options, self.base], capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()[:-1]

    def test_whole(self):
        self.commit("two: three times", **{"b/two.cpp": '#include "a/one.hpp"\nint two() { return 3 * one(); }\n'})
        self.assertEqual(self.findings(), (0, []))
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 1)

    def test_header_deleted_one_commit_too_early(self):
        self.commit("one: gone", **{"a/one.hpp": None, "a/one.cpp": "int one() { return 1; }\n"})
        self.commit("two: alone", **{"b/two.cpp": "int two() { return 2; }\n"})
        code, found = self.findings()
        self.assertEqual((code, len(found)), (1, 1))
        self.assertIn('(one: gone): b/two.cpp includes "a/one.hpp", which does not exist', found[0])

    def test_syntax_of_what_includes_a_changed_header(self):
        self.commit("one: takes a number", **{"a/one.hpp": "#pragma once\nint one(int times);\n",
                                              "a/one.cpp": '#include "a/one.hpp"\nint one(int times) { return times; }\n'})
        self.commit("two: gives it", **{"b/two.cpp": '#include "a/one.hpp"\nint two() { return one(2); }\n'})
        code, found = self.findings()
        self.assertEqual((code, len(found)), (1, 1))
        self.assertRegex(found[0], r"\(one: takes a number\): b/two.cpp does not compile: .*error: too few arguments")

    def test_header_of_the_commit(self):
        self.commit("two: " + "x" * 67)
        self.assertEqual(self.findings(), (0, []))
        self.commit("two: " + "x" * 68)
        code, found = self.findings()
        self.assertEqual((code, len(found)), (1, 1))
        self.assertIn("a header of 73 characters, at most 72", found[0])

    def test_a_library_that_is_not_installed_is_no_finding(self):
        self.commit("two: none", **{"b/two.cpp": "#include <no_library_of/that_name.h>\n"})
        self.assertEqual(self.findings(), (0, []))

    def test_base(self):
        """Since the last tag, where there is no origin; merges' parents and a long history do not matter."""
        repository = commits.Repository(self.root)
        self.git("tag", "0.1.0")
        self.commit("two: more")
        self.assertEqual(repository.base(None), self.base)
        self.assertEqual(len(repository.commits(self.base)), 1)

    def test_units_are_bounded(self):
        includes = {f"x/{k}.cpp": ["a/one.hpp"] for k in range(20)} | {"a/one.cpp": ["a/one.hpp"]}
        self.assertEqual(commits.units_of(["a/one.hpp", "b/new.cpp"], includes, 3), ["b/new.cpp", "a/one.cpp", "x/0.cpp"])

    def test_changed_lines(self):
        diff = "--- a/x.cpp\n+++ b/x.cpp\n@@ -3 +3,2 @@\n@@ -9,2 +10,0 @@\n@@ -20 +19 @@\n"
        self.assertEqual(commits.changed_lines(diff), {"x.cpp": [[3, 4], [19, 19]]})


if __name__ == "__main__":
    unittest.main()
