#!/usr/bin/env python3
"""Two collectives that begin together take the same time in a forecast with both, in a replay and beside a busy neighbour."""
import json
import random

from program import InFolder, answers, main, run

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
        cases = [("dgx-a100", "nccl-2.3", "all_reduce", [0, 1]), ("gx8", "nccl-2.18", "gather", [0, 1, 4, 5]), ("summit", "nccl-2.18", "scatter", [0, 1, 3, 4])]
        for platform, library, op, gpus in cases:
            job = (op, gpus, 64 * MIB)
            query = {"id": "x", "kind": "collective", "platform": platform, "op": op, "gpus": gpus, "size_B": job[2], "library": library}
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
        self.assertEqual(self.ask(("all_reduce", [0, 1], [0], sizes), ("all_reduce", [0, 1], [1], sizes))["slowdown"], 1)
        self.assertEqual(self.ask(("all_reduce", [0, 1, 2, 3], [0, 1, 2, 3], sizes), ("all_reduce", [8, 9], [0, 1, 2, 3], sizes))["slowdown"], 1)
        self.assertEqual(self.ask(("all_reduce", [0], [0, 1], sizes), ("all_reduce", [1], [0, 1], sizes))["slowdown"], 1)

    def test_no_other_makes_it_faster(self):
        """Than alone: with two others it may be faster than with one, where the second slows down the first."""
        draw = random.Random(14)
        for _ in range(12):
            jobs = []
            for number in range(4):
                nodes = list(range(draw.randint(1, 8))) if number == 0 else draw.sample(range(16), draw.randint(1, 8))
                gpus = draw.sample(range(4), draw.randint(2, 4))
                jobs.append((draw.choice(["all_reduce", "all_gather", "broadcast", "alltoall"]), nodes, gpus, draw.choice([1, 64]) * MIB))
            alone = self.ask(jobs[0])["time_s"]
            for count in range(2, 5):
                both = self.ask(*jobs[:count])
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
                 ({**other, "nodes": [1]}, {}, "at least 2 GPUs"), ({**other, "library": "mpi-openmpi"}, {}, "rounds of MPI messages"),
                 (other, {"library": "mpi-openmpi"}, "rounds of MPI messages"), (other, {"noise": 3}, "together with other communicators"),
                 (other, {"beside": [{"op": "incast", "nodes": 2}]}, "together with other communicators")]
        for one, more, what in cases:
            self.assertIn(what, answers([{**query, "with": [one], **more}])[0].get("error", ""))


if __name__ == "__main__":
    main()
