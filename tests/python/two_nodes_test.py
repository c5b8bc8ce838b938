#!/usr/bin/env python3
"""Machines that people have, two of them: every command that crosses a network answers, and says what was not measured."""
import json
import unittest

from program import main, run

MACHINES = ("p100-dgx1", "v100-dgx1", "dgx2", "dgx-a100", "hgx-h100", "hgx-h200", "dgx-b200", "mi300x")


def ask(*words: str) -> dict:
    return json.loads(run(*words, "--json").stdout)


class TwoNodes(unittest.TestCase):
    def test_collectives_take_all_gpus_of_each_node(self) -> None:
        for machine in MACHINES:
            answer = ask("predict", "collective", "--platform", machine, "--nodes", "2", "--op", "all_reduce", "--size", "1GiB")
            self.assertLess(answer["time_low_s"], answer["time_s"], machine)
            self.assertLess(answer["time_s"], answer["time_high_s"], machine)

    def test_h100_says_that_its_network_was_not_measured(self) -> None:
        answer = ask("predict", "collective", "--platform", "hgx-h100", "--nodes", "2", "--op", "all_reduce", "--size", "1GiB")
        self.assertIn("nothing between nodes of hgx-h100 was measured", " ".join(answer["warnings"]))

    def test_fabrics_are_shown(self) -> None:
        for machine in MACHINES:
            self.assertGreaterEqual(ask("show", machine, "--fabric")["nodes"], 2, machine)


if __name__ == "__main__":
    main()
