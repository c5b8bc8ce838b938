#!/usr/bin/env python3
"""Two collectives that begin together take the same time in a forecast with both, in a replay and beside a busy neighbour."""
import json

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


if __name__ == "__main__":
    main()
