"""The compiled module, the program beside it, and their data."""
from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import _native
from .errors import InputError, LinkcastError

PACKAGE = Path(__file__).absolute().parent
CHECKOUT = PACKAGE.parents[1]
ERROR = "error: "


def program() -> Path:
    """The program inside this package; in a checkout, the one in build/."""
    for candidate in (PACKAGE / "bin" / "linkcast", CHECKOUT / "build" / "linkcast"):
        if candidate.is_file():
            return candidate
    raise LinkcastError(f"no program in {PACKAGE / 'bin'}: install the wheel, or build linkcast")


def data_dir() -> Path:
    """Topologies, parameters and samples: LINKCAST_DATA_DIR, else those of the package."""
    if chosen := os.environ.get("LINKCAST_DATA_DIR"):
        return Path(chosen)
    installed = PACKAGE / "share" / "linkcast"
    return installed if installed.is_dir() else CHECKOUT


@functools.cache
def _catalogues(folder: str) -> _native.Catalogues:
    _native.set_program(str(program()))
    return _native.Catalogues(folder)


def catalogues() -> _native.Catalogues:
    """Platforms and communicators that were built stay for the next question."""
    return _catalogues(str(data_dir()))


def _plain(value: Any) -> Any:
    """What json does not know: ranges, paths, numbers and arrays of NumPy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{value!r}: {type(value).__name__} is no value of a query")


def dumped(query: dict[str, Any]) -> str:
    return json.dumps(query, default=_plain)


def read(query: dict[str, Any]) -> str:
    """A query whose values may be written as on the command line ("64MiB", "0-3"), as JSON."""
    return _native.question(dumped(query))


def command(*words: object, text: str = "", good: tuple[int, ...] = (0, 4)) -> tuple[str, int, list[str]]:
    """Standard output of `linkcast WORDS`, a process of its own, its exit code, and the lines of standard error.

    @param good  exit codes that are no error; 4 is a failed claim or comparison"""
    line = [str(program()), "--data-dir", str(data_dir()), *map(str, words)]
    done = subprocess.run(line, input=text, capture_output=True, text=True, errors="replace", check=False)
    lines = done.stderr.splitlines()
    if done.returncode in good:
        return done.stdout, done.returncode, lines
    said = lines[-1].removeprefix(ERROR) if lines else done.stdout.strip()
    raise InputError(said) if done.returncode == InputError.code else LinkcastError(said, done.returncode)


def run(*words: object, text: str = "") -> str:
    """Standard output of `linkcast WORDS`, with `text` as its input."""
    return command(*words, text=text)[0]


def main() -> None:
    """The command `linkcast`: becomes the program."""
    path = str(program())
    os.execv(path, [path, *sys.argv[1:]])
