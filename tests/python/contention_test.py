#!/usr/bin/env python3
"""Two collectives that begin together take the same time in a forecast with both, in a replay and beside a busy neighbour."""
import json
import random

from program import InFolder, device_answers as answers, main, run

MIB = 1 << 20
EXACT = 1e-9


def trace(jobs: list[tuple[str, list[int], int]]) -> tuple[str, list[int]]:
    """One call of each job, all at once, and the GPU of each rank."""
    gpus = sorted({gpu for _, members, _ in jobs for gpu in members})
    groups, lines = {}, []
    for number, (op, members, size) in enumerate(jobs):
        groups[f"job{number}"] = [gpus.index(gpu) for gpu in members]
        lines += [
            {"rank": rank, "kind": "collective", "stream": f"job{number}", "op": op, "group": f"job{number}", "size_B": size}
            for rank in groups[f"job{number}"]
        ]
    header = {"schema": "trace/1", "name": "contend", "ranks": len(gpus), "source": "by this test", "groups": groups}
    return "".join(json.dumps(line) + "\n" for line in [header, *lines]), gpus


class Contention(InFolder):
    def replayed(self, platform: str, jobs: list[tuple[str, list[int], int]], *options: str) -> dict:
        text, gpus = trace(jobs)
        path = self.write("contend.jsonl", text)
        words = ["replay", path, "-p", platform, "--placement", ",".join(map(str, gpus)), "--json", *options]
        result = run(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def assert_same(self, platform: str, jobs: list[tuple[str, list[int], int]]):
        """The replay ends with the slower of the two; alone each ends with its own forecast."""
        (op, gpus, size), (op2, gpus2, size2) = jobs
        both = {"id": "x", "kind": "collective", "platform": platform, "op": op, "gpus": gpus, "size_B": size, "calls": 1,
                "with": [{"op": op2, "gpus": gpus2, "size_B": size2}]}
        predicted = answers([both])[0]
        self.assertNotIn("error", predicted)
        self.assertGreater(predicted["slowdown"], 1.01, "the case is one of contention")
        slower = max(predicted["time_s"], predicted["others"][0]["time_s"])
        replayed = self.replayed(platform, jobs)["time_s"]
        self.assertLess(abs(replayed / slower - 1), EXACT, f"{replayed} replayed, {slower} predicted")
        alone = self.replayed(platform, jobs[:1])["time_s"]
        self.assertLess(abs(alone / predicted["alone_s"] - 1), EXACT)

    def test_two_all_reduce_of_a_node(self):
        self.assert_same("gx8", [("all_reduce", [0, 4], 64 * MIB), ("all_reduce", [1, 5], 64 * MIB)])
        self.assert_same("hgx-h200", [("all_reduce", [0, 1, 2, 3], 64 * MIB), ("all_reduce", [0, 1, 2, 3], 256 * MIB)])

    def test_alltoall_beside_all_reduce(self):
        self.assert_same("hgx-h200", [("alltoall", [0, 1, 2, 3], 64 * MIB), ("all_reduce", [0, 1, 2, 3], 64 * MIB)])

    def test_flows_that_end_one_after_the_other_take_the_forecast_alone(self):
        """Rings of one and of two thread blocks: held to the rate that each had on average they would take a fifth longer."""
        cases = [("abci-a100", "nccl-2.3", "all_reduce", [0, 1]), ("gx8", "nccl-2.18", "gather", [0, 1, 4, 5]), ("summit", "nccl-2.18", "scatter", [0, 1, 3, 4])]
        for platform, library, op, gpus in cases:
            job = (op, gpus, 64 * MIB)
            query = {"id": "x", "kind": "collective", "platform": platform, "op": op, "gpus": gpus, "size_B": job[2], "library": library,
                     "calls": 1}
            alone = answers([query])[0]["time_s"]
            replayed = self.replayed(platform, [job], "--library", library)["time_s"]
            self.assertLess(abs(replayed / alone - 1), EXACT, f"{platform} {op}: {replayed} replayed, {alone} predicted")

    def test_a_placement_beside_a_busy_neighbour_says_the_same(self):
        placed = run("place", "-p", "gx8", "--job", "all_reduce:64MiB", "--ranks", 2, "--busy", "2,3,6,7", "--with", "all_reduce:64MiB:0,4", "--json")
        self.assertEqual(placed.returncode, 0, placed.stderr)
        both = {"id": "x", "kind": "collective", "platform": "gx8", "op": "all_reduce", "gpus": [1, 5], "size_B": 64 * MIB,
                "with": [{"op": "all_reduce", "gpus": [0, 4], "size_B": 64 * MIB}]}
        predicted = answers([both])[0]
        self.assertLess(abs(json.loads(placed.stdout)["time_s"] / predicted["time_s"] - 1), EXACT)


# Four nodes of four NICs of 12.5 GB/s below a leaf with two cables of 25 GB/s upwards.
TAPERED = ("fabric fat_tree:levels=2,nodes=16,switches_per_node=1,endpoints_per_leaf=16,radix=20,leaves=4,uplinks_per_leaf=2,"
           "spines=2,routing=minimal,links.leaf_spine.cable=ib_hdr,links.leaf_spine.bandwidth=25 GB/s,"
           "links.leaf_spine.latency=140 ns,links.leaf_spine.source=assumed")


class BetweenNodes(InFolder):
    """The same on the nodes of a cluster: each job is (operation, nodes, GPUs of each, size)."""

    def ask(self, first: tuple, *others: tuple, **more: object) -> dict:
        op, nodes, gpus, size = first
        self.assertEqual(nodes, list(range(len(nodes))), "the job that is asked for has the first nodes")
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "edits": [TAPERED], "op": op, "nodes": len(nodes),
                 "gpus": gpus, "size_B": size, **more}
        if others:
            query["with"] = [{"op": op, "nodes": nodes, "gpus": gpus, "size_B": size} for op, nodes, gpus, size in others]
        answer = answers([query])[0]
        self.assertNotIn("error", answer)
        return answer

    def replayed(self, *jobs: tuple) -> float:
        text, gpus = trace([(op, [4 * node + gpu for node in nodes for gpu in gpus], size) for op, nodes, gpus, size in jobs])
        path = self.write("contend.jsonl", text)
        result = run("replay", path, "-p", "leonardo", "--edit", TAPERED, "--nodes", 16, "--gpus-per-node", 4, "--placement",
                     ",".join(map(str, gpus)), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["time_s"]

    def assert_same(self, first: tuple, other: tuple):
        both = self.ask(first, other)
        slower = max(both["time_s"], both["others"][0]["time_s"])
        self.assertGreater(max(both["slowdown"], both["others"][0]["time_s"] / both["others"][0]["alone_s"]), 1.01)
        self.assertLess(abs(self.replayed(first, other) / slower - 1), EXACT)
        self.assertLess(abs(self.replayed(first) / both["alone_s"] - 1), EXACT)

    def test_rings_that_share_their_nics(self):
        self.assert_same(("all_reduce", [0, 1, 2, 3], [0], 64 * MIB), ("all_reduce", [0, 1, 2, 3], [0], 256 * MIB))
        self.assert_same(("all_reduce", [0, 1, 2, 3], [0, 1], 64 * MIB), ("all_gather", [3, 0], [1], 64 * MIB))

    def test_messages_beside_rings(self):
        self.assert_same(("alltoall", [0, 1, 2, 3], [0, 1, 2, 3], 64 * MIB), ("all_reduce", [0, 1, 2, 3], [0, 1, 2, 3], 64 * MIB))

    def test_a_ring_in_a_node_beside_rings_between_nodes(self):
        tensor, data = ("all_reduce", [0], [0, 1, 2, 3], 1024 * MIB), ("all_reduce", [0, 1, 2, 3], [0, 1], 256 * MIB)
        self.assert_same(tensor, data)
        self.assert_same(data, tensor)

    def test_a_placement_beside_jobs_that_share_its_uplinks(self):
        """Of equal ones: to a placement a neighbour is always there, in a forecast it begins with its own start-up and ends."""
        gpus = [0, 1, 2, 3]
        job, neighbour = ("all_reduce", list(range(6)), gpus, 64 * MIB), ("all_reduce", list(range(6, 12)), gpus, 64 * MIB)
        self.assert_same(job, neighbour)
        both = self.ask(job, neighbour)
        placed = answers([{"id": "x", "kind": "place", "platform": "leonardo", "edits": [TAPERED], "nodes": 12, "ranks": 24,
                           "gpus_per_node": 4, "job": "all_reduce:64MiB", "with": [{"job": "all_reduce:64MiB", "nodes": neighbour[1]}]}])[0]
        self.assertEqual(placed["nodes"], job[1])
        self.assertLess(abs(placed["time_s"] / both["time_s"] - 1), EXACT)
        self.assertLess(abs(placed["alone_s"] / both["alone_s"] - 1), EXACT)

    def test_no_placement_costs_less_than_the_best_one(self):
        """Of every objective; for the neighbours' sake the best one is not the fastest."""
        for objective in ("time", "neighbours", "both"):
            placed = answers([{"id": "x", "kind": "place", "platform": "leonardo", "edits": [TAPERED], "nodes": 16, "ranks": 24,
                               "gpus_per_node": 4, "job": "all_reduce:64MiB", "objective": objective, "top": 50,
                               "with": [{"job": "all_reduce:256MiB", "nodes": [2, 3, 4, 5]}]}])[0]
            regrets = [row["regret"] for row in placed["placements"]]
            self.assertEqual(regrets[0], 0)
            self.assertGreaterEqual(min(regrets + [placed["first_free"]["regret"]]), 0, objective)
            self.assertEqual(regrets, sorted(regrets))

    def test_one_node_is_the_node(self):
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "all_reduce", "gpus": [0, 1, 2], "size_B": 64 * MIB,
                 "with": [{"op": "all_reduce", "gpus": [0, 1], "size_B": 64 * MIB}]}
        as_cluster = {**query, "nodes": 1, "with": [{**query["with"][0], "nodes": [0]}]}
        bare = {**query, "platform": "gx8", "gpus": [0, 4]}
        for one, two in ((query, as_cluster), (bare, {**bare, "nodes": 1})):
            node, cluster = answers([one, two])
            self.assertNotIn("error", cluster)
            self.assertGreater(node["slowdown"], 1.01)
            for answer in (node, cluster):
                answer.pop("inputs")
            self.assertEqual(node, cluster)

    def test_who_shares_no_link_is_not_slowed(self):
        sizes = 64 * MIB
        self.assertAlmostEqual(self.ask(("all_reduce", [0, 1], [0], sizes), ("all_reduce", [0, 1], [1], sizes))["slowdown"], 1, places=12)
        self.assertAlmostEqual(self.ask(("all_reduce", [0, 1, 2, 3], [0, 1, 2, 3], sizes), ("all_reduce", [8, 9], [0, 1, 2, 3], sizes))["slowdown"], 1, places=12)
        self.assertAlmostEqual(self.ask(("all_reduce", [0], [0, 1], sizes), ("all_reduce", [1], [0, 1], sizes))["slowdown"], 1, places=12)

    def test_no_other_makes_it_faster(self):
        """Than alone: with two others it may be faster than with one, where the second slows down the first."""
        draw = random.Random(14)
        for turn in range(18):
            library = {"library": draw.choice(["mpi-openmpi", "mpi-mpich"])} if turn >= 12 else {}
            jobs = []
            for number in range(4):
                nodes = list(range(draw.randint(1, 8))) if number == 0 else draw.sample(range(16), draw.randint(1, 8))
                gpus = draw.sample(range(4), draw.randint(2, 4))
                jobs.append((draw.choice(["all_reduce", "all_gather", "broadcast", "alltoall"]), nodes, gpus, draw.choice([1, 64]) * MIB))
            alone = self.ask(jobs[0], **library)["time_s"]
            for count in range(2, 5):
                both = self.ask(*jobs[:count], **library)
                self.assertEqual(both["alone_s"], alone)
                for one in (both, *both["others"]):
                    self.assertGreaterEqual(one["time_s"], one["alone_s"] * (1 - EXACT), jobs[:count])

    def test_the_calls_of_the_query_are_those_of_the_others(self):
        first, other = ("broadcast", [0, 1], [0, 1], MIB), ("broadcast", [0, 1], [2, 3], MIB)
        few, many = (self.ask(first, other, calls=calls)["others"][0]["alone_s"] for calls in (1, 50))
        self.assertGreater(few, many)
        self.assertEqual(few, self.ask(first, other, calls=1)["alone_s"])

    def test_refusals(self):
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "all_reduce", "nodes": 2, "gpus": [0], "size_B": MIB}
        other = {"op": "all_reduce", "gpus": [1], "size_B": MIB}
        cases = [({**other, "nodes": [0, 9999]}, {}, "is no node"), ({**other, "nodes": [1, 1]}, {}, "given twice"),
                 ({**other, "nodes": [1]}, {}, "at least 2 GPUs"), ({**other, "library": "mpi-none"}, {}, "mpi-none"), (other, {"noise": 3}, "together with other communicators"),
                 (other, {"beside": [{"op": "incast", "nodes": 2}]}, "together with other communicators")]
        for one, more, what in cases:
            self.assertIn(what, answers([{**query, "with": [one], **more}])[0].get("error", ""))


