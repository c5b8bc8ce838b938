"""A replay's result says what was asked, in words that a batch takes: asked again, the answer is the same."""
import json
import subprocess
import sys
import unittest

from program import PROGRAM


def run(*arguments: str, text: str = "") -> dict:
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def ask(query: dict) -> dict:
    return run("predict", "--batch", "/dev/stdin", text=json.dumps(query) + "\n")


class Rerun(unittest.TestCase):
    COMMANDS = (
        ["data_parallel", "--option", "ranks=4", "--platform", "hgx-h200"],
        ["data_parallel", "--option", "ranks=4", "--platform", "hgx-h200", "--repeat", "2", "--utilisation"],
        ["data_parallel", "--option", "ranks=4", "--platform", "hgx-h200", "--also", "tests/input/traces/same-moment.jsonl:5,6"],
    )
    BY_WAY = {"id", "kind", "traffic", "inputs"}  # a batch tells more

    def test_of_a_command(self):
        for command in self.COMMANDS:
            first = run("replay", *command, "--json")
            again = ask(first["inputs"]["query"])
            for key in set(first) | set(again) - self.BY_WAY:
                if key not in self.BY_WAY:
                    self.assertEqual(first.get(key), again.get(key), f"{command} {key}")

    def test_of_a_batch(self):
        for command in self.COMMANDS:
            first = ask(run("replay", *command, "--json")["inputs"]["query"])
            self.assertEqual(ask(first["inputs"]["query"]), first)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
