"""How far a study is, and requests to end it."""
from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FIRST_S, TERMINAL_S, LOG_S = 2.0, 0.2, 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Progress:
    """On a terminal a line that is written over, elsewhere a line now and then; nothing for two seconds."""

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


class Interrupts:
    """Ctrl-C and other requests to end, which wait while something must not be torn."""

    def __init__(self):
        self._held, self._waiting = 0, 0
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup and shells say for what runs in the background
                signal.signal(number, self._come)

    def _come(self, number: int, _frame: Any) -> None:
        if self._held:
            self._waiting = number
        else:
            raise KeyboardInterrupt(number)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A request that comes in here ends the sweep behind it."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._waiting and not self._held:
            number, self._waiting = self._waiting, 0
            raise KeyboardInterrupt(number)
