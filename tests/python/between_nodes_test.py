#!/usr/bin/env python3
"""What works in a node works between nodes: multicast by NVSwitch, and what limits an operation, against closed forms."""
import json
import unittest

from program import InFolder, main, run
from program import device_answers as answers

MIB = 1 << 20
# One switch with the ports of the nodes' NICs. source of the rate: NDR, 400 Gb/s
SWITCH = ("fabric single_switch:nodes=8,radix=80,routing=minimal,source=test,links.host.cable=ib_ndr,"
          "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test")
NIC_BPS = 50e9


def ask(**more: object) -> dict:
    return answers([{"id": "x", "kind": "collective", "platform": "hgx-h100", "edits": [SWITCH], "op": "all_reduce",
                     "gpus_per_node": 8, "size_B": 512 * MIB, **more}])[0]


class Multicast(unittest.TestCase):
    def test_a_nic_carries_its_part_once_up_and_once_down(self):
        """Half of a part on each of two trees: a node is inside one, where it has two children, and a leaf of the other."""
        for nodes in (4, 8):
            found = ask(nodes=nodes, algorithm="nvls_tree")
            part = 512 * MIB / 8
            flow = found["time_s"] - found["latency_s"]
            self.assertAlmostEqual(flow / (2 * part / NIC_BPS), 1, delta=0.01, msg=found["bottleneck"])
            self.assertEqual((found["algorithm"], found["channels"]), ("nvls_tree", [[head] for head in range(8)]))

    def test_two_nodes_are_limited_inside(self):
        """A part goes over each NIC once, which is less than what the links inside carry: the time of the bytes is the node's."""
        between, inside = ask(nodes=2, algorithm="nvls_tree"), ask(nodes=1, algorithm="nvls")
        flows = [one["time_s"] - one["latency_s"] for one in (between, inside)]
        self.assertLess(abs(flows[0] / flows[1] - 1), 1e-9)

    def test_start_up_is_that_of_the_library(self):
        """source: models/libraries/SOURCES.md, 25 us and 14 us a hop up and down the tree, from 2.22 on."""
        for nodes, hops in ((2, 1), (4, 2), (8, 3)):
            found = ask(nodes=nodes, algorithm="nvls_tree", library="nccl-2.22")
            self.assertAlmostEqual(found["latency_s"], 25e-6 + 2 * hops * 14e-6, delta=1e-9)

    def test_it_is_taken_only_where_the_machine_offers_it(self):
        names = [one["algorithm"] for one in ask(nodes=4, alternatives=True)["alternatives"]]
        self.assertNotIn("nvls_tree", names)
        offered = ask(nodes=4, alternatives=True, nvls=True)
        self.assertIn("nvls_tree", [offered["algorithm"], *[one["algorithm"] for one in offered["alternatives"]]])

    def test_its_interval_is_wider_than_that_of_a_node(self):
        between, inside = ask(nodes=2, algorithm="nvls_tree"), ask(nodes=1, algorithm="nvls")
        widths = [one["time_high_s"] / one["time_low_s"] for one in (between, inside)]
        self.assertGreater(widths[0], widths[1])

    def test_it_shares_links_with_others(self):
        other = {"op": "all_reduce", "gpus": list(range(8)), "size_B": 512 * MIB}
        both = ask(nodes=4, algorithm="nvls_tree", **{"with": [other]})
        self.assertGreater(both["slowdown"], 1.1)
        self.assertLessEqual(both["slowdown"], 2 + 1e-9)

    def test_refusals(self):
        for query, what in (({"nodes": 4, "algorithm": "nvls"}, "reduces in the switches of the fabric"),
                            ({"nodes": 1, "algorithm": "nvls_tree"}, "is between nodes"),
                            ({"nodes": 4, "algorithm": "nvls_tree", "library": "nccl-2.12"}, "has no nvls_tree"),
                            ({"nodes": 4, "algorithm": "nvls_tree", "op": "all_gather"}, "has no nvls_tree")):
            error = ask(**query).get("error", "")
            self.assertIn(what, error)
            self.assertNotIn("\n", error)


class StagedMessages(InFolder):
    """A library that copies every buffer through host memory does so for a message of a trace as well."""

    MESSAGE = [{"schema": "trace/1", "name": "message", "ranks": 2, "source": "by this test"},
               {"rank": 0, "kind": "send", "stream": "a", "peer": 1, "size_B": 64 * MIB},
               {"rank": 1, "kind": "recv", "stream": "a", "peer": 0, "size_B": 64 * MIB}]

    def replayed(self, *options: str) -> float:
        path = self.write("message.jsonl", "".join(json.dumps(line) + "\n" for line in self.MESSAGE))
        result = run("replay", path, "-p", "leonardo", "--library", "mpi-staged", "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["time_s"]

    def test_a_message_is_a_broadcast_of_two_ranks(self):
        call = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "broadcast", "size_B": 64 * MIB,
                "library": "mpi-staged"}
        for options, place in (((), {"gpus": [0, 1]}), (("--nodes", "2", "--gpus-per-node", "1"), {"nodes": 2, "gpus_per_node": 1})):
            predicted = answers([{**call, **place}])[0]
            self.assertLess(abs(self.replayed(*options) / predicted["time_s"] - 1), 1e-9, place)

    def test_the_roots_copy_and_those_of_the_others_follow_each_other(self):
        """Between nodes as in a node: down at the root, then up at the others, over one kind of link."""
        staging = [answers([{"id": "x", "kind": "collective", "platform": "leonardo", "op": "broadcast",
                             "size_B": 64 * MIB, "library": "mpi-staged", **place}])[0]["staging_s"]
                   for place in ({"gpus": [0, 1]}, {"nodes": 2, "gpus_per_node": 1})]
        self.assertLess(abs(staging[1] / staging[0] - 1), 1e-9)


class Alternatives(unittest.TestCase):
    def test_they_are_forecast_alone(self):
        for more in ({"noise": 1}, {"beside": [{"op": "incast", "nodes": 2}]}, {"with": [{"op": "all_reduce", "gpus": [0, 1], "size_B": MIB}]}):
            for library in ("nccl-2.18", "mpi-openmpi"):
                found = answers([{"id": "x", "kind": "collective", "platform": "leonardo", "op": "all_reduce", "nodes": 2,
                                  "gpus_per_node": 4, "size_B": MIB, "library": library, "alternatives": True, **more}])[0]
                self.assertIn("/alternatives: are forecast alone", found.get("error", ""), more)


class Limits(unittest.TestCase):
    def test_what_limits_is_named_where_no_link_does(self):
        """hgx-h200: what a thread block moves was measured."""
        def of(**more):
            return answers([{"id": "x", "kind": "collective", "platform": "hgx-h200", "op": "all_reduce", "gpus": [0, 1], **more}])[0]

        small = of(size_B=8)
        self.assertEqual((small["bottleneck"], small["limited_by"]), ([], "start-up"))
        slow = of(size_B=MIB, protocol="LL")
        self.assertEqual((slow["bottleneck"], slow["limited_by"]), ([], "thread blocks"))
        large = of(size_B=1024 * MIB, algorithm="nvls", gpus=[0, 1, 2, 3])
        self.assertNotEqual(large["bottleneck"], [])
        self.assertNotIn("limited_by", large)


if __name__ == "__main__":
    main()
