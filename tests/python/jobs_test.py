#!/usr/bin/env python3
"""Several threads give what one gives: batches of every kind of question, and claims."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import many_queries  # noqa: E402
import program  # noqa: E402
from program import run  # noqa: E402

REPLAYS = ('{"kind":"replay","platform":"gx8","trace":"alexnet","options":{"gpus":4}}\n'
           '{"kind":"replay","platform":"hgx-h200","trace":"data_parallel","options":{"steps":3}}\n') * 8
NOISE = '{"kind":"collective","platform":"leonardo","nodes":16,"op":"alltoall","size_B":1048576,"noise":1,"samples":5}\n' * 8
CLAIMS = ("--class", "collective")


class Jobs(program.InFolder):
    def test_batch(self):
        lines = "".join(many_queries.lines(kind, 8 if kind == "place" else 100) for kind in many_queries.KINDS)
        path = self.write("batch.jsonl", lines + REPLAYS + NOISE)
        one = run("predict", "--batch", path)
        self.assertEqual((one.returncode, one.stdout.count("\n")), (0, lines.count("\n") + 24), one.stderr)
        self.assertNotIn('"error"', one.stdout)
        for jobs in (2, 5):
            self.assertEqual(run("predict", "--batch", path, "--jobs", str(jobs)).stdout, one.stdout)

    def test_claims(self):
        one = run("validate", *CLAIMS, "--json")
        self.assertGreater(one.stdout.count('"id"'), 20)
        several = run("validate", *CLAIMS, "--json", "--jobs", "4")
        self.assertEqual((several.returncode, several.stdout), (one.returncode, one.stdout))


if __name__ == "__main__":
    program.main()
