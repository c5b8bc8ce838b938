"""linkcast from Python: the program that the package ships, its batch mode as a function.

    >>> import linkcast
    >>> query = {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 2**26}
    >>> round(linkcast.predict(query)["bandwidth_Bps"] / 1e9, 1)
    18.4

Queries and answers are those of `linkcast predict --batch`: SI units, keys that end in their unit.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

__all__ = ["LinkcastError", "main", "predict", "program", "run"]


class LinkcastError(Exception):
    """What the program wrote to standard error, and its exit code (2: bad input)."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


def program() -> Path:
    """The program inside this package; in a checkout, the one in build/."""
    here = Path(__file__).absolute().parent
    for candidate in (here / "bin" / "linkcast", here.parents[1] / "build" / "linkcast"):
        if candidate.is_file():
            return candidate
    raise LinkcastError(f"no program in {here / 'bin'}: install the wheel, or build linkcast", 1)


def run(*arguments: object, text: str = "", fine: tuple[int, ...] = (0, 4)) -> str:
    """Standard output of `linkcast ARGUMENTS` with `text` as its input; a failed claim or comparison (4) is no error."""
    done = subprocess.run([str(program()), *map(str, arguments)], input=text, capture_output=True, text=True, check=False)
    if done.returncode not in fine:
        raise LinkcastError(done.stderr.strip() or done.stdout.strip(), done.returncode)
    return done.stdout


def predict(queries):
    """The answer to a query (a dict), or those to several, in their order.

    One query that cannot be answered raises LinkcastError; of several it is an answer {"id": ..., "error": ...}.
    """
    single = isinstance(queries, dict)
    lines = "".join(json.dumps(query) + "\n" for query in ([queries] if single else queries))
    answers = [json.loads(line) for line in run("predict", "--batch", "-", text=lines, fine=(0, 1)).splitlines()]
    if single and "error" in answers[0]:
        raise LinkcastError(answers[0]["error"], 2)
    return answers[0] if single else answers


def main() -> None:
    """The command `linkcast`: becomes the program."""
    path = str(program())
    os.execv(path, [path, *sys.argv[1:]])