class RoundsOfMessages(InFolder):
    """MPI's collectives share links as rings do: each job is (operation, nodes, GPUs of each, size)."""

    def ask(self, library: str, first: tuple, *others: tuple, platform: str = "leonardo", **more: object) -> dict:
        op, nodes, gpus, size = first
        query = {"id": "x", "kind": "collective", "platform": platform, "op": op, "gpus": gpus, "size_B": size, "library": library, **more}
        if platform == "leonardo":
            query["edits"] = [TAPERED]
        if len(nodes) > 1:
            query["nodes"] = len(nodes)
        if others:
            query["with"] = [{"op": op, "gpus": gpus, "size_B": size, **({"nodes": nodes} if platform == "leonardo" else {})} for op, nodes, gpus, size in others]
        answer = answers([query])[0]
        self.assertNotIn("error", answer)
        return answer

    def replayed(self, library: str, *jobs: tuple, platform: str = "leonardo") -> float:
        text, gpus = trace([(op, [4 * node + gpu for node in nodes for gpu in gpus], size) for op, nodes, gpus, size in jobs])
        path = self.write("contend.jsonl", text)
        cluster = ["--edit", TAPERED, "--nodes", 16, "--gpus-per-node", 4] if platform == "leonardo" else []
        result = run("replay", path, "-p", platform, *cluster, "--library", library, "--placement", ",".join(map(str, gpus)), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["time_s"]

    def assert_same(self, library: str, first: tuple, other: tuple, platform: str = "leonardo"):
        both = self.ask(library, first, other, platform=platform)
        slower = max(both["time_s"], both["others"][0]["time_s"])
        self.assertGreater(max(both["slowdown"], both["others"][0]["time_s"] / both["others"][0]["alone_s"]), 1.01)
        self.assertLess(abs(self.replayed(library, first, other, platform=platform) / slower - 1), EXACT)
        self.assertLess(abs(self.replayed(library, first, platform=platform) / both["alone_s"] - 1), EXACT)

    def test_in_a_node(self):
        everyone = [0, 1, 2, 3]
        self.assert_same("mpi-cray", ("all_reduce", [0], everyone, 64 * MIB), ("all_reduce", [0], everyone, 256 * MIB), "alps")
        self.assert_same("mpi-cray", ("alltoall", [0], everyone, 64 * MIB), ("all_gather", [0], everyone, 64 * MIB), "alps")

    def test_between_nodes(self):
        self.assert_same("mpi-openmpi", ("all_gather", [0, 1, 2, 3], [0], 64 * MIB), ("all_gather", [0, 1, 2, 3], [0], 256 * MIB))
        self.assert_same("mpi-openmpi", ("alltoall", [0, 1], [0, 1], 64 * MIB), ("all_gather", [0, 1, 2], [0, 1], 64 * MIB))
        self.assert_same("mpi-openmpi", ("all_reduce", [0, 1, 2, 3], [0, 1], 64 * MIB), ("all_reduce", [0, 1, 2, 3], [0, 1], 64 * MIB))

    def test_messages_that_share_a_nic_share_its_rate(self):
        """A ring of one GPU of each node: three rounds of a quarter, two of them at once on 12.5 GB/s less headers."""
        job = ("all_gather", [0, 1, 2, 3], [0], 1024 * MIB)
        both = self.ask("mpi-openmpi", job, job)
        self.assertLess(abs((both["time_s"] - both["latency_s"]) / (2 * 0.75 * job[3] / 12.5e9) - 1), 0.02)

    def test_too_many_messages_for_each_share_on_average(self):
        """Of 256 ranks: twice the bytes on the same NICs, 12.5 GB/s each."""
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "all_gather", "nodes": 64, "gpus": [0, 1, 2, 3], "size_B": 1024 * MIB,
                 "library": "mpi-openmpi"}
        alone, both = answers([query, {**query, "with": [{"op": "all_gather", "gpus": [0, 1, 2, 3], "size_B": 1024 * MIB}]}])
        self.assertTrue(both["steady_state"])
        self.assertEqual(both["alone_s"], alone["time_s"])
        self.assertLess(abs((both["time_s"] - both["latency_s"]) / (2 * 255 / 256 * 1024 * MIB / 12.5e9) - 1), 0.02)

    def test_who_shares_no_link_with_too_many_messages_does_not_slow_them(self):
        """One flow stands for all messages; alone it takes their time, in a replay too."""
        for nodes in (18, 32, 64):
            query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": nodes, "gpus": [0, 1, 2, 3], "size_B": MIB,
                     "library": "mpi-openmpi", "with": [{"op": "sendrecv", "gpus": [0, 1], "size_B": 1, "nodes": [900]}]}
            both = answers([query])[0]
            self.assertLess(abs(both["slowdown"] - 1), 1e-6, nodes)
        path = self.write("contend.jsonl", trace([("alltoall", list(range(256)), MIB)])[0])
        result = run("replay", path, "-p", "leonardo", "--nodes", 64, "--gpus-per-node", 4, "--library", "mpi-openmpi", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(abs(json.loads(result.stdout)["time_s"] / both["alone_s"] - 1), 1e-6)

    def test_no_neighbour_brings_rounds_into_a_luckier_order(self):
        """Under max-min fair shares a neighbour that delays some messages would make this one 4 % faster than alone."""
        query = {"id": "x", "kind": "collective", "platform": "lumi", "nodes": 3, "op": "all_reduce", "gpus": [5, 2, 1, 3, 7], "size_B": MIB,
                 "library": "mpi-cray", "with": [{"op": "reduce_scatter", "gpus": [3, 6, 0, 5, 7], "size_B": 65536, "library": "mpi-mpich"}]}
        turned = {**query, **query["with"][0], "with": [{key: query[key] for key in ("op", "gpus", "size_B", "library")}]}
        asked, second = answers([query, turned])
        self.assertGreaterEqual(asked["slowdown"], 1)
        self.assertGreaterEqual(second["others"][0]["time_s"], second["others"][0]["alone_s"])

    def test_noise_that_would_take_minutes_is_refused(self):
        """Not a ring of as many messages, a few at once."""
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": 17, "gpus": [0, 1, 2, 3], "size_B": MIB, "library": "mpi-openmpi", "noise": 1}
        refused, ring = answers([query, {**query, "op": "all_gather", "algorithm": "ring", "samples": 20}])
        self.assertIn("samples: 200 draws of 4556 messages, 4556 of them at once, take too long: take at most 12", refused["error"])
        self.assertNotIn("error", ring)

    def test_beside_rings_of_another_library(self):
        job, rings = ("all_gather", [0, 1, 2, 3], [0], 64 * MIB), {"op": "all_reduce", "gpus": [0], "size_B": 64 * MIB, "library": "nccl-2.18"}
        both = self.ask("mpi-openmpi", job, **{"with": [rings]})
        turned = answers([{"id": "x", "kind": "collective", "platform": "leonardo", "edits": [TAPERED], "nodes": 4, **rings, "calls": 20,
                           "with": [{"op": job[0], "gpus": job[2], "size_B": job[3], "library": "mpi-openmpi"}]}])[0]
        self.assertGreater(both["slowdown"], 1.1)
        self.assertLess(abs(turned["others"][0]["time_s"] / both["time_s"] - 1), EXACT)
        self.assertLess(abs(turned["time_s"] / both["others"][0]["time_s"] - 1), EXACT)

    def test_who_shares_no_link_is_not_slowed(self):
        job = ("all_gather", [0, 1], [0, 1], 64 * MIB)
        self.assertLess(abs(self.ask("mpi-openmpi", job, ("all_gather", [8, 9], [0, 1], 64 * MIB))["slowdown"] - 1), EXACT)
        self.assertLess(abs(self.ask("mpi-openmpi", job, ("alltoall", [0, 1], [2, 3], 64 * MIB))["slowdown"] - 1), EXACT)

    def test_a_placement_says_the_same(self):
        """Of equal jobs, whose messages meet in each round: in a node, and on uplinks that both need all the time."""
        gpus = [0, 1, 2, 3]
        job, neighbour = ("all_gather", list(range(6)), gpus, 256 * MIB), ("all_gather", list(range(6, 12)), gpus, 256 * MIB)
        both = self.ask("mpi-openmpi", job, neighbour)
        placed = answers([{"id": "x", "kind": "place", "platform": "leonardo", "edits": [TAPERED], "nodes": 12, "ranks": 24, "gpus_per_node": 4,
                           "library": "mpi-openmpi", "job": "all_gather:256MiB", "with": [{"job": "all_gather:256MiB", "nodes": neighbour[1]}]}])[0]
        self.assertNotIn("error", placed)
        self.assertEqual(placed["nodes"], job[1])
        self.assertLess(abs(placed["alone_s"] / both["alone_s"] - 1), EXACT)
        self.assertLess(abs(placed["time_s"] / both["time_s"] - 1), 0.05)

    def test_a_placement_in_a_node_says_the_same(self):
        query = {"id": "x", "platform": "v100-dgx1", "library": "mpi-openmpi"}
        both = answers([{**query, "kind": "collective", "op": "alltoall", "gpus": [1, 5], "size_B": 64 * MIB, "with": [{"op": "alltoall", "gpus": [0, 4], "size_B": 64 * MIB}]}])[0]
        placed = answers([{**query, "kind": "place", "job": "alltoall:64MiB", "ranks": 2, "busy": [2, 3, 6, 7], "with": [{"job": "alltoall:64MiB", "gpus": [0, 4]}]}])[0]
        self.assertLess(abs(placed["time_s"] / both["time_s"] - 1), EXACT)

    def test_jobs_beside_slow_its_rounds(self):
        """On nodes by chance an incast stands in the queues that its messages pass; on another service level it does not."""
        query = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "all_gather", "nodes": 32, "gpus": [0], "size_B": 64 * MIB,
                 "library": "mpi-openmpi", "allocation": "random", "beside": [{"op": "incast", "nodes": 64}]}
        other = {**query, "beside": [{"op": "incast", "nodes": 64, "service_level": 1}]}
        alone = {key: value for key, value in query.items() if key != "beside"}
        slow, free, bare = answers([query, other, alone])
        self.assertGreater(slow["slowdown"], 1.01)
        self.assertEqual(free["slowdown"], 1)
        self.assertEqual([slow["alone_s"], free["time_s"]], [bare["time_s"]] * 2)
        noisy = answers([{**query, "noise": 3, "samples": 20}])[0]
        self.assertGreaterEqual(noisy["time_s"], slow["time_s"])


