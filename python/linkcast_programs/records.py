"""Strict reading of JSON: every error names file and JSON pointer, as linkcast itself says it."""
from __future__ import annotations

import csv
import difflib
import json
import math
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Iterable, Iterator


MOST_B = 512 * 1024 ** 2  # of a file that is read as a whole, as linkcast itself takes
DEEPEST = 100  # levels of JSON, as linkcast itself takes
MOST_DIGITS = 400  # of a whole number: more than a double holds
MOST_LINE = 64 * 1024 ** 2  # characters: a row of a table has some thousands


class InputError(Exception):
    """Bad input: one line, exit code 2. What a file or a name has of control characters does not reach the terminal."""

    def __str__(self) -> str:
        return "".join(char if char.isprintable() or "\udc80" <= char <= "\udcff" else "?" for char in super().__str__())


STDIN = "-"
KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


def kind_of(value: Any) -> str:
    return KINDS[type(value)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f" (did you mean '{near[0]}'?)" if near else ""


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
            raise self.fail(f"'{self.value}' is not known{did_you_mean(self.value, allowed)}: one of {', '.join(allowed)}")
        return self.value

    def only(self, *allowed: str) -> None:
        for key, node in self.entries():
            if key not in allowed:
                raise node.fail(f"unknown key{did_you_mean(key, allowed)}; known here: {', '.join(allowed)}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"/{key}: duplicate key")
        value[key] = item
    return value


def _shown(text: str) -> str:
    longest = 40
    return f"'{text}'" if len(text) <= longest else f"'{text[:longest]}...'"


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{_shown(text)} is no finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{_shown(text)} has {len(text)} digits, at most {MOST_DIGITS}")
    return int(text)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [one for one in level if isinstance(one, (dict, list))]
        if not level:
            return False
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
    return True


def parse(text: str, file: str) -> Node:
    deep = InputError(f"{file}: nested deeper than {DEEPEST} levels")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=_number, parse_int=_whole, parse_constant=_number)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None
    except RecursionError:
        raise deep from None
    if _is_deep(value):
        raise deep
    return Node(value, file)


def _whole_text(file: IO[bytes], path: str | Path) -> str:
    data = file.read(MOST_B + 1)
    if len(data) > MOST_B:
        raise InputError(f"{path}: is longer than {MOST_B // 1024 ** 2} MiB: no record is")
    return data.decode("utf-8")


@cache
def _standard_input() -> str:
    return _whole_text(sys.stdin.buffer, "standard input")


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
        if str(path) == STDIN:
            return _standard_input()
        with open(path, "rb") as file:
            return _whole_text(file, path).replace("\r\n", "\n").replace("\r", "\n")  # as text files are read


@contextmanager
def open_rows(path: str | Path) -> Iterator[Iterator[list[str]]]:
    """Rows of a table with commas, of any number."""
    def lines(file: IO[str]) -> Iterator[str]:
        while line := file.readline(MOST_LINE + 1):
            if len(line) > MOST_LINE:
                raise InputError(f"{path}: has a line of more than {MOST_LINE // 1024 ** 2} MiB: no table has")
            yield line

    with _told(path), open(path, encoding="utf-8", newline="") as file:
        try:
            yield csv.reader(lines(file))
        except csv.Error as error:
            raise InputError(f"{path}: no table with commas: {error}") from None


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Under its name stands all that was written, once the block ends without an error, or what stood there before. Until then it has
    no name, where the file system can: a kill leaves nothing behind."""
    draft = path.with_name(f"{path.name}.partial")
    try:
        try:
            handle, named = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), False
        except OSError:
            handle, named = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), True
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with open(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
            if not named:
                draft.unlink(missing_ok=True)
                named = True
                os.link(f"/proc/self/fd/{handle}", draft, src_dir_fd=handle)  # a folder's number makes it follow the link
        os.replace(draft, path)
    except OSError as error:
        if named:
            draft.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    except BaseException:
        if named:
            draft.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: str | bytes) -> None:
    with atomic_file(path) as out:
        out.write(data.encode("utf-8") if isinstance(data, str) else data)
