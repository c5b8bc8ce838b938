"""The journal of a study: a header, then a line of JSON a finished scenario, or one that names a part, a file with such lines.
Lines are only ever added."""
from __future__ import annotations

import fcntl
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from ..batch_process import ERROR
from ..records import InputError

SCHEMA = "linkcast/journal/2"
EARLIER = ("linkcast/journal/1",)  # without checksums
NAMES = {"study": "another study", "linkcast": "another version of linkcast", "program_sha256": "another build of linkcast",
         "data_sha256": "other topologies, parameters or traces", "files": "other contents of the files that it names"}
LINE = re.compile(rb'\{"scenario":(\d{1,9}),"crc32":(\d{1,10}),"row":(.*)\}\n', re.S)
CRASHED = b'"crashed":true'
BEGIN = b'{"name":'  # of a header
PART = b'{"part":'


def journal_lines(numbers: Iterable[int], rows: Iterable[bytes]) -> list[bytes]:
    """The checksum is of the row, and begins with the scenario's number."""
    return [b'{"scenario":%d,"crc32":%d,"row":%b}\n' % (number, crc32(row, number), row) for number, row in zip(numbers, rows)]


def read_line(line: bytes) -> tuple[int, bytes]:
    """@returns  scenario, row. @raises ValueError  what it is not"""
    match = LINE.fullmatch(line)
    if not match:
        raise ValueError("is no line of this journal")
    number = int(match[1])
    if crc32(match[3], number) != int(match[2]):
        raise ValueError("its checksum does not fit: bytes were changed")
    return number, match[3]


def offsets_of(lines: list[bytes]) -> np.ndarray:
    """Where each begins."""
    lengths = np.fromiter(map(len, lines), dtype=np.int64, count=len(lines))
    return np.cumsum(lengths) - lengths


@dataclass
class Rows:
    """Answers: a line of JSON each."""
    numbers: list[int]
    rows: list[bytes]

    def errors(self) -> int:
        return b"\n".join(self.rows).count(ERROR)


@dataclass
class Part:
    """A file with answers, beside the journal."""
    name: str
    numbers: np.ndarray
    offsets: list[int]  # of their lines
    error_count: int

    def errors(self) -> int:
        return self.error_count


