#!/usr/bin/env python3
"""What works in a node works between nodes: multicast by NVSwitch, and what limits an operation, against closed forms."""
import json
import unittest

from program import InFolder, device_answers as answers, main, run

MIB = 1 << 20
# One switch with the ports of the nodes' NICs. source of the rate: NDR, 400 Gb/s
SWITCH = ("fabric single_switch:nodes=8,radix=80,routing=minimal,source=test,links.host.cable=ib_ndr,"
          "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test")
NIC_BPS = 0.92 * 50e9  # what networks attain that nobody measured
GROWTH = 1.05  # with each doubling of more than two nodes, where nobody measured it


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
            grown = GROWTH if nodes == 4 else GROWTH**2
            self.assertAlmostEqual(flow / (grown * 2 * part / NIC_BPS), 1, delta=0.01, msg=found["bottleneck"])
            self.assertEqual((found["algorithm"], found["channels"]), ("nvls_tree", [[head] for head in range(8)]))

    def test_two_nodes_are_limited_inside(self):
        """A part goes over each NIC once, which is less than what the links inside carry: the time of the bytes is the node's."""
        between, inside = ask(nodes=2, algorithm="nvls_tree"), ask(nodes=1, algorithm="nvls")
        flows = [one["time_s"] - one["latency_s"] for one in (between, inside)]
        filled = 1 + 2 / 64  # of a node, whose stages wait for the first of 64 rounds; a tree's time has its hops instead
        self.assertLess(abs(flows[0] * filled / flows[1] - 1), 1e-9)

    def test_start_up_is_that_of_the_library(self):
        """source: models/libraries/SOURCES.md, 14 us a hop up and down the tree, from 2.22 on, and the base that a node has."""
        inside = ask(nodes=1, algorithm="nvls", library="nccl-2.22", size_B=8)  # one round, of either
        for nodes, hops in ((2, 1), (4, 2), (8, 3)):
            found = ask(nodes=nodes, algorithm="nvls_tree", library="nccl-2.22", size_B=8)
            self.assertAlmostEqual(found["latency_s"] - inside["latency_s"], 2 * hops * 14e-6, delta=1e-9)

    def test_it_is_looked_at_unless_it_is_left_out(self):
        names = [one["algorithm"] for one in ask(nodes=4, alternatives=True, nvls=False)["alternatives"]]
        self.assertNotIn("nvls_tree", names)
        offered = ask(nodes=4, alternatives=True)
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


class OneNode(unittest.TestCase):
    """Ends on one node are those of the node alone, whichever node it is; a message is asked for by its name."""

    def test_copies_are_copies_by_whatever_name(self):
        for platform, pair in (("leonardo", ("gpu0", "gpu1")), ("leonardo", ("gpu0", "cpu0")), ("lassen", ("gpu2", "gpu3")), ("alps", ("gpu0", "gpu1")),
                               ("lumi", ("gpu0", "gpu5")), ("summit", ("gpu0", "gpu4")), ("abci-a100", ("gpu3", "gpu3"))):
            of_node = [f"node3/{end}" for end in pair]
            base = {"id": "x", "platform": platform}
            for size in (4096, MIB):
                alone, copy = ({**base, "kind": "p2p", "src": a, "dst": b, "size_B": size, "timing": "single"} for a, b in (pair, of_node))
                flows = {**base, "kind": "flows", "flows": [[*of_node, size]]}
                ways = [{**base, "kind": "routes", "src": a, "dst": b, "size_B": size} for a, b in (pair, of_node)]
                found = answers([alone, copy, flows, *ways])
                for one in found:
                    self.assertNotIn("error", one)
                self.assertEqual((found[1]["time_s"], found[1]["transport"]), (found[0]["time_s"], found[0]["transport"]))
                self.assertEqual((found[2]["time_s"], found[2]["transports"]), (found[0]["time_s"], [found[0]["transport"]]))
                self.assertEqual([way["time_s"] for way in found[4]["routes"]], [way["time_s"] for way in found[3]["routes"]])
                self.assertEqual(found[1]["route"], [f"node3/{link}" for link in found[0]["route"]])

    def test_a_message_by_its_name(self):
        """Leonardo: 3.1 us was fitted to messages in a node (models/params)."""
        base = {"id": "x", "platform": "leonardo", "kind": "p2p", "src": "node1/gpu0", "dst": "node1/gpu1", "size_B": 8}
        flows = {"id": "x", "platform": "leonardo", "kind": "flows", "flows": [["node1/gpu0", "node1/gpu1", 8]], "transport": "mpi"}
        mpi, named, both = answers([{**base, "transport": "mpi"}, {**base, "transport": "mpi_socket"}, flows])
        self.assertEqual((mpi["transport"], both["transports"]), ("mpi_socket", ["mpi_socket"]))
        self.assertEqual((mpi["time_s"], both["time_s"]), (named["time_s"], named["time_s"]))
        self.assertAlmostEqual(mpi["time_s"], 3.1e-6, delta=0.05e-6)
        self.assertIn("is the device that sends", answers([{**base, "dst": "node1/gpu0", "transport": "mpi"}])[0]["error"])


