"""What a Dask worker does: it keeps linkcast processes between tasks, one for each of its threads that asks."""
import threading

from batch_process import BatchProcess, answer_chunk
from identity import identity_of

_idle, _live, _checked, _lock = {}, set(), {}, threading.Lock()


class OtherLinkcast(Exception):
    """The worker sees another program or other data than the sweep."""


def _check(setup):
    place = (setup["program"], setup["data_dir"])
    if place not in _checked:
        _checked[place] = identity_of(*place)
    if _checked[place] != setup["identity"]:
        raise OtherLinkcast(f"a Dask worker has another linkcast or other data at {place[0]}, {place[1]}: all need the same")
    return place


def run(setup, chunk, seconds):
    """Rows of the first scenarios of a chunk."""
    place = _check(setup)

    def start():
        process = BatchProcess(*place)
        with _lock:
            _live.add(process)
        return process

    with _lock:
        process = _idle[place].pop() if _idle.get(place) else None
    rows = []
    _, process = answer_chunk(start, process, chunk, seconds, lambda *row: rows.append(row))
    if process:
        with _lock:
            _idle.setdefault(place, []).append(process)
    return rows


def end_all():
    """Ends all processes at once, also those that answer."""
    with _lock:
        for process in _live:
            process.kill()
        _live.clear()
        _idle.clear()