class Journal:
    """Open for one sweep at a time. Keeps in memory where each scenario's line is, not what it says."""

    def __init__(self, path: Path, header: dict[str, Any], resume: bool):
        self.path = path
        self._files = [path.name]
        self._file_of = np.full(header["scenarios"], -1, dtype=np.int32)
        self._offset = np.zeros(header["scenarios"], dtype=np.int64)
        self._file = self._open()
        try:
            self._read(header | {"schema": SCHEMA}, resume)
        except BaseException:
            self._file.close()
            raise

    def _open(self):
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = open(self.path, "a+b")
        except OSError as error:
            raise InputError(f"--out: {self.path}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InputError(f"--out: {self.path}: another sweep is writing here") from None
        return file

    def _read(self, header: dict[str, Any], resume: bool) -> None:
        damaged: list[str] = []
        for number, begin, line in self._whole_lines():
            if number == 1:
                self._check(line, header)
                continue
            try:
                if line.startswith(PART):
                    part = json.loads(line)
                    damaged += self._read_part(part["part"], part["scenarios"])
                else:
                    scenario, row = self._read_row(line)
                    if CRASHED not in row:
                        self._place([scenario], 0, [begin])
            except (KeyError, TypeError):
                damaged.append(f"{self.path}: line {number}: names no part")
            except ValueError as error:
                damaged.append(f"{self.path}: line {number}: {error}")
        if not self._file.tell():
            self._write(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            self.sync()
        elif not resume:
            raise InputError(f"--out: {self.path}: holds {self.done()} of {header['scenarios']} scenarios of this study: "
                             "--resume goes on, another --out starts afresh")
        elif damaged:
            print(f"warning: {damaged[0]}: damaged: answered again" + (f", and so are {len(damaged) - 1} more" if len(damaged) > 1 else ""),
                  file=sys.stderr)

    def _whole_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Number, place and bytes of each. What a kill or a full disk has torn at the end of a journal is cut off."""
        self._file.seek(0)
        end = 0
        for number, line in enumerate(iter(self._file.readline, b""), 1):
            if not line.endswith(b"\n"):
                if number == 1 and not BEGIN.startswith(line[:len(BEGIN)]):
                    self._check(line, {})
                self._file.truncate(end)
                self._file.seek(end)
                return
            yield number, end, line
            end += len(line)

    def _read_row(self, line: bytes) -> tuple[int, bytes]:
        """@raises ValueError  as read_line(), or the scenario is of another study"""
        scenario, row = read_line(line)
        if scenario >= len(self._file_of):
            raise ValueError(f"scenario {scenario} of {len(self._file_of)}")
        return scenario, row

    def _check(self, line: bytes, header: dict[str, Any]) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = {}
        if not isinstance(found, dict) or found.get("schema") not in (SCHEMA, *EARLIER):
            raise InputError(f"--out: {self.path}: is no journal of a sweep ({SCHEMA})")
        if found["schema"] in EARLIER:
            raise InputError(f"--out: {self.path}: was written by an earlier version of linkcast, without checksums: name another --out")
        other = [why for key, why in NAMES.items() if found.get(key) != header.get(key)]
        if other:
            raise InputError(f"--out: {self.path}: was written by {' and '.join(other)}: name another --out")

    def _read_part(self, name: str, scenarios: int) -> list[str]:
        """Of an earlier run: what crashed is asked again. @returns  what of it is gone, or damaged"""
        path, numbers, offsets, at, lines = self.path.parent / name, [], [], 0, 0
        damaged = []
        try:
            with open(path, "rb") as file:
                for lines, line in enumerate(file, 1):
                    try:
                        number, row = self._read_row(line)
                        if CRASHED not in row:
                            numbers.append(number)
                            offsets.append(at)
                    except ValueError as error:
                        damaged.append(f"{path}: line {lines}: {error}")
                    at += len(line)
        except OSError as error:
            return [f"{path}: cannot be read: {error.strerror}"]
        if lines != scenarios:
            damaged.append(f"{path}: has {lines} lines, {scenarios} were written")
        if numbers:
            self._files.append(name)
            self._place(numbers, len(self._files) - 1, offsets)
        return damaged

    def _place(self, numbers: list[int] | np.ndarray, file: int, offsets: list[int] | np.ndarray) -> None:
        self._file_of[numbers] = file
        self._offset[numbers] = offsets

    def _write(self, data: bytes) -> None:
        with self._disk():
            self._file.write(data)
            self._file.flush()

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """@raises InputError  the disk is full, or gone: what was written before stays"""
        try:
            yield
        except OSError as error:
            raise InputError(f"--out: {self.path}: cannot be written: {error.strerror}: what is done is kept, "
                             "and --resume goes on") from None

    def add(self, come: Rows | Part) -> None:
        if isinstance(come, Part):
            self._write(json.dumps({"part": come.name, "scenarios": len(come.numbers)}).encode() + b"\n")
            self._files.append(come.name)
            self._place(come.numbers, len(self._files) - 1, come.offsets)
            return
        lines = journal_lines(come.numbers, come.rows)
        start = self._file.tell()
        self._write(b"".join(lines))
        self._place(come.numbers, 0, start + offsets_of(lines))

    def is_done(self) -> np.ndarray:
        """A flag a scenario."""
        return self._file_of >= 0

    def done(self) -> int:
        return int(np.count_nonzero(self._file_of >= 0))

    def places(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Files, and of each scenario where its line begins and which of them has it."""
        return [str(self.path.parent / name) for name in self._files], self._offset, self._file_of

    def sync(self) -> None:
        with self._disk():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        try:
            with self._disk():
                self._file.flush()
            self.sync()
        finally:
            with suppress(OSError):  # said above
                self._file.close()
