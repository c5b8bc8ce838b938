"""Chunks answered on this machine: a linkcast process for each worker, and a thread that talks to it."""
from __future__ import annotations

import queue
import threading
from collections import deque
from typing import Iterator

from ..batch_process import BatchProcess, answer_chunk
from .journal import Rows
from .study import Chunk, Study, questions_of

CHUNK_S = 1.0  # then what is done is put onto the disk and another worker may take the rest


class _Stopped(Exception):
    pass


def _next(waiting: deque[Chunk]) -> Chunk | None:
    try:
        return waiting.popleft()
    except IndexError:
        return None


class LocalWorkers:
    def __init__(self, study: Study, program: str, data_dir: str, jobs: int):
        self._study, self._made_from, self.jobs = study, (program, data_dir), jobs
        self._live: set[BatchProcess] = set()
        self._lock, self._stop = threading.Lock(), False
        self._events: queue.SimpleQueue = queue.SimpleQueue()

    def rows(self, chunks: list[Chunk]) -> Iterator[Rows | None]:
        """As they come; None where a chunk ends."""
        waiting = deque(chunks)
        threads = [threading.Thread(target=self._work, args=(waiting,)) for _ in range(min(self.jobs, len(chunks)))]
        for thread in threads:
            thread.start()
        running = len(threads)
        try:
            while running:
                event = self._events.get()
                if isinstance(event, BaseException):
                    raise event
                if event == "end":
                    running -= 1
                else:
                    yield event
        finally:
            self.stop()
            for thread in threads:
                thread.join()

    def left(self) -> Iterator[Rows]:
        """What was answered before a stop and not yet taken."""
        while not self._events.empty():
            event = self._events.get()
            if isinstance(event, Rows):
                yield event

    def stop(self) -> None:
        """Ends every process at once; what they were asked stays unanswered."""
        with self._lock:
            self._stop = True
            for process in self._live:
                process.kill()
            self._live.clear()

    def _start(self) -> BatchProcess:
        with self._lock:
            if self._stop:
                raise _Stopped
            process = BatchProcess(*self._made_from, rows=True)
            self._live.add(process)
            return process

    def _work(self, waiting: deque[Chunk]) -> None:
        process = None
        try:
            while (chunk := _next(waiting)) is not None:
                done, process = answer_chunk(self._start, process, chunk, questions_of(self._study, chunk), CHUNK_S,
                                             lambda *rows: self._events.put(Rows(*rows)))
                if done < len(chunk):
                    waiting.appendleft(chunk[done:])
                self._events.put(None)
            self._events.put("end")
        except _Stopped:
            self._events.put("end")
        except BaseException as error:  # told to the main thread
            self._events.put(error)
