"""What a Dask worker does: it keeps linkcast processes between tasks, one for each of its threads that asks, and writes what
they answer into a folder that the sweep sees too."""
import os
import threading
import uuid

from ..batch_process import ERROR, BatchProcess, answer_chunk, identity_of
from .journal import journal_lines, offsets_of
from .scenarios import Lines

_idle, _live, _checked, _lines, _lock = {}, set(), {}, {}, threading.Lock()


class OtherLinkcast(Exception):
    """The worker sees another program or other data than the sweep, or not its folder."""


def _check(setup):
    place = (setup["program"], setup["data_dir"])
    if place not in _checked:
        _checked[place] = identity_of(*place)
    if _checked[place] != setup["identity"]:
        raise OtherLinkcast(f"a Dask worker has another linkcast or other data at {place[0]}, {place[1]}: all need the same")
    if not os.path.isdir(setup["parts"]):
        raise OtherLinkcast(f"a Dask worker does not see {setup['parts']}: --out must be on a file system that all share")
    return place


def _put(setup, data):
    """Under a name that is new; it stands there whole or not at all."""
    name = uuid.uuid4().hex
    draft, path = (os.path.join(setup["parts"], name + end) for end in (".draft", ".jsonl"))
    with open(draft, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)
    return os.path.basename(path)


def run(setup, numbers, positions, seconds):
    """Answers the first scenarios of a chunk.

    @returns  how many, the name of the part with them, where their lines begin in it, how many are errors"""
    place = _check(setup)

    def start():
        process = BatchProcess(*place, rows=True)
        with _lock:
            _live.add(process)
        return process

    with _lock:
        process = _idle[place].pop() if _idle.get(place) else None
        lines = _lines.setdefault(setup["study"], Lines(setup["base"], setup["axes"]))
    data, offsets, end, errors = [], [], 0, 0

    def take(done, rows):
        nonlocal end, errors
        lines = journal_lines(done, rows)
        offsets.extend((end + offsets_of(lines)).tolist())
        end += sum(map(len, lines))
        data.extend(lines)
        errors += sum(row.count(ERROR) for row in rows)

    done, process = answer_chunk(start, process, numbers, lines.lines(positions), seconds, take)
    if process:
        with _lock:
            _idle.setdefault(place, []).append(process)
    return done, _put(setup, b"".join(data)), offsets, errors


def end_all():
    """Ends all processes at once, also those that answer."""
    with _lock:
        for process in _live:
            process.kill()
        _live.clear()
        _idle.clear()