class OneNode(InFolder):
    """Nothing of a job on one node crosses the fabric: what is asked of the fabric leaves the forecast as it is."""

    def test_a_collective(self):
        base = {"id": "x", "kind": "collective", "platform": "leonardo", "op": "all_reduce", "gpus": [0, 1, 2], "size_B": 64 * MIB}
        load = {"noise": 3, "samples": 20, "service_level": 2, "allocation": "random", "allocation_seed": 5, "beside": [{"op": "alltoall", "nodes": 4}]}
        for more in ({}, {"library": "mpi-openmpi"}, {"op": "alltoall"}):
            plain, asked, as_cluster = answers([{**base, **more}, {**base, **more, **load}, {**base, **more, **load, "nodes": 1}])
            self.assertNotIn("error", asked)
            for key in ("time_s", "time_low_s", "time_high_s", "bottleneck", "algorithm"):
                self.assertEqual(asked[key], plain[key])
            self.assertEqual({*asked["percentiles"].values(), asked["quiet_s"], asked["alone_s"], asked["mean_s"]}, {plain["time_s"]})
            self.assertEqual([asked["slowdown"], asked["seed"], asked["samples"]], [1, 3, 20])
            self.assertIn("nothing crosses the network", " ".join(asked["warnings"]))
            self.assertGreater(asked["beside"][0]["sends_of_port"], 0)
            asked.pop("inputs"), as_cluster.pop("inputs")
            self.assertEqual(asked, as_cluster)

    def test_a_machine_of_one_node(self):
        query = {"id": "x", "kind": "collective", "platform": "gx8", "op": "all_reduce", "gpus": [0, 1], "size_B": MIB}
        plain, noisy = answers([query, {**query, "noise": 1, "allocation": "packed"}])
        self.assertEqual(noisy["time_s"], plain["time_s"])
        self.assertIn("fabric", answers([{**query, "beside": [{"op": "incast", "nodes": 2}]}])[0]["error"])

    def test_copies(self):
        copy = {"id": "x", "kind": "p2p", "platform": "leonardo", "src": "gpu0", "dst": "gpu1", "size_B": MIB}
        message = {**copy, "src": "node3/gpu0", "dst": "node3/gpu1", "transport": "mpi"}
        flows = {"id": "x", "kind": "flows", "platform": "leonardo", "flows": [["gpu0", "gpu1", MIB], ["gpu1", "gpu2", MIB]]}
        inside = {**flows, "flows": [["node0/gpu0", "node0/gpu1", MIB]]}
        for query in (copy, message, flows, inside):
            plain, noisy = answers([query, {**query, "noise": 3, "service_level": 1}])
            self.assertNotIn("error", noisy)
            for key in ("time_s", "time_low_s", "time_high_s"):
                self.assertEqual(noisy[key], plain[key])
            self.assertEqual(set(noisy["percentiles"].values()), {plain["time_s"]})


