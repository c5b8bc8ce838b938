#!/usr/bin/env python3
"""Tables as wide as the terminal, whole lines in pipes; colours on terminals alone."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import unittest

from program import PROGRAM, ROOT, main, run

LOG = ("diagnose", "--platform", "hgx-h100", "tests/input/import/nvbandwidth-h100.txt")
WARNED = ("predict", "collective", "--platform", "v100-dgx1", "--gpus", "0-3", "--op", "all_reduce", "--size", "1MiB")
WRONG = ("show", "no-such-machine")
ESCAPE = "\x1b["


def environment(**changed: str) -> dict:
    """Without what says how terminals look; TERM is one with colours."""
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return {**plain, "TERM": "xterm", **changed}


def terminal(*words: str, columns: int = 80, piped_output: bool = False, **changed: str) -> tuple[int, str]:
    """Exit code and what a terminal shows. @param piped_output  only standard error is the terminal"""
    own, of_program = pty.openpty()
    fcntl.ioctl(of_program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([str(PROGRAM), *words], cwd=ROOT, stdin=subprocess.DEVNULL, stderr=of_program, env=environment(**changed),
                          stdout=subprocess.DEVNULL if piped_output else of_program) as process:
        os.close(of_program)
        shown = b""
        while True:
            try:
                some = os.read(own, 65536)
            except OSError:  # EIO: the program has ended
                break
            if not some:
                break
            shown += some
        code = process.wait()
    os.close(own)
    return code, shown.decode().replace("\r\n", "\n")


def piped(*words: str, **changed: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(PROGRAM), *words], cwd=ROOT, capture_output=True, text=True, check=False, env=environment(**changed))


class Width(unittest.TestCase):
    def longest(self, text: str) -> int:
        return max(map(len, text.splitlines()))

    def test_a_pipe_gets_a_line_a_row(self):
        rows = run("list", "platforms", "--json").stdout.count('"name"')
        lines = piped("list", "platforms").stdout.splitlines()
        self.assertGreater(rows, 30)
        self.assertEqual(len(lines), rows)
        self.assertGreater(max(map(len, lines)), 80)

    def test_sentences_too(self):
        self.assertEqual(piped("show", "v100-dgx1").stdout.splitlines()[2], "")  # title, source in one line each
        self.assertGreater(terminal("show", "v100-dgx1")[1].splitlines().index(""), 2)

    def test_a_terminal_gets_its_width(self):
        shown = {columns: terminal("list", "platforms", columns=columns)[1] for columns in (60, 80, 300)}
        for columns, text in shown.items():
            self.assertLessEqual(self.longest(text), columns)
        self.assertGreater(len(shown[60].splitlines()), len(shown[80].splitlines()))
        self.assertEqual(shown[300], piped("list", "platforms").stdout)

    def test_environment_says_another(self):
        self.assertEqual(piped("list", "platforms", COLUMNS="80").stdout, terminal("list", "platforms")[1])
        self.assertEqual(terminal("list", "platforms", columns=300, COLUMNS="80")[1], terminal("list", "platforms")[1])
        for wrong in ("", "0", "-3", "wide", "99999999999999999999"):
            self.assertEqual(piped("list", "platforms", COLUMNS=wrong).stdout, piped("list", "platforms").stdout, wrong)
        self.assertGreater(len(piped("list", "platforms", COLUMNS="1").stdout), 1000)  # narrower than any column

    def test_help_is_a_page_of_80(self):
        self.assertEqual(terminal("predict", "--help", columns=200)[1], piped("predict", "--help").stdout)
        self.assertLessEqual(self.longest(piped("predict", "--help").stdout), 80)


class Colours(unittest.TestCase):
    def test_verdict(self):
        self.assertIn(", \x1b[32mnormal\x1b[0m: slower by", terminal(*LOG)[1])
        code, text = terminal(*LOG, "--edit", "scale pcie5:3")
        self.assertEqual(code, 4)
        self.assertIn(", \x1b[1;31mfaulty\x1b[0m, ", text)

    def test_warnings_and_errors(self):
        self.assertIn("\x1b[33mwarning: \x1b[0m", terminal(*WARNED)[1])
        self.assertEqual(terminal(*WRONG)[1].split("unknown")[0], "\x1b[1;31merror: \x1b[0m")
        self.assertTrue(terminal("shw")[1].startswith("\x1b[1;31merror: \x1b[0munknown"))

    def test_each_stream_for_itself(self):
        self.assertIn(ESCAPE, terminal(*WARNED, piped_output=True)[1])

    def test_none_in_pipes(self):
        for words in (LOG, WARNED, WRONG):
            done = piped(*words)
            self.assertNotIn("\x1b", done.stdout + done.stderr, words)

    def test_none_where_they_are_not_wanted(self):
        for words in (LOG, WARNED, WRONG):
            for said in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                self.assertNotIn(ESCAPE, terminal(*words, **said)[1], (words, said))
            self.assertIn(ESCAPE, terminal(*words, NO_COLOR="")[1], words)  # set and empty is not set: no-color.org


if __name__ == "__main__":
    main()
