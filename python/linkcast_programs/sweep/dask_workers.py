"""Chunks answered by the workers of a Dask cluster that runs already."""
from __future__ import annotations

import logging
import re
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any, Iterator
from zipfile import ZipFile

from ..records import InputError
from . import dask_task
from .journal import Part
from .progress import ClusterGone
from .study import Chunk, Study

CHUNK_S = 5.0  # longer than on one machine: a task costs a round trip
CONNECT_S = 10
MOST_ERROR = 200  # letters
PACKAGE = Path(__file__).resolve().parents[1]
SENT = ("*.py", "sweep/*.py")  # of the package, all that dask_task imports
PARTS = "parts"  # in the folder of the results
AHEAD = 3  # chunks a worker that wait at the scheduler, so that none is idle
ADDRESS = re.compile(r"[a-z]+://\S+:\d+")


def _send(client: Any) -> None:
    """Gives the package to every worker, as an archive that Python imports from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{PACKAGE.name}.zip"
        with ZipFile(path, "w", strict_timestamps=False) as archive:
            for file in (file for pattern in SENT for file in PACKAGE.glob(pattern)):
                archive.write(file, file.relative_to(PACKAGE.parent))
        client.upload_file(str(path))


class DaskWorkers:
    def __init__(self, address: str, study: Study, folder: Path, program: str, data_dir: str, identity: dict[str, str]):
        try:
            from distributed import Client
        except ImportError:
            raise InputError("--scheduler: needs the Python package distributed: pip install distributed, or .ci/prepare in a checkout") from None
        if not ADDRESS.fullmatch(address):
            raise InputError(f"--scheduler: '{address}' is no address of a Dask scheduler: write tcp://HOST:PORT")
        for name in ("distributed", "tornado", "asyncio"):  # what matters is said in one line here
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"--scheduler: {address}: no Dask scheduler answers: {error or type(error).__name__}") from None
        _send(self._client)
        parts = (folder / PARTS).resolve()
        parts.mkdir(parents=True, exist_ok=True)
        self._study = study
        setup = {"program": program, "data_dir": data_dir, "identity": identity, "parts": str(parts), "study": study.digest,
                 "base": study.base, "axes": [(axis.key, axis.values) for axis in study.axes]}
        self._setup = self._client.scatter(setup, broadcast=True)
        self._asked: dict = {}
        self.jobs = max(1, sum(self._client.nthreads().values()))

    def _submit(self, chunk: Chunk):
        positions = self._study.scenarios.positions(chunk).astype("int32")
        future = self._client.submit(dask_task.run, self._setup, chunk, positions, CHUNK_S, pure=False)
        self._asked[future] = chunk
        return future

    def _result(self, future) -> Part:
        try:
            done, name, offsets, errors = future.result()
            return Part(f"{PARTS}/{name}", self._asked[future][:done], offsets, errors)
        except dask_task.OtherLinkcast as error:
            raise InputError(f"--scheduler: {error}") from None
        except Exception as error:  # Dask has many, and passes on those of its workers
            raise ClusterGone(f"{type(error).__name__}: {error}"[:MOST_ERROR]) from None

    def rows(self, chunks: list[Chunk]) -> Iterator[Part | None]:
        """What workers wrote, as it comes; None where a chunk ends. A few chunks a worker wait at the scheduler."""
        from distributed import as_completed
        waiting = iter(chunks)
        first = [self._submit(chunk) for chunk in islice(waiting, AHEAD * self.jobs)]
        completed = as_completed(first, loop=self._client.loop)
        for future in completed:
            part = self._result(future)
            chunk = self._asked.pop(future)
            yield part
            yield None
            rest = chunk[len(part.numbers):]
            if len(rest):
                completed.add(self._submit(rest))
            elif (chunk := next(waiting, None)) is not None:
                completed.add(self._submit(chunk))

    def left(self) -> Iterator[Part]:
        """What has come back before a stop and was not yet taken."""
        for future in list(self._asked):
            if future.status == "finished":
                yield self._result(future)

    def stop(self) -> None:
        """Takes back what is not begun, ends the processes on the workers, and leaves the cluster as it was."""
        try:
            if self._client.status == "running":
                self._client.cancel(list(self._asked))
                self._client.run(dask_task.end_all)
            self._client.close()
        except Exception as error:  # the cluster may be gone: nothing is lost by it
            print(f"warning: --scheduler: {error}", file=sys.stderr)
