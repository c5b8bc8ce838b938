#!/usr/bin/env python3
"""Slurm's jobs and topology.conf, rankfiles and CUDA_VISIBLE_DEVICES: the command line as other programs call it."""
import json
import os
import subprocess
import tempfile
import unittest

import service
from service import batch

JOB = {"job_id": 71, "num_tasks": 4, "tres_per_node": "gres/gpu:4", "comment": "x linkcast:job=all_reduce:64MiB y",
       "nodes": [{"name": "n1", "platform": "v100-dgx1", "gpus_busy": [0, 1, 2]},
                 {"name": "n2", "platform": "v100-dgx1", "gpus_busy": [0, 6]},
                 {"name": "n3", "platform": "p100-dgx1", "gpus_busy": [0, 1, 2, 3, 4]}]}


def run(*arguments, text=""):
    return subprocess.run([service.PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=120)


class Jobs(unittest.TestCase):
    def answer(self, **changes):
        done = run("place", "--slurm", text=json.dumps({**JOB, **changes}))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, part, **changes):
        job = {key: value for key, value in {**JOB, **changes}.items() if value is not None}
        done = run("place", "--slurm", text=json.dumps(job))
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""))
        self.assertIn(part, done.stderr)

    def test_the_best_node_and_its_best_gpus(self):
        times = {}
        for node in JOB["nodes"][:2]:
            times[node["name"]] = batch({"kind": "place", "platform": node["platform"], "job": "all_reduce:64MiB",
                                         "ranks": 4, "busy": node["gpus_busy"]})
        best = min(times, key=lambda name: times[name]["time_s"])
        answer = self.answer()
        self.assertEqual((answer["job_id"], answer["node"]), (71, best))
        for key in ("gpus", "time_s", "why"):
            self.assertEqual(answer[key], times[best][key])
        self.assertEqual(answer["CUDA_VISIBLE_DEVICES"], ",".join(map(str, answer["gpus"])))
        self.assertEqual(answer["nodes"], [*({"node": name, "time_s": one["time_s"]} for name, one in times.items()),
                                           {"node": "n3", "refused": "3 GPUs are free"}])

    def test_of_equal_nodes_the_fullest(self):
        nodes = [{"name": name, "platform": "v100-dgx1", "gpus_busy": busy}
                 for name, busy in (("a", []), ("b", [0, 1, 2, 3]), ("c", [4, 5, 6, 7]))]
        answer = self.answer(nodes=nodes)
        self.assertEqual([row["time_s"] for row in answer["nodes"]], [answer["time_s"]] * 3)
        self.assertEqual((answer["node"], answer["gpus"]), ("b", [4, 5, 6, 7]))

    def test_how_gpus_are_asked_for(self):
        for changes in ({"tres_per_node": "gres:gpu:2"}, {"tres_per_node": "gres/gpu:v100:2,license/x:1"},
                        {"tres_per_node": "gres/gpu=2"}, {"tres_per_node": None, "gres": "gpu:v100:1,gpu:1"},
                        {"tres_per_node": None, "num_tasks": None, "ntasks": 2},
                        {"tres_per_node": "gres/gpu:2", "num_tasks": 0xFFFFFFFE}):  # NO_VAL: sbatch without -n
            job = {key: value for key, value in {**JOB, **changes}.items() if value is not None}
            done = run("place", "--slurm", text=json.dumps(job))
            self.assertEqual(len(json.loads(done.stdout)["gpus"]), 2, changes)
        self.assertEqual(len(self.answer(tres_per_node="gres/gpu")["gpus"]), 1)

    def test_what_is_refused(self):
        self.refused("/tres_per_node: 'gpu:x' is not like", tres_per_node="gres/gpu:x")
        self.refused("asks for no GPU", tres_per_node="license/a:1")
        self.refused("said twice", gres="gpu:1")
        self.refused("said twice", ntasks=4)
        self.refused("/tres_per_node: is missing", tres_per_node=None, num_tasks=None)
        self.refused("/num_tasks", num_tasks=0)
        self.refused("/num_tasks", num_tasks=2**31)
        self.refused("/comment: missing", comment=None)
        self.refused("/comment: has no word", comment="nothing")
        self.refused("/comment: 'jobs=x'", comment="linkcast:jobs=x")
        self.refused("/comment: '64Q': unknown unit 'Q'", comment="linkcast:job=all_reduce:64Q")
        self.refused("/nodes: none has 7 GPUs free: n1: 5 GPUs are free", tres_per_node="gres/gpu:7")
        self.refused("/nodes/0/gpus_busy/0: 9 is no GPU", nodes=[{"name": "a", "platform": "v100-dgx1", "gpus_busy": [9]}])
        self.refused("dgx9", nodes=[{"name": "a", "platform": "dgx9"}])
        self.refused("/nodes/0/busy: unknown key", nodes=[{"name": "a", "platform": "v100-dgx1", "busy": []}])
        self.refused("/parttition", parttition="x")
        for options, part in ((("--ranks", "2"), "--ranks"), (("--format", "cuda"), "--format")):
            done = run("place", "--slurm", *options, text=json.dumps(JOB))
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)
        self.assertIn("not JSON", run("place", "--slurm", text="").stderr)


