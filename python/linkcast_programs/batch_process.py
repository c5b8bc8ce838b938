"""A `linkcast predict --batch` that lives as long as there are questions: it keeps platforms and communicators that it has
built. And which linkcast and which data it answers from: two parts of one table must come from the same."""
import hashlib
import json
import os
import select
import subprocess
import time
from itertools import islice
from pathlib import Path

MOST_WAITING_B = 16384  # a quarter of what a pipe holds on Linux, so that asking never waits for an answer to be read
MOST_AHEAD = 256
FAST_S = 0.02  # so long answers are gathered
READ_B = 65536
BLOCK = 1024  # questions that are made at once
DATA = ("topologies/*.json", "models/params/*.json", "apps-traces/samples/*")
ERROR = b'"error":'  # of a row: in a text the quotes would be escaped


class Died(Exception):
    """The process ended while it had questions."""


def _that_fit(lines):
    """The first ones, at least one, that a pipe holds."""
    size, count = 0, 0
    for line in lines:
        size += len(line)  # JSON of json.dumps, in ASCII
        if count and size > MOST_WAITING_B:
            break
        count += 1
    return lines[:count]


class BatchProcess:
    def __init__(self, program, data_dir, rows=False):
        """@param rows  of each answer what goes into a table"""
        self.made_from = (program, data_dir)
        # A session of its own: Ctrl-C of the terminal is for the sweep, which ends its processes itself.
        self._process = subprocess.Popen([program, "--data-dir", data_dir, "predict", "--batch", "-", *["--rows"] * rows],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         start_new_session=True, bufsize=0)
        self._rest = b""

    def _write(self, lines):
        data = memoryview("".join(line + "\n" for line in lines).encode())
        try:
            while data:
                data = data[self._process.stdin.write(data):]
        except OSError:
            pass  # it died, which reading sees

    def _read(self, most):
        """Whole lines, at least one: so many, or those that come soon. @raises Died"""
        until, lines = time.monotonic() + FAST_S, []
        while not lines or (len(lines) < most and select.select([self._process.stdout], [], [], max(0, until - time.monotonic()))[0]):
            data = os.read(self._process.stdout.fileno(), READ_B)
            if not data and not lines:
                raise Died(self._process.wait())
            if not data:
                break
            *come, self._rest = (self._rest + data).split(b"\n")
            lines += come
        return lines

    def answers(self, lines, until):
        """Lists of answers, each a line of JSON, in order; no more questions are put after the time `until`.

        @raises Died  as soon as an answer is missing"""
        asked = answered = 0
        ahead = 1  # questions that wait while another is answered: more while answers come fast
        while asked == 0 or answered < asked or (asked < len(lines) and time.monotonic() < until):
            if asked < len(lines) and asked - answered <= ahead // 2 and (asked == 0 or time.monotonic() < until):
                more = _that_fit(lines[asked:answered + ahead])
                self._write(more)
                asked += len(more)
            begin = time.monotonic()
            come = self._read(asked - answered - ahead // 2)
            answered += len(come)
            ahead = min(2 * ahead, MOST_AHEAD) if time.monotonic() - begin < FAST_S else 1
            yield come

    def kill(self):
        self._process.kill()
        self._process.wait()

    def close(self):
        """No more questions: it ends by itself."""
        try:
            self._process.stdin.close()
        except OSError:
            pass
        self._process.stdout.close()
        self._process.wait()


def _how(status):
    return f"signal {-status}" if status < 0 else f"exit code {status}"


def answer_chunk(start, process, chunk, questions, seconds, on_rows):
    """Asks in order, for so many seconds but at least one question, and hands on numbers and rows as they come.

    A scenario on which the process dies is asked once more of a new one.
    @param start  makes a BatchProcess of rows. @param chunk  numbers. @param questions  an iterator of as many lines
    @param on_rows  ([number], [line of JSON])
    @returns  how many were asked, and the process, with all that it has built"""
    done, again, until = 0, -1, time.monotonic() + seconds
    while done < len(chunk) and (done == 0 or time.monotonic() < until):
        numbers = list(map(int, chunk[done:done + BLOCK]))
        lines = list(islice(questions, len(numbers)))
        at = 0
        while at < len(numbers) and (done + at == 0 or time.monotonic() < until):
            process = process or start()
            try:
                for rows in process.answers(lines[at:at + 1] if again == done + at else lines[at:], until):
                    on_rows(numbers[at:at + len(rows)], rows)
                    at += len(rows)
            except Died as died:
                process = process.kill()
                if again == done + at:
                    row = {"error": f"linkcast ended with {_how(died.args[0])}, twice", "crashed": True}
                    on_rows(numbers[at:at + 1], [json.dumps(row, separators=(",", ":")).encode()])
                    at += 1
                else:
                    again = done + at
        done += at
        if at < len(numbers):
            break
    return done, process


def sha256_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def identity_of(program, data_dir):
    """Version, and digests of program and data, as this machine sees them."""
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    data = [path for pattern in DATA for path in sorted(Path(data_dir).glob(pattern)) if path.is_file()]
    return {"linkcast": version, "program_sha256": sha256_of([Path(program)]), "data_sha256": sha256_of(data)}
