#!/usr/bin/env python3
"""Placement over nodes by the names and switches of Slurm's topology.conf."""
import json
import os
import subprocess
import tempfile
import unittest

import service
import slurm_nodes_test
from service import batch

FABRIC = ("dragonfly_plus:nodes=64,groups=8,leaves_per_group=2,spines_per_group=2,nodes_per_group=8,endpoints_per_leaf=16,"
          "global_ports_per_spine=4,global_links=1,radix=40")
# Two leaves of three and four nodes below one switch, one of four below another: names that look like GPUs among them
TREE = ("SwitchName=leaf0 Nodes=gpu[1-3]\nSwitchName=leaf1 Nodes=gpu[4-7]\nSwitchName=leaf2 Nodes=r1n[1-4]\n"
        "SwitchName=spine0 Switches=leaf[0-1]\nSwitchName=spine1 Switches=leaf2\nSwitchName=top Switches=spine[0-1]\n")


class Groups(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.free = os.path.join(folder.name, "topology.conf"), os.path.join(folder.name, "nodes.json")
        self.write(TREE)

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def run_place(self, *options, nodes=4):
        return subprocess.run([service.PROGRAM, "place", "--platform", "leonardo", "--fabric", FABRIC, "--groups", self.file,
                               "--job", "all_reduce:256MiB", "--ranks", str(4 * nodes), "--json", *options], capture_output=True, text=True,
                              timeout=120)

    def place(self, *options, nodes=4):
        done = self.run_place(*options, nodes=nodes)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, part, *options, nodes=4):
        done = self.run_place(*options, nodes=nodes)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(part, done.stderr)

    def same_by_number(self, answer, **keys):
        """The same question by the fabric's numbers takes as long on the same nodes."""
        other = batch({"kind": "place", "platform": "leonardo", "edits": ["fabric " + FABRIC], "nodes": 64, "job": "all_reduce:256MiB",
                       "ranks": 4 * len(answer["nodes"]), "busy": [node for node in range(64) if node not in answer["nodes"]], **keys})
        self.assertEqual(other["time_s"], answer["time_s"])

    def test_a_leaf_of_the_file_is_a_leaf_of_the_fabric(self):
        answer = self.place()
        self.assertEqual(sorted(answer["names"]), ["r1n1", "r1n2", "r1n3", "r1n4"])  # the group that it fills
        self.assertEqual(answer["switches"], [{"name": "leaf2", "nodes": 4}])
        self.same_by_number(answer)
        for row in answer["placements"]:
            self.assertEqual(len(set(row["names"])), len(row["nodes"]))

    def test_two_leaves_of_one_spine_before_two_of_several(self):
        answer = self.place("--busy", "gpu4,r1n[1-2]")
        self.assertEqual([one["name"] for one in answer["switches"]], ["leaf0", "leaf1"])
        self.same_by_number(answer)
        every = self.place(nodes=11)
        self.assertEqual(every["switches"], [{"name": "leaf0", "nodes": 3}, {"name": "leaf1", "nodes": 4}, {"name": "leaf2", "nodes": 4}])

    def test_neighbours_by_name(self):
        answer = self.place("--with", "all_reduce:64MiB:gpu[5,6]", "--objective", "both")
        self.assertEqual(answer["neighbours"][0]["names"], ["gpu5", "gpu6"])
        self.assertEqual(answer["switches"], [{"name": "leaf2", "nodes": 4}])

    def test_what_slurm_says_is_free(self):
        nodes = [slurm_nodes_test.node(41, name, used, gres="gpu:4") for name, used in
                 (("gpu1", ""), ("gpu2", ""), ("gpu3", ""), ("gpu4", "1"), ("gpu5", ""), ("gpu6", ""), ("gpu7", ""), ("r1n1", ""),
                  ("r1n2", ""), ("r1n3", ""), ("r1n4", ""), ("login", "0-3"))]
        nodes[-2]["state"] = ["IDLE", "DRAIN"]
        with open(self.free, "w", encoding="utf-8") as file:
            json.dump(slurm_nodes_test.printed(41, *nodes), file)
        answer = self.place("--free", self.free)
        self.assertEqual(answer["switches"], self.place("--busy", "gpu4,r1n4")["switches"])
        self.assertFalse({"gpu4", "r1n4"} & set(answer["names"]))
        self.refused("10 nodes are needed, and 9 of the 11 are free", "--free", self.free, nodes=10)
        self.refused("--free: excludes --busy", "--free", self.free, "--busy", "gpu1")
        with open(self.free, "w", encoding="utf-8") as file:
            json.dump(slurm_nodes_test.printed(41, *nodes[:5]), file)
        self.refused("gpu6 of --groups is not in it", "--free", self.free)

    def test_what_is_refused(self):
        self.refused('--busy: "x" is no node of the groups', "--busy", "x")
        self.refused("--nodes: the groups have 11 nodes", "--nodes", "12")
        self.refused("is not JOB:NODES", "--with", "r1n1")
        self.write("SwitchName=s Nodes=n[1-65]\n")
        self.refused("1 leaf switches of up to 65 nodes do not fit onto the fabric, whose groups are 16 of 4, 8 of 8 nodes")
        self.write("".join(f"SwitchName=s{i} Nodes=n{i}_[1-5]\n" for i in range(9)))
        self.refused("9 leaf switches of up to 5 nodes do not fit")
        self.write("nothing\n")
        self.refused("is not KEY=VALUE")

    def test_a_batch_line_has_the_record(self):
        record = {"schema": "node-groups/1", "name": "c", "source": "test", "switches": [{"name": "b", "nodes": ["x1", "gpu2"]},
                                                                                       {"name": "a", "nodes": ["y1"]}]}
        query = {"kind": "place", "platform": "leonardo", "edits": ["fabric " + FABRIC], "groups": record, "job": "all_reduce:1MiB", "ranks": 8}
        self.assertEqual(batch(query)["names"], ["x1", "gpu2"])
        self.assertEqual(batch({**query, "busy": [{"node": "gpu2"}]})["names"], ["x1", "y1"])
        record["switches"][1]["nodes"] = ["x1"]
        done = subprocess.run([service.PROGRAM, "predict", "--batch", "/dev/stdin"], input=json.dumps(query) + "\n",
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn("groups:/switches: node x1 is on both a and b", json.loads(done.stdout)["error"])


if __name__ == "__main__":
    service.main()
