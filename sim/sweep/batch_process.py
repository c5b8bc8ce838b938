"""A `linkcast predict --batch` that lives as long as there are questions: it keeps platforms and communicators that it has
built. Needs no other file of linkcast but rows.py: Dask workers get both."""
import json
import subprocess
import time

from rows import error_row, row_of

MOST_WAITING_B = 16384  # a quarter of what a pipe holds on Linux, so that asking never waits for an answer to be read
MOST_AHEAD = 64
FAST_S = 0.02


class Died(Exception):
    """The process ended while it had questions."""


def _that_fit(lines):
    """The first ones, at least one, that a pipe holds."""
    size, count = 0, 0
    for line in lines:
        size += 4 * len(line)  # in UTF-8 at most
        if count and size > MOST_WAITING_B:
            break
        count += 1
    return lines[:count]


class BatchProcess:
    def __init__(self, program, data_dir):
        self.made_from = (program, data_dir)
        # A session of its own: Ctrl-C of the terminal is for the sweep, which ends its processes itself.
        self._process = subprocess.Popen([program, "--data-dir", data_dir, "predict", "--batch", "-"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

    def _write(self, lines):
        try:
            self._process.stdin.write(b"".join(line.encode() + b"\n" for line in lines))
            self._process.stdin.flush()
        except OSError:
            pass  # it died, which reading sees

    def answers(self, lines, until):
        """One answer a question, in order; no more questions are put after the time `until`.

        @raises Died  as soon as an answer is missing"""
        asked = answered = 0
        ahead = 1  # questions that wait while another is answered: more while answers come fast
        while asked == 0 or answered < asked or (asked < len(lines) and time.monotonic() < until):
            if asked < len(lines) and asked - answered <= ahead // 2 and (asked == 0 or time.monotonic() < until):
                more = _that_fit(lines[asked:answered + ahead])
                self._write(more)
                asked += len(more)
            begin = time.monotonic()
            line = self._process.stdout.readline()
            if not line.endswith(b"\n"):
                raise Died(self._process.wait())
            answered += 1
            ahead = min(2 * ahead, MOST_AHEAD) if time.monotonic() - begin < FAST_S else 1
            yield json.loads(line)

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


def _row(answer):
    return error_row(answer["error"]) if "error" in answer else row_of(answer)


def _how(status):
    return f"signal {-status}" if status < 0 else f"exit code {status}"


def answer_chunk(start, process, chunk, seconds, on_row):
    """Asks [(number, query as JSON)] in order, for so many seconds but at least one, and hands on number and row of each.

    A scenario on which the process dies is asked once more of a new one.
    @param start  makes a BatchProcess
    @returns  how many were asked, and the process, with all that it has built"""
    done, again, until = 0, -1, time.monotonic() + seconds
    while done < len(chunk) and (done == 0 or time.monotonic() < until):
        process = process or start()
        part = chunk[done:done + 1] if again == done else chunk[done:]
        try:
            for answer in process.answers([query for _, query in part], until):
                on_row(chunk[done][0], _row(answer))
                done += 1
        except Died as died:
            process = process.kill()
            if again == done:
                on_row(chunk[done][0], {"error": f"linkcast ended with {_how(died.args[0])}, twice", "crashed": True})
                done += 1
            else:
                again = done
    return done, process
