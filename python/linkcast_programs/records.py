"""Strict reading of JSON: every error names file and JSON pointer, as linkcast itself says it."""
from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Iterator


class InputError(Exception):
    """Bad input: one line, exit code 2."""


STDIN = "-"
KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


def kind_of(value: Any) -> str:
    return KINDS[type(value)]


@dataclass(frozen=True)
class Node:
    """A value of a JSON file and where it stands there."""
    value: Any
    file: str
    pointer: str = ""

    def fail(self, what: str) -> InputError:
        return InputError(f"{self.file}:{self.pointer or '/'}: {what}")

    def _at(self, key: str | int, value: Any) -> Node:
        return Node(value, self.file, f"{self.pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")

    def _must_be(self, kind: str) -> Any:
        if kind_of(self.value) != kind:
            article = "an" if kind[0] in "ao" else "a"
            raise self.fail(f"must be {article} {kind}, not {kind_of(self.value)}")
        return self.value

    def has(self, key: str) -> bool:
        return key in self._must_be("object")

    def __getitem__(self, key: str) -> Node:
        if not self.has(key):
            raise self._at(key, None).fail("missing key")
        return self._at(key, self.value[key])

    def get(self, key: str) -> Node | None:
        """None too where the value is null."""
        return self[key] if self.has(key) and self.value[key] is not None else None

    def items(self) -> list[Node]:
        return [self._at(i, value) for i, value in enumerate(self._must_be("array"))]

    def entries(self) -> Iterator[tuple[str, Node]]:
        return ((key, self._at(key, value)) for key, value in self._must_be("object").items())

    def text(self) -> str:
        return self._must_be("string")

    def number(self) -> float:
        return self._must_be("number")

    def whole(self) -> int:
        if self._must_be("number") != int(self.value):
            raise self.fail("must be a whole number")
        return int(self.value)

    def flag(self) -> bool:
        return self._must_be("boolean")

    def texts(self) -> list[str]:
        return [item.text() for item in self.items()]

    def numbers(self) -> list[float]:
        return [item.number() for item in self.items()]

    def choice(self, allowed: list[str]) -> str:
        if self.text() not in allowed:
            raise self.fail(f"'{self.value}' is not known: one of {', '.join(allowed)}")
        return self.value

    def only(self, *allowed: str) -> None:
        for key, node in self.entries():
            if key not in allowed:
                raise node.fail(f"unknown key; known here: {', '.join(allowed)}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"/{key}: duplicate key")
        value[key] = item
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is no finite number")
    return value


def parse(text: str, file: str) -> Node:
    try:
        return Node(json.loads(text, object_pairs_hook=_object, parse_float=_number, parse_constant=_number), file)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: {error}") from None


@cache
def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8")


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """What the system says of a file as bad input."""
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder, not a file")
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start}: not UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def read_text(path: str | Path) -> str:
    with _told(path):
        return _standard_input() if str(path) == STDIN else Path(path).read_text(encoding="utf-8")


@contextmanager
def open_text(path: str | Path) -> Iterator[IO[str]]:
    with _told(path), open(path, encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Under its name stands all that was written, once the block ends without an error, or what stood there before."""
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with open(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(draft, 0o666 & ~umask)
        os.replace(draft, path)
    except OSError as error:
        os.unlink(draft)
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    except BaseException:
        os.unlink(draft)
        raise


def write_atomically(path: Path, data: str | bytes) -> None:
    with atomic_file(path) as out:
        out.write(data.encode("utf-8") if isinstance(data, str) else data)
