"""How far a study is, and what ends it before."""
from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FIRST_S, TERMINAL_S, LOG_S = 2.0, 0.2, 30.0
PIECE_S, PIECES, MANY = 1.0, 60, 5  # least length of a piece of the rate; how many count; of how many the slowest is left out
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ClusterGone(Exception):
    """A Dask cluster has not done what it was asked; what is done stays done."""


class Pace:
    """Scenarios a second in the last 60 pieces of a second or more, without the slowest of them: a pause, a stall, and what went
    fast at the beginning, are no pace of the rest."""

    def __init__(self, now: float):
        self._begin, self._done = now, 0
        self._pieces: deque[tuple[float, float]] = deque(maxlen=PIECES)  # seconds a scenario, seconds

    def step(self, now: float, done: int) -> None:
        self._done += done
        if self._done and now - self._begin >= PIECE_S:
            self._pieces.append(((now - self._begin) / self._done, now - self._begin))
            self._begin, self._done = now, 0

    def rate(self) -> float:
        pieces = sorted(self._pieces)
        if len(pieces) >= MANY:
            pieces.pop()
        return sum(seconds / each for each, seconds in pieces) / sum(seconds for _, seconds in pieces) if pieces else 0.0


class Progress:
    """On a terminal a line that is written over, elsewhere a line now and then; nothing for two seconds."""

    def __init__(self, total: int, done: int):
        self._total, self._done, self._errors = total, done, 0
        self._terminal = sys.stderr.isatty()
        now = time.monotonic()
        self._pace, self._next = Pace(now), now + FIRST_S
        self._shown = False

    def step(self, done: int, errors: int) -> None:
        self._done += done
        self._errors += errors
        now = time.monotonic()
        self._pace.step(now, done)
        if now >= self._next:
            self._show(now)

    def _show(self, now: float) -> None:
        self._next = now + (TERMINAL_S if self._terminal else LOG_S)
        rate = self._pace.rate()
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
