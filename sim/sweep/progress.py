"""How far a study is: on a terminal a line that is written over, elsewhere a line now and then; nothing for two seconds."""
from __future__ import annotations

import sys
import time

FIRST_S, TERMINAL_S, LOG_S = 2.0, 0.2, 30.0


class Progress:
    def __init__(self, total: int, done: int):
        self._total, self._done, self._before, self._errors = total, done, done, 0
        self._terminal = sys.stderr.isatty()
        self._start = time.monotonic()
        self._next = self._start + FIRST_S
        self._shown = False

    def step(self, done: int, errors: int) -> None:
        self._done += done
        self._errors += errors
        if time.monotonic() >= self._next:
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        self._next = now + (TERMINAL_S if self._terminal else LOG_S)
        rate = (self._done - self._before) / (now - self._start)
        left = (self._total - self._done) / rate if rate else 0
        hours, minutes, seconds = int(left // 3600), int(left // 60 % 60), int(left % 60)
        line = (f"{self._done} of {self._total} scenarios ({self._done / self._total:.0%}), {rate:.4g} a second, "
                f"{hours}:{minutes:02}:{seconds:02} left, {self._errors} errors")
        sys.stderr.write(f"\r\x1b[K{line}" if self._terminal else line + "\n")
        sys.stderr.flush()
        self._shown = True

    def end(self) -> None:
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
