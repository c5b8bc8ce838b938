#!/usr/bin/env python3
"""The scheduler extender: ExtenderArgs in, ExtenderFilterResult and HostPriorityList out."""
import unittest

import service
from service import Service, batch


def pod(job="all_reduce:64MiB", platform="v100-dgx1", gpus="4", **more):
    annotations = {key: value for key, value in (("linkcast/job", job), ("linkcast/platform", platform)) if value}
    return {"metadata": {"name": "p", "annotations": annotations},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": gpus, "cpu": "8"}}}], **more}}


def node(name, busy=None, platform=None, product=None, count="8"):
    annotations = {key: value for key, value in (("linkcast/busy", busy), ("linkcast/platform", platform))
                   if value is not None}
    labels = {"zone": "z", **({"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": count} if product else {})}
    return {"metadata": {"name": name, "annotations": annotations, "labels": labels}, "status": {"capacity": {}}}


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
        for other in (pod(job=None), pod(job=None, gpus="0"), {"metadata": {}, "spec": {"containers": []}}):
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
        misspelt = pod()
        misspelt["metadata"]["annotations"]["linkcast/jobs"] = "x"
        for args, part in (({"Pod": pod()}, "neither Nodes nor NodeNames"), (names, "/Pod"), ([], "must be an object"),
                           ({"Pod": pod(gpus="x"), **names}, "no number of GPUs"),
                           ({"Pod": pod(), "NodeNames": [3]}, "/NodeNames/0"),
                           ({"Pod": pod(), "Nodes": {"items": [{}]}}, "/Nodes/items/0/metadata/name"),
                           ({"Pod": pod(job="all_reduce:64Q"), **names}, "unknown unit 'Q'"),
                           ({"Pod": pod(job="allreduce:64MiB"), **names}, "is no collective"),
                           ({"Pod": pod(job="/etc/passwd"), **names}, "files are not read"),
                           ({"Pod": pod(job="allgatherv:1MiB,2MiB"), **names}, "sizes of 2 ranks"),
                           ({"Pod": pod(platform="dgx2"), **names}, "not served"),
                           ({"Pod": pod(gpus="0"), **names}, "no container has a limit nvidia.com/gpu"),
                           ({"Pod": misspelt, **names}, "annotation linkcast/jobs is none of linkcast/job, linkcast/platform"),
                           ("{", "not JSON")):
            result = self.filter(args)
            self.assertIn(part, result["Error"])
            status, answer = self.server.post("/v1/kubernetes/prioritize", args)
            self.assertEqual(status, 400)
            self.assertIn(part, answer["error"])
        status, answer = self.server.post("/v1/kubernetes/prioritize", {"Pod": pod(job="all_reduce:64Q"), **names})
        self.assertEqual(status, 400)
        self.assertIn("/job", answer["error"])

    def test_a_wrong_annotation_fails_its_node_and_no_other(self):
        misspelt = node("c", "")
        misspelt["metadata"]["annotations"]["linkcast/free"] = "0"
        items = [node("a", "0;1"), node("b", ""), misspelt, node("d", "8")]
        failed = self.filter({"Pod": pod(), "Nodes": {"items": items}})["FailedNodes"]
        self.assertEqual(sorted(failed), ["a", "c", "d"])
        for name, part in (("a", "linkcast/busy: '0;1'"), ("c", "linkcast/free is none of"), ("d", "8 is no GPU")):
            self.assertIn(part, failed[name])
        self.assertEqual(self.scores({"Pod": pod(), "Nodes": {"items": items}}), {"a": 0, "b": 10, "c": 0, "d": 0})

    def test_a_job_that_no_node_can_run_fails_them_with_the_reason(self):
        failed = self.filter({"Pod": pod(job="no-such-trace"), "NodeNames": ["idle"]})["FailedNodes"]
        self.assertIn("no-such-trace", failed["idle"])

    def test_labels_of_gpu_feature_discovery_choose_the_platform(self):
        v100, p100 = "Tesla-V100-SXM2-16GB", "Tesla-P100-SXM2-16GB"
        items = [node("v", "", None, v100), node("p", "", None, p100), node("said", "", "p100-dgx1", v100),
                 node("other", "", None, "NVIDIA-H100-80GB-HBM3"), node("four", "", None, v100, "4"),
                 node("shared", "", None, v100 + "-SHARED"), node("32", "", None, "Tesla-V100-SXM2-32GB")]
        args = {"Pod": pod(platform=None), "Nodes": {"items": items}}
        failed = self.filter(args)["FailedNodes"]
        self.assertEqual(sorted(failed), ["four", "other", "shared"])
        self.assertIn("no platform that is served has 8 x NVIDIA-H100-80GB-HBM3", failed["other"])
        self.assertIn("no platform that is served has 4 x Tesla-V100", failed["four"])
        self.assertIn("parts of GPUs", failed["shared"])
        scores = self.scores(args)
        slow = round(10 * place_s() / place_s(platform="p100-dgx1"))
        self.assertEqual({name: scores[name] for name in ("v", "p", "said", "32")}, {"v": 10, "p": slow, "said": slow, "32": 10})

    def test_labels_that_contradict_the_pod_or_fit_several_platforms(self):
        args = {"Pod": pod(platform="p100-dgx1"), "Nodes": {"items": [node("v", "", None, "Tesla-V100-SXM2-16GB")]}}
        self.assertIn("it is a v100-dgx1, the pod's annotation", self.filter(args)["FailedNodes"]["v"])
        with Service("--platform", "abci-a100", "--platform", "dgx-a100") as server:
            args = {"Pod": pod(platform=None), "Nodes": {"items": [node("v", "", None, "NVIDIA-A100-SXM4-40GB")]}}
            failed = server.post("/v1/kubernetes/filter", args)[1]["FailedNodes"]["v"]
            self.assertIn("are in abci-a100, dgx-a100: annotation linkcast/platform says which", failed)
            args["Pod"] = pod(platform="dgx-a100")
            self.assertEqual(server.post("/v1/kubernetes/filter", args)[1]["FailedNodes"], {})


if __name__ == "__main__":
    service.main()
