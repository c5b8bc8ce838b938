"""Logs of nccl-tests as their users have them: GPUs, NVLS, busbw, and one odd node among ten."""
import json
import random
import sys

import program
from program import InFolder, answers, run

SIZES = [2**k for k in range(14, 31)]
GPUS = 8
MODEL = "NVIDIA H100 80GB HBM3"
# Of ln(time), beside the machine's own. source: validate/diagnosis/noise.py, collectives on three occasions
NOISE = 0.012


def expected(**more) -> dict[int, float]:
    """Microseconds that all_reduce takes on a healthy HGX H100, or on one that is edited."""
    queries = [{"kind": "collective", "platform": "hgx-h100", "op": "all_reduce", "gpus": list(range(GPUS)), "size_B": size, "launch": "process",
                "library": "nccl-2.18", **more} for size in SIZES]
    return {size: 1e6 * answer["time_s"] for size, answer in zip(SIZES, answers(queries), strict=True)}


def log_text(times: dict[int, float], model: str = MODEL, extra: tuple[str, ...] = ()) -> str:
    lines = ["# nccl-tests version 2.13.0 nccl-headers=21805 nccl-library=21805", "# Collective test starting: all_reduce_perf",
             "# nThread 1 nGpus 1 minBytes 16384 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
             "#", "# Using devices"]
    lines += [f"#  Rank  {i} Group  0 Pid   {100 + i} on     node device  {i} [0x{i}0] {model}" for i in range(GPUS)]
    lines += [*extra, "#", "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"]
    lines += [f"{size} {size // 4} float sum -1 {time:.2f} 1 1 0 {time:.2f} 1 1 0" for size, time in times.items()]
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 1"]) + "\n"


class OneLog(InFolder):
    def found(self, text: str, *words: str) -> dict:
        done = run("diagnose", "--platform", "hgx-h100", self.write("log.txt", text), "--json", *words)
        return {**json.loads(done.stdout)["files"][0], "code": done.returncode}

    def test_other_gpus_are_refused_and_forced(self):
        path = self.write("a100.txt", log_text(expected(), "NVIDIA A100-SXM4-80GB"))
        done = run("diagnose", "--platform", "hgx-h100", path)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 1)
        for word in ("A100-SXM4-80GB", "H100 80GB HBM3", "--force"):
            self.assertIn(word, done.stderr)
        self.assertEqual(run("diagnose", "--platform", "hgx-h100", path, "--force").returncode, 0)

    def test_fields_of_dcgm_are_no_benchmark(self):
        path = self.write("dcgm.txt", 'DCGM_FI_PROF_NVLINK_TX_BYTES{gpu="0"} 3\n')
        self.assert_refused(run("diagnose", "--platform", "hgx-h100", path), f"error: {path}: fields of DCGM say how busy a machine is")

    def test_what_the_log_says(self):
        found = self.found(log_text(expected()))
        self.assertEqual(found["log"], {"gpus": [MODEL], "launch": "process", "library": "nccl-2.18", "nodes": 1})
        self.assertEqual((found["code"], found["verdict"], found["causes"]), (0, "normal", []))

    def test_nvls_off_in_the_log_is_no_fault_and_unsaid_it_is(self):
        times = expected(nvls=False)
        said = log_text(times, extra=("node:1:1 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.",))
        self.assertEqual(self.found(said)["log"]["nvls"], False)
        self.assertTrue(self.found(said)["normal"])
        unsaid = self.found(log_text(times))
        # One curve at most 1.4 times slower is on the verge of the alarm: the forecast's interval reaches as far.
        self.assertLess(self.found(said)["log10_faulty_over_healthy"], 0)
        self.assertGreater(unsaid["log10_faulty_over_healthy"], 0.3)

    def test_the_bus_bandwidth_and_the_next_command_are_said(self):
        times = expected(edits=["disable p2p"])
        found = self.found(log_text(times))
        self.assertEqual(found["causes"][0]["cause"], "P2P off")
        self.assertIn("nvidia-smi topo -p2p r", found["causes"][0]["next"])
        row = next(row for row in found["off"] if row["size_B"] == 2**30)
        self.assertAlmostEqual(row["measured_Bps"] / (2**30 / (1e-6 * times[2**30]) * 2 * (GPUS - 1) / GPUS), 1, 3)
        self.assertIn("measured bus", run("diagnose", "--platform", "hgx-h100", self.folder / "log.txt").stdout)