class Formats(unittest.TestCase):
    ask = ("place", "--platform", "p100-dgx1", "--job", "all_reduce:64MiB", "--ranks", "2", "--busy", "0-3,5,7")

    def test_cuda(self):
        self.assertEqual(run(*self.ask, "--format", "cuda").stdout, "CUDA_VISIBLE_DEVICES=4,6\n")

    def test_rankfile_binds_to_the_socket_of_the_gpu(self):
        # GPUs 4 to 7 of a DGX-1 hang on its second socket (NVIDIA DGX-1 system architecture, figure 4)
        lines = run(*self.ask, "--format", "rankfile", "--hosts", "box").stdout.splitlines()
        self.assertIn("CUDA_VISIBLE_DEVICES=4,6", lines[0])
        self.assertTrue(lines[0].startswith("#"))
        self.assertEqual(lines[1:], ["rank 0=box slot=1:*", "rank 1=box slot=1:*"])
        self.assertIn("rank 0=localhost ", run(*self.ask, "--format", "rankfile").stdout)

    def test_what_is_refused(self):
        for options, part in ((("--format", "yaml"), "--format"), (("--format", "rankfile", "--hosts", "a,b"), "2 hosts"),
                              (("--format", "rankfile", "--hosts", "a b"), "no host name"),
                              (("--format", "cuda", "--json"), "excludes --format"), (("--hosts", "a"), "--format rankfile"),
                              (("--gpus-per-node", "2"), "requires --nodes"), (("--format", "cuda", "--nodes", "4"), "of one node")):
            done = run(*self.ask, *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(part, done.stderr)
        self.assertIn("--ranks is required", run("place", "--platform", "p100-dgx1", "--job", "all_reduce:1MiB").stderr)


class Topology(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file, out = os.path.join(folder, "topology.conf"), os.path.join(folder, "groups.json")
            with open(file, "w", encoding="utf-8") as conf:
                conf.write(text)
            done = run("import", "topology-conf", file, "--machine", "cluster", "--out", out)
            if done.returncode == 0:
                self.assertEqual(run("check", out).stdout, f"{out}: ok, node-groups/1\n")
                with open(out, encoding="utf-8") as record:
                    return json.load(record)["switches"]
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            return done.stderr.replace(file, "FILE").removeprefix("error: ").rstrip()

    def test_a_tree(self):
        self.assertEqual(self.read("# racks\nSwitchName=s0 Nodes=n[1-2] LinkSpeed=100\n\nswitchname=s1 \\\n  nodes=n[09-10],m\n"
                                   "SwitchName=top Switches=s[0-1] # all\n"),
                         [{"name": "s0", "nodes": ["n1", "n2"], "link_speed": 100},
                          {"name": "s1", "nodes": ["n09", "n10", "m"]}, {"name": "top", "switches": ["s0", "s1"]}])

    def test_each_error_has_its_line(self):
        good = "SwitchName=s0 Nodes=n[1-4]\n"
        for text, said in (
                (good + "SwitchName=s1 Nodes=n[4-5]\n", "FILE:2: node n4 has a switch above it already, in line 1"),
                (good + "SwitchName=s0 Nodes=m\n", "FILE:2: switch s0 is there twice, first in line 1"),
                (good + "SwitchName=s1 Switches=s[0-1]\n", "FILE:2: switch s1 is below itself"),
                (good + "SwitchName=s1 Switches=s[0,9]\n", "FILE:2: there is no switch s9"),
                (good + "SwitchName=s1 Switches=s0\nSwitchName=s2 Switches=s0\n",
                 "FILE:3: switch s0 has a switch above it already, in line 2"),
                (good + "SwitchName=s1\n", "FILE:2: s1 must have either Nodes or Switches"),
                (good + "Nodes=m\n", "FILE:2: has no SwitchName"),
                (good + "Colour=b Nodes=m\n", "FILE:2: 'colour' is not read"),
                (good + "SwitchName=s1 Nodes\n", "FILE:2: 'Nodes' is not KEY=VALUE"),
                (good + "SwitchName=s1 Nodes=a nodes=b\n", "FILE:2: nodes is there twice"),
                (good + "SwitchName=s1 Nodes=m[1-\n", "FILE:2: 'm[1-' does not close its bracket"),
                (good + "SwitchName=s1 Nodes=m LinkSpeed=fast\n", "FILE:2: LinkSpeed: 'fast' is no whole number"),
                ("# nothing\n", "no SwitchName and no BlockName in the whole file")):
            with self.subTest(text=text):
                self.assertIn(said, self.read(text))


if __name__ == "__main__":
    service.main()