class SizesPerRank(InFolder):
    """Parts of a size each, wherever a collective may be named."""

    def test_beside_another(self):
        base = {"id": "x", "kind": "collective", "platform": "gx8", "op": "all_reduce", "gpus": [0, 4], "size_B": 64 * MIB}
        for library in ({}, {"library": "mpi-openmpi"}):
            with_sizes = {"op": "allgatherv", "gpus": [1, 5], "sizes_B": [32 * MIB, 32 * MIB], **library}
            equal = {"op": "allgatherv", "gpus": [1, 5], "size_B": 64 * MIB, **library}
            uneven = {**with_sizes, "sizes_B": [63 * MIB, MIB]}
            one, two, three = (answers([{**base, "with": [other]}])[0] for other in (with_sizes, equal, uneven))
            self.assertNotIn("error", one)
            self.assertLess(abs(one["others"][0]["time_s"] / two["others"][0]["time_s"] - 1), EXACT)
            alone = answers([{"library": "nccl-2.18", **{key: value for key, value in base.items() if key != "size_B"}, **uneven}])[0]
            if library:
                self.assertLess(abs(three["others"][0]["alone_s"] / alone["time_s"] - 1), EXACT)
        self.assertIn("2 sizes", answers([{**base, "with": [{"op": "allgatherv", "gpus": [1, 5], "sizes_B": [1]}]}])[0]["error"])

    def test_a_placement(self):
        """In a node and over nodes: equal parts are the operation with equal parts."""
        for where in ({"platform": "gx8", "ranks": 2}, {"platform": "leonardo", "nodes": 4, "ranks": 2, "gpus_per_node": 1}):
            query = {"id": "x", "kind": "place", **where}
            equal, parts, uneven = answers([{**query, "job": {"op": "allgatherv", "size_B": 64 * MIB}},
                                            {**query, "job": {"op": "allgatherv", "sizes_B": [32 * MIB, 32 * MIB]}},
                                            {**query, "job": {"op": "allgatherv", "sizes_B": [63 * MIB, MIB]}}])
            self.assertLess(abs(parts["time_s"] / equal["time_s"] - 1), EXACT)
            self.assertGreater(uneven["time_s"], 1.1 * equal["time_s"])
            refused = answers([{**query, "job": {"op": "allgatherv", "sizes_B": [1, 2, 3]}}])[0]
            self.assertIn("3 ranks", refused["error"])

    def test_rings(self):
        query = {"id": "x", "kind": "rings", "platform": "gx8", "gpus": [0, 4], "op": "allgatherv", "library": "nccl-2.18"}
        sizes, size = answers([{**query, "sizes_B": [63 * MIB, MIB]}, {**query, "size_B": 64 * MIB}])
        self.assertEqual(sizes["library_takes"], size["library_takes"])


if __name__ == "__main__":
    main()