class SlowCard(unittest.TestCase):
    """leonardo: 64 MiB are limited by the cable from the NIC to the fabric; apenet-plus: by the card's engine."""

    def asked(self, platform: str, edits: list[str], **more: object) -> dict:
        return answers([{"id": "x", "kind": "p2p", "platform": platform, "src": "node0/gpu0", "dst": "node1/gpu0", "size_B": 64 * MIB, "edits": edits,
                         **more}])[0]

    def moving(self, *args, **more) -> float:
        found = self.asked(*args, **more)
        return found["time_s"] - found["latency_s"]

    def test_its_cable_to_the_fabric_is_slow(self):
        for platform in ("leonardo", "alps"):
            whole = self.moving(platform, [])
            for factor in (2, 5):
                self.assertAlmostEqual(self.moving(platform, [f"slow nic0:{factor}"]) / whole, factor, delta=0.01 * factor)
            self.assertAlmostEqual(self.moving(platform, ["slow nic1:2"]) / whole, 1, delta=1e-9)

    def test_its_engine_is_slow(self):
        for timing in ("single", "back_to_back"):
            whole, slow = (self.asked("apenet-plus", edits, timing=timing)["time_s"] for edits in ([], ["slow nic0:3"]))
            self.assertAlmostEqual(slow / whole, 3, delta=0.05)

    def test_every_rail_by_itself(self):
        """An alltoall ends with the messages of the slow card, in both engines."""
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": 8, "gpus_per_node": 4, "size_B": 256 * MIB}
        for engine in ("direct", "reduced"):
            whole, slow = answers([{**query, "engine": engine, "edits": edits} for edits in ([], ["slow nic0:4"])])
            self.assertGreater(slow["time_s"] / whole["time_s"], 3)

    def test_scaled_links_between_nodes(self):
        half, named = self.asked("leonardo", ["scale ib_hdr100:0.5"]), self.asked("leonardo", [])
        self.assertAlmostEqual((half["time_s"] - half["latency_s"]) / (named["time_s"] - named["latency_s"]), 2, delta=0.01)
        self.assertIn("edit 'scale ib_hdr:2': no cable is of such a kind: one of ", self.asked("alps", ["scale ib_hdr:2"])["error"])
        fabric, before = answers([{"id": "x", "kind": "fabric", "platform": "leonardo", "edits": edits} for edits in (["scale ib:0.5"], [])])
        for one, other in zip(fabric["classes"], before["classes"], strict=True):
            self.assertEqual(one["bandwidth_Bps"], other["bandwidth_Bps"] / 2)
        query = {"id": "x", "kind": "rings", "platform": "leonardo", "gpus": [0, 1, 2, 3], "nodes": 2}
        rings = [answers([{**query, "edits": edits}])[0] for edits in ([], ["scale ib_hdr100:0.3"], ["slow nic0:3"])]
        for one in rings[1:]:
            self.assertEqual((one["channels"], one.get("error")), (rings[0]["channels"], None))


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
