#!/usr/bin/env python3
"""The scheduler extender: ExtenderArgs in, ExtenderFilterResult and HostPriorityList out."""
import unittest

import service
from service import Service, batch


def pod(job="all_reduce:64MiB", platform="v100-dgx1", gpus="4", **more):
    annotations = {key: value for key, value in (("linkcast/job", job), ("linkcast/platform", platform)) if value}
    return {"metadata": {"name": "p", "annotations": annotations},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": gpus, "cpu": "8"}}}], **more}}


def node(name, busy=None, platform=None):
    annotations = {key: value for key, value in (("linkcast/busy", busy), ("linkcast/platform", platform))
                   if value is not None}
    return {"metadata": {"name": name, "annotations": annotations, "labels": {"zone": "z"}}, "status": {"capacity": {}}}


def place_s(**query):
    return batch({"kind": "place", "platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4, **query})["time_s"]


class Extender(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Service("--platform", "p100-dgx1", "--platform", "v100-dgx1")
        for name, busy in (("idle", []), ("split", [0, 6]), ("full", [0, 1, 2, 3, 4])):
            cls.server.post(f"/v1/nodes/{name}", {"platform": "v100-dgx1", "busy": busy})

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def filter(self, args):
        status, result = self.server.post("/v1/kubernetes/filter", args)
        self.assertEqual(status, 200)
        self.assertEqual(list(result), ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"])
        return result

    def scores(self, args):
        status, result = self.server.post("/v1/kubernetes/prioritize", args)
        self.assertEqual(status, 200, result)
        return {row["Host"]: row["Score"] for row in result}

    def test_nodes_by_name_with_the_state_that_was_posted(self):
        result = self.filter({"Pod": pod(), "Nodes": None, "NodeNames": ["idle", "split", "full", "new"]})
        self.assertEqual(result["NodeNames"], ["idle", "split"])
        self.assertIsNone(result["Nodes"])
        self.assertEqual(result["Error"], "")
        self.assertEqual(result["FailedNodes"], {"full": "linkcast: 4 GPUs are asked for, and 3 are free",
                                                 "new": "linkcast: its busy GPUs are not known"})

    def test_scores_are_the_time_on_the_best_idle_node_over_the_time_there(self):
        best_s, split_s = place_s(), place_s(busy=[0, 6])
        self.assertGreater(split_s, 1.5 * best_s)  # else the test shows nothing
        self.assertEqual(self.scores({"pod": pod(), "nodenames": ["idle", "split", "full"]}),
                         {"idle": 10, "split": round(10 * best_s / split_s), "full": 0})

    def test_of_two_platforms_the_faster_one_sets_the_scale(self):
        fast_s, slow_s = place_s(), place_s(platform="p100-dgx1")
        self.assertLess(fast_s, slow_s)
        items = [node("a", "", "p100-dgx1"), node("b", "")]
        self.assertEqual(self.scores({"Pod": pod(), "Nodes": {"items": items}}),
                         {"a": round(10 * fast_s / slow_s), "b": 10})

    def test_whole_nodes_with_annotations_come_back_as_they_were(self):
        items = [node("a", "0,1,5-6"), node("b", ""), node("c", "0-4"), node("d"), node("split", "")]
        sent = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items}
        result = self.filter({"Pod": pod(), "Nodes": sent})
        self.assertEqual(result["Nodes"], {**sent, "items": [items[0], items[1], items[4]]})
        self.assertEqual(set(result["FailedNodes"]), {"c", "d"})
        scores = self.scores({"Pod": pod(), "Nodes": sent})
        self.assertEqual(scores["split"], round(10 * place_s() / place_s(busy=[0, 6])))  # posted before annotated

    def test_neighbours_that_were_posted_count(self):
        beside = {"busy": [0], "with": [{"job": "all_reduce:1GiB", "gpus": [4, 5, 6, 7]}]}
        self.server.post("/v1/nodes/shared", {"platform": "p100-dgx1", **beside})
        args = {"Pod": pod(gpus=3, platform="p100-dgx1"), "NodeNames": ["shared"]}
        job = {"platform": "p100-dgx1", "ranks": 3}
        self.assertEqual(self.scores(args), {"shared": round(10 * place_s(**job) / place_s(**job, **beside))})

    def test_containers_add_up_and_init_containers_do_not(self):
        limits = lambda gpus: {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
        several = pod(initContainers=[limits(5)])
        several["spec"]["containers"] += [limits("2"), {"name": "none"}]
        self.assertEqual(self.filter({"Pod": several, "NodeNames": ["split"]})["NodeNames"], ["split"])
        several["spec"]["initContainers"] = [limits(7)]
        self.assertEqual(self.filter({"Pod": several, "NodeNames": ["split", "idle"]})["NodeNames"], ["idle"])

    def test_a_pod_that_says_no_job_may_go_anywhere(self):
        for other in (pod(job=None), pod(gpus="0"), {"metadata": {}, "spec": {"containers": []}}):
            args = {"Pod": other, "NodeNames": ["full", "new"]}
            self.assertEqual(self.filter(args)["NodeNames"], ["full", "new"])
            self.assertEqual(self.scores(args), {"full": 0, "new": 0})

    def test_a_platform_that_is_not_served_fails_its_node_only(self):
        items = [node("a", "", "dgx2"), node("b", "")]
        result = self.filter({"Pod": pod(), "Nodes": {"items": items}})
        self.assertIn("not served", result["FailedNodes"]["a"])
        self.assertEqual(self.scores({"Pod": pod(), "Nodes": {"items": items}}), {"a": 0, "b": 10})

    def test_what_is_wrong_is_told_to_the_scheduler(self):
        names = {"NodeNames": ["idle"]}
        for args, part in (({"Pod": pod()}, "neither Nodes nor NodeNames"), (names, "/Pod"), ([], "must be an object"),
                           ({"Pod": pod(gpus="x"), **names}, "no number of GPUs"),
                           ({"Pod": pod(), "NodeNames": [3]}, "/NodeNames/0"),
                           ({"Pod": pod(), "Nodes": {"items": [{}]}}, "/Nodes/items/0/metadata/name"),
                           ({"Pod": pod(), "Nodes": {"items": [node("a", "0;1")]}}, "linkcast/busy"),
                           ("{", "not JSON")):
            result = self.filter(args)
            self.assertIn(part, result["Error"])
            status, answer = self.server.post("/v1/kubernetes/prioritize", args)
            self.assertEqual(status, 400)
            self.assertIn(part, answer["error"])
        status, answer = self.server.post("/v1/kubernetes/prioritize", {"Pod": pod(job="all_reduce:64Q"), **names})
        self.assertEqual(status, 400)
        self.assertIn("/job", answer["error"])


if __name__ == "__main__":
    service.main()
