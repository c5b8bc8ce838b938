"""Who issues the calls: forecasts beside launch records that nothing was fitted to, and what diagnose makes of a healthy log."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

from program import PROGRAM, ROOT, InFolder, answers, main, run

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "calibrate" / "bench")]
import launch_pytorch  # noqa: E402
from linkcast_programs.plots import launch_kinds  # noqa: E402

# Median errors below 1 MiB over all held-out hosts that may not grow. Targets are 8 % (graph), 12 % (process), 15 %
# (single_process) and 20 % (pytorch): hosts of one kind differ by 1.65, so that no figure meets them on all, and those held out here are faster than the mean
# of hosts that costs are fitted to.
BELOW = {"graph": 0.03, "process, processes": 0.22, "process, threads": 0.25, "single_process": 0.23, "pytorch": 0.28}
FROM_1MIB = 0.10  # the target
INSIDE_FROM_1MIB = 0.90  # share inside the 90 % interval that may not fall. Target: 0.85


class HeldOut(unittest.TestCase):
    def test_many_calls(self):
        """20 as nccl-tests makes them, 200 in CUDA graphs."""
        rows = launch_kinds.records(str(PROGRAM))["rows"]
        self.assertFalse(any(row["fitted"] for row in rows))
        seen = launch_kinds.groups([row for row in rows if row["quantity"] != "rest"])
        self.assertEqual(len(seen), 10)
        for (quantity, kind, small), figures in seen.items():
            self.assertGreaterEqual(figures["points"], 60)
            self.assertLess(figures["median"], BELOW[kind] if small else FROM_1MIB, (quantity, kind, small))
            self.assertGreater(figures["inside"], 0.59 if small else INSIDE_FROM_1MIB, (quantity, kind, small))


class Record(InFolder):
    def test_the_folder_is_made(self):
        path = self.folder / "new" / "folder" / "record.json"
        launch_pytorch.write(path, {"id": "a", "points": [{"op": "add"}, {"op": "mm"}]})
        self.assertEqual(json.loads(path.read_text()), {"id": "a", "points": [{"op": "add"}, {"op": "mm"}]})


class Diagnose(InFolder):
    def log(self, launch: str, times: dict[int, float]) -> str:
        """A table of all_reduce_perf on four H200, times in microseconds."""
        threads, gpus, graph, pids = {"single_process": (1, 4, 0, "7 7 7 7"), "process": (4, 1, 0, "7 7 7 7"),
                                      "graph": (4, 1, 20, "7 7 7 7"), "mixed": (2, 2, 0, "7 7 7 7")}[launch]
        lines = ["# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809", "# Collective test starting: all_reduce_perf",
                 f"# nThread {threads} nGpus {gpus} minBytes 8 maxBytes 67108864 step: 8(factor) warmup iters: 1 iters: 20 "
                 f"agg iters: 1 validation: 1 graph: {graph}", "#", "# Using devices"]
        lines += [f"#  Rank  {i} Group  0 Pid      {pid} on     box device  {i} [0x{i}0] NVIDIA H200" for i, pid in enumerate(pids.split())]
        lines += ["#", "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
                  "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"]
        rates = {size: f"{time:.2f} {size / time / 1e3:.2f} {1.5 * size / time / 1e3:.2f} 0" for size, time in times.items()}
        lines += [f"{size} {size // 4} float sum -1 {rates[size]} {rates[size]}" for size in times]
        lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 1"]
        return self.write(f"{launch}.txt", "\n".join(lines) + "\n")

    def diagnosed(self, launch: str, times: dict[int, float]) -> dict:
        result = run("diagnose", "--platform", "hgx-h200", self.log(launch, times), "--json")
        return json.loads(result.stdout)["files"][0]

    # Four H200 as users time them, microseconds. source: nccl-tests -g 4 prints 22 to 25 flat up to 256 KiB, -t 4 8 to 12,
    # CUDA graphs 7.8
    HEALTHY = {"single_process": {8: 22.9, 1024: 23.4, 65536: 24.6}, "process": {8: 8.6, 1024: 9.0, 65536: 11.9},
               "graph": {8: 7.8, 1024: 8.2}}

    def test_a_healthy_log_of_each_kind_is_not_faulty(self):
        for launch, times in self.HEALTHY.items():
            found = self.diagnosed(launch, times)
            self.assertEqual((found["verdict"] == "faulty", found["slow"], found["host_bound"], found["fast"]), (False, 0, 0, 0), launch)

    def test_where_the_issuer_cannot_be_told_small_sizes_say_nothing(self):
        for time in (8.6, 23.0):
            self.assertEqual(self.diagnosed("mixed", {8: time})["off"], [])
        found = self.diagnosed("mixed", {8: 400.0, 1 << 26: 9000.0})
        self.assertEqual([row["finding"] for row in found["off"]], ["host-bound", "host-bound", "slow", "slow"])

    def test_a_slow_link_is_seen_whoever_issues(self):
        found = self.diagnosed("single_process", {8: 23.0, 1 << 26: 3000.0})
        self.assertEqual((found["normal"], found["slow"]), (False, 2))


class Answers(unittest.TestCase):
    QUERY = {"id": 1, "kind": "collective", "platform": "hgx-h200", "op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 8}

    def test_the_answer_names_who_issued_and_the_host_where_it_limits(self):
        kinds = ("single_process", "graph", "queue")
        unsaid, one, graph, queue = answers([self.QUERY, *({**self.QUERY, "launch": kind} for kind in kinds)])
        self.assertEqual([found["launch"] for found in (unsaid, one, graph, queue)], ["process", *kinds])
        self.assertEqual((one["limited_by"], one["bottleneck"]), ("host", []))
        self.assertGreater(one["host_s"], one["device_s"])
        self.assertEqual(one["device_s"], queue["time_s"])
        self.assertLess(graph["time_s"], queue["time_s"])  # calls of a graph begin sooner
        self.assertNotIn("host_s", graph)

    def test_a_machine_without_launches_of_its_own_says_whose_they_are(self):
        own, lent = answers([{**self.QUERY, "launch": "pytorch"}, {**self.QUERY, "launch": "pytorch", "platform": "dgx2"}])
        self.assertFalse([text for text in own["warnings"] if "launch 'pytorch'" in text])
        self.assertEqual(len([text for text in lent["warnings"] if "was measured on hgx-h200, not on dgx2" in text]), 1)
        self.assertAlmostEqual(own["host_s"], lent["host_s"])

    def test_a_host_that_linkcast_did_not_measure_has_the_spread_between_hosts(self):
        with tempfile.TemporaryDirectory() as folder:
            mine, namesake = Path(folder) / "mine.json", Path(folder) / "namesake.json"  # calibrations of the user's own host
            text = (ROOT / "models/params/hgx-h200.json").read_text()
            namesake.write_text(text)  # as `calibrate fit --topology hgx-h200` names it
            mine.write_text(text.replace('"name": "hgx-h200"', '"name": "mine"', 1))
            query = {**self.QUERY, "launch": "pytorch"}
            own, same, shipped, lent, known = answers([{**query, "platform": str(mine)}, {**query, "platform": str(namesake)}, query,
                                                       {**query, "platform": "dgx2"}, {**query, "host_scale": 1.0}])
        def width(found: dict) -> float:
            return found["time_high_s"] / found["time_s"]
        self.assertEqual(own["host_s"], shipped["host_s"])
        self.assertGreater(width(shipped), 1.4 * width(own))
        self.assertGreater(width(lent), 1.4 * width(own))
        self.assertAlmostEqual(width(known), width(own))
        self.assertAlmostEqual(width(same), width(own))

    def test_what_mpi_issues_is_in_its_times(self):
        query = {**self.QUERY, "platform": "lassen", "library": "mpi-openmpi"}
        found = answers([query, {**query, "launch": "graph"}, {**query, "launch": "process"}])
        self.assertEqual(found[0]["time_s"], found[1]["time_s"])
        self.assertIn("/launch: is of libraries that run kernels", found[2]["error"])


if __name__ == "__main__":
    main()
