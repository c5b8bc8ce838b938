#!/usr/bin/env python3
"""A real Slurm runs the plug-in of cli/serve/slurm: jobs go where the forecast says, and get the GPUs that it says."""
import json
import os
import re
import sys
import tempfile
import time
import unittest

import service
import slurm_cluster
from service import Service, batch

SKIPPED = 77
JOB = "all_reduce:64MiB"
NOT_HERE = []  # why Slurm's own daemons do not run


def numbers(text: str) -> list[int]:
    return sorted(int(number) for number in re.findall(r"IDX:(\d+)", text))


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        port = slurm_cluster.free_ports(1)[0]
        try:
            cls.cluster = slurm_cluster.Cluster(
                cls.folder.name, {"n1": "linkcast=v100-dgx1,other", "n2": "linkcast=p100-dgx1"},
                {"LINKCAST_URL": f"http://127.0.0.1:{port}", "LINKCAST_GPU_TYPE": "g%d"})
        except slurm_cluster.NoSlurm as error:
            NOT_HERE.append(error)
            raise unittest.SkipTest(str(error)) from error
        cls.addClassCleanup(cls.cluster.stop)
        cls.file = os.path.join(cls.folder.name, "nodes.json")
        cls.feed()
        cls.server = Service("--platform", "v100-dgx1", "--platform", "p100-dgx1", "--free", cls.file, port=port)
        cls.addClassCleanup(cls.server.__exit__)

    @classmethod
    def feed(cls):
        """As docs/schedulers.md has it in a loop."""
        with open(cls.file + ".new", "w", encoding="utf-8") as out:
            json.dump(cls.cluster.nodes_json(), out)
        os.replace(cls.file + ".new", cls.file)

    def setUp(self):
        self.cluster.cancel_all()
        self.feed()

    def occupy(self, node: str, *gpus: int) -> None:
        job = self.cluster.submit("-w", node, "--gres=" + ",".join(f"gpu:g{gpu}:1" for gpu in gpus))
        self.cluster.running(job)
        self.feed()

    def forecasts(self, ranks: int, busy: dict) -> dict:
        return {node: batch({"kind": "place", "platform": platform, "job": JOB, "ranks": ranks, "busy": busy.get(node, [])})
                for node, platform in (("n1", "v100-dgx1"), ("n2", "p100-dgx1"))}

    def submit(self, ranks: int, *options: str) -> dict:
        number = self.cluster.submit("-n", str(ranks), f"--gres=gpu:{ranks}", "--comment", f"mine linkcast:job={JOB}", *options)
        return {"number": number, **self.cluster.running(number)}

    def check(self, ranks: int, busy: dict) -> tuple:
        times = self.forecasts(ranks, busy)
        best = min(times, key=lambda node: times[node]["time_s"])
        job = self.submit(ranks)
        self.assertEqual(job["NodeList"], best)
        self.assertEqual(numbers(job["GRES"]), sorted(times[best]["gpus"]))
        self.assertEqual(job["AdminComment"], "linkcast:gpus=" + ",".join(map(str, times[best]["gpus"])))
        return job, best, times

    def test_the_best_gpus_of_the_best_node_idle(self):
        job, best, times = self.check(5, {})
        self.assertNotEqual(times[best]["gpus"], [0, 1, 2, 3, 4])  # what Slurm takes of itself
        for _ in range(100):  # the job's own view
            out = self.cluster.folder / f"out-{job['number']}"
            if out.exists() and out.read_text().strip():
                break
            time.sleep(0.1)
        node, visible = out.read_text().split()
        self.assertEqual((node, sorted(map(int, visible.split(",")))), (best, sorted(times[best]["gpus"])))

    def test_the_slower_node_where_the_faster_one_has_no_good_gpus_left(self):
        self.occupy("n1", 0, 4)
        _, best, _ = self.check(4, {"n1": [0, 4]})
        self.assertEqual(best, "n2")

    def test_a_job_that_slurm_chose_for_counts(self):
        self.occupy("n1", 0, 1, 2)
        self.check(4, {"n1": [0, 1, 2]})

    def test_a_wrong_comment_is_told_and_refused(self):
        before = self.cluster.run("squeue", "-h")
        for comment, said in (("linkcast:job=all_reduce:64Q", "unknown unit 'Q'"), ("linkcast:jobs=x", "is not job="),
                              ("linkcast:job=/etc/passwd", "files are not read")):
            text = self.cluster.submit("--gres=gpu:2", "--comment", comment, check=False)
            self.assertIn(said, text)
            self.assertIn("Batch job submission failed", text)
        self.assertEqual(self.cluster.run("squeue", "-h"), before)

    def test_where_no_node_has_room_it_waits_in_the_queue(self):
        self.occupy("n1", *range(8))
        self.occupy("n2", 0, 1, 2, 3)
        number = self.cluster.submit("--gres=gpu:5", "--comment", f"linkcast:job={JOB}")
        self.assertIn(self.cluster.job(number)["JobState"], ("PENDING",))
        self.assertIn("none has 5 GPUs free", self.cluster.log())

    def test_jobs_without_the_comment_and_without_the_service_go_on(self):
        number = self.cluster.submit("--gres=gpu:2", "--comment", "nothing")
        self.assertNotIn("AdminComment", self.cluster.running(number))
        os.replace(self.file, self.file + ".away")  # the service cannot know: it must not guess
        status, answer = self.server.post("/v1/slurm/place", {"comment": f"linkcast:job={JOB}", "tres_per_node": "gres:gpu:2"})
        self.assertEqual(status, 503, answer)
        number = self.cluster.submit("--gres=gpu:2", "--comment", f"linkcast:job={JOB}")
        self.assertNotIn("AdminComment", self.cluster.running(number))

    def test_a_node_that_is_drained_is_left_out(self):
        self.cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
        try:
            self.feed()
            self.assertEqual(self.submit(4)["NodeList"], "n2")
        finally:
            self.cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")


if __name__ == "__main__":
    if slurm_cluster.missing():
        print("skipped: needs " + " ".join(slurm_cluster.missing()) + ": apt-get install --no-install-recommends "
              + " ".join(slurm_cluster.missing()))
        sys.exit(SKIPPED)
    try:
        service.main()
    except SystemExit as end:
        if NOT_HERE:
            print(f"skipped: Slurm does not run here: {NOT_HERE[0]}")
        sys.exit(SKIPPED if NOT_HERE else end.code)
