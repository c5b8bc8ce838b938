"""What linkcast refuses, as exceptions; the text is the one line that the program prints."""
from __future__ import annotations

import difflib
from collections.abc import Iterable


class LinkcastError(Exception):
    """Of linkcast; `code` is the exit code of the program."""
    code = 1

    def __init__(self, message: str, code: int | None = None):
        super().__init__(message)
        if code is not None:
            self.code = code


class InputError(LinkcastError, ValueError):
    """A wrong question, or a wrong file: the text says where."""
    code = 2


class InternalError(LinkcastError):
    """A bug of linkcast: please report it."""
    code = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean '{near[0]}'?)" if near else ""
