"""Ctrl-C and other requests to end, which wait while something must not be torn."""
from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import Any, Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
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