class Words(InFolder):
    """What the table says beside its figures."""

    def said(self, text: str, *words: str) -> list[str]:
        return run("diagnose", "--platform", "hgx-h100", self.write("log.txt", text), *words).stdout.splitlines()

    def test_a_normal_log_is_not_called_slow_and_says_what_it_cannot_tell(self):
        lines = self.said(log_text({size: 1.05 * time for size, time in expected().items()}))
        self.assertTrue(lines[0].endswith("34 points, normal"), lines[0])
        self.assertRegex("\n".join(lines), r"a machine \d+ % slower everywhere would look the same")

    def test_a_version_within_the_known_ones_is_not_called_the_nearest(self):
        said = "\n".join(self.said(log_text(expected())))
        self.assertIn("expected of nccl-2.18 (NCCL 2.18 and 2.19)", said)
        self.assertNotIn("nearest", said)
        newer = "\n".join(self.said(log_text(expected()).replace("21805", "29901")))
        self.assertIn("the nearest known to the file's 2.99", newer)

    def test_without_a_known_cause_there_is_a_next_command(self):
        wild = random.Random(3)
        done = run("diagnose", "--platform", "hgx-h100", "--json",
                   self.write("log.txt", log_text({size: time * wild.choice((0.5, 3)) for size, time in expected().items()})))
        found = json.loads(done.stdout)["files"][0]
        self.assertEqual(done.returncode, 4)
        self.assertTrue(found["next"])

    def test_a_gpu_is_named_by_its_bus_where_the_log_prints_it(self):
        matrix = (program.ROOT / "tests/input/import/p2p-p100-cuda8.txt").read_text()
        done = run("diagnose", "--platform", "p100-dgx1", "--scale", "gpu0-gpu1:2", self.write("p2p.txt", matrix))
        self.assertRegex(done.stdout, r"gpu0 is device \[6\] of the log, gpu1 is device \[7\]")


class Fleet(InFolder):
    def fleet(self, slower) -> list[str]:
        """Ten nodes; the one called node6 takes slower(size) times as long."""
        noise = random.Random(1)
        paths = []
        for node in range(10):
            factor = slower if node == 6 else lambda _: 1
            times = {size: time * factor(size) * noise.lognormvariate(0, NOISE) for size, time in expected().items()}
            paths.append(self.write(f"node{node}.txt", log_text(times)))
        return paths

    def found(self, paths: list[str], *words: str) -> tuple[int, list[dict]]:
        done = run("diagnose", paths[0], *[word for path in paths[1:] for word in ("--baseline", path)], "--json", *words)
        return done.returncode, json.loads(done.stdout)["fleet"]

    def test_the_odd_one_of_ten_is_named_without_a_platform(self):
        code, fleet = self.found(self.fleet(lambda _: 1.1))
        self.assertEqual(code, 4)
        odd = [member for member in fleet if not member["normal"]]
        self.assertEqual([str(member["file"])[-9:] for member in odd], ["node6.txt"])
        self.assertAlmostEqual(odd[0]["over_median"], 1.1, 1)
        self.assertNotIn("causes", odd[0])

    def test_ten_alike_are_alike(self):
        code, fleet = self.found(self.fleet(lambda _: 1))
        self.assertEqual((code, [member["normal"] for member in fleet]), (0, [True] * 10))

    def test_large_sizes_alone(self):
        _, fleet = self.found(self.fleet(lambda size: 1.15 if size >= 2**20 else 1))
        odd = next(member for member in fleet if not member["normal"])
        self.assertIn("large sizes", [part["part"] for part in odd["parts"]])

    def test_a_platform_adds_causes(self):
        _, fleet = self.found(self.fleet(lambda size: 1.3 if size >= 2**20 else 1), "--platform", "hgx-h100")
        odd = [member for member in fleet if not member["normal"]]
        self.assertEqual(len(odd), 1)
        self.assertTrue(odd[0]["causes"])

    def test_two_logs_tell_nothing(self):
        paths = self.fleet(lambda _: 1)
        done = run("diagnose", paths[0], "--baseline", paths[1])
        self.assertEqual((done.returncode, "three at least" in done.stderr), (2, True))
        self.assertEqual(run("diagnose", paths[0]).returncode, 2)


if __name__ == "__main__":
    sys.exit(program.main())
