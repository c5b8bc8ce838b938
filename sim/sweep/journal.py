"""The journal of a study: a header, then one line of JSON a finished scenario. Lines are only ever added."""
from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from records import InputError

SCHEMA = "linkcast/journal/1"
NAMES = {"study": "another study", "linkcast": "another version of linkcast", "program_sha256": "another build of linkcast",
         "data_sha256": "other topologies, parameters or traces", "files": "other contents of the files that it names"}


class Journal:
    """Open for one sweep at a time. `rows` are those of the scenarios that are done."""

    def __init__(self, path: Path, header: dict[str, Any], resume: bool):
        self.path, self.rows = path, {}
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
        whole = self._whole_lines()
        if not whole:
            self._write(header)
            self.sync()
            return
        self._check(whole[0], header)
        for line in whole[1:]:
            if not line["row"].get("crashed"):
                self.rows[line["scenario"]] = line["row"]
        if not resume:
            raise InputError(f"--out: {self.path}: holds {len(self.rows)} of {header['scenarios']} scenarios of this study: "
                             "--resume goes on, another --out starts afresh")

    def _whole_lines(self) -> list[dict[str, Any]]:
        """What a kill or a full disk has torn at the end is cut off."""
        self._file.seek(0)
        lines, end = [], 0
        for line in self._file:
            try:
                if not line.endswith(b"\n"):
                    break
                lines.append(json.loads(line))
            except ValueError:
                break
            end += len(line)
        if self._file.read(1) and lines:
            raise InputError(f"{self.path}: line {len(lines) + 1}: not JSON, and more lines follow: damaged")
        self._file.truncate(end)
        return lines

    def _check(self, found: dict[str, Any], header: dict[str, Any]) -> None:
        if found.get("schema") != SCHEMA:
            raise InputError(f"--out: {self.path}: is no journal of a sweep ({SCHEMA})")
        other = [why for key, why in NAMES.items() if found.get(key) != header.get(key)]
        if other:
            raise InputError(f"--out: {self.path}: was written by {' and '.join(other)}: name another --out")

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def add(self, scenario: int, row: dict[str, Any]) -> None:
        if scenario not in self.rows:
            self._write({"scenario": scenario, "row": row})
            self.rows[scenario] = row

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.flush()
        self.sync()
        self._file.close()
