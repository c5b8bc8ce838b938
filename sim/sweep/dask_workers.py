"""Chunks answered by the workers of a Dask cluster that runs already."""
from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any, Iterator

from chunks import Chunk
from records import InputError

CHUNK_S = 5.0  # longer than on one machine: a task costs a round trip
CONNECT_S = 10
MOST_ERROR = 200  # letters
SENT = ("rows.py", "batch_process.py", "identity.py", "dask_task.py")  # in the order in which they need each other
ADDRESS = re.compile(r"[a-z]+://\S+:\d+")


class ClusterGone(Exception):
    """The cluster has not done what it was asked; what is done stays done."""


class DaskWorkers:
    def __init__(self, address: str, program: str, data_dir: str, identity: dict[str, str]):
        try:
            from distributed import Client
        except ImportError:
            raise InputError("--scheduler: needs the Python package distributed: run .ci/prepare") from None
        if not ADDRESS.fullmatch(address):
            raise InputError(f"--scheduler: '{address}' is no address of a Dask scheduler: write tcp://HOST:PORT")
        for name in ("distributed", "tornado", "asyncio"):  # what matters is said in one line here
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"--scheduler: {address}: no Dask scheduler answers: {error or type(error).__name__}") from None
        for name in SENT:
            self._client.upload_file(str(Path(__file__).resolve().parent / name))
        self._setup = {"program": program, "data_dir": data_dir, "identity": identity}
        self._futures: set = set()
        self.jobs = max(1, sum(self._client.nthreads().values()))

    def _submit(self, chunk: Chunk):
        import dask_task
        future = self._client.submit(dask_task.run, self._setup, chunk, CHUNK_S, pure=False)
        self._futures.add(future)
        return future

    def _result(self, future) -> list[tuple[int, dict[str, Any]]]:
        import dask_task
        try:
            return future.result()
        except dask_task.OtherLinkcast as error:
            raise InputError(f"--scheduler: {error}") from None
        except Exception as error:  # Dask has many, and passes on those of its workers
            raise ClusterGone(f"{type(error).__name__}: {error}"[:MOST_ERROR]) from None

    def rows(self, chunks: list[Chunk]) -> Iterator[tuple[int, dict[str, Any]] | None]:
        """Numbers and rows as they come; None where a chunk ends."""
        from distributed import as_completed
        asked = {self._submit(chunk): chunk for chunk in chunks}
        completed = as_completed(list(asked), loop=self._client.loop)
        for future in completed:
            chunk = asked.pop(future)
            rows = self._result(future)
            self._futures.discard(future)
            yield from rows
            yield None
            if len(rows) < len(chunk):
                rest = self._submit(chunk[len(rows):])
                asked[rest] = chunk[len(rows):]
                completed.add(rest)

    def left(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """What has come back before a stop and was not yet taken."""
        for future in self._futures:
            if future.status == "finished":
                yield from future.result()

    def stop(self) -> None:
        """Takes back what is not begun, ends the processes on the workers, and leaves the cluster as it was."""
        import dask_task
        try:
            if self._client.status == "running":
                self._client.cancel(list(self._futures))
                self._client.run(dask_task.end_all)
            self._client.close()
        except Exception as error:  # the cluster may be gone: nothing is lost by it
            print(f"warning: --scheduler: {error}", file=sys.stderr)
