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


def row(size: int, time: float, factor: float) -> str:
    """Out of place and in place. @param factor  of the bus bandwidth, by that of the buffer"""
    rates = f"{time:.2f} {size / time / 1e3:.2f} {size / time / 1e3 * factor:.2f} 0"
    return f"{size} {max(1, size // 4)} float sum -1 {rates} {rates}"


def log_text(times: dict[int, float], model: str = MODEL, extra: tuple[str, ...] = (), factor: float = 2 * (GPUS - 1) / GPUS) -> str:
    lines = ["# nccl-tests version 2.13.0 nccl-headers=21805 nccl-library=21805", "# Collective test starting: all_reduce_perf",
             "# nThread 1 nGpus 1 minBytes 16384 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
             "#", "# Using devices"]
    lines += [f"#  Rank  {i} Group  0 Pid   {100 + i} on     node device  {i} [0x{i}0] {model}" for i in range(GPUS)]
    lines += [*extra, "#", "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"]
    lines += [row(size, time, factor) for size, time in times.items()]
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
        self.assertIn(run("diagnose", "--platform", "hgx-h100", path, "--force").returncode, (0, 5))

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
        self.assertNotEqual(self.found(said)["verdict"], "faulty")
        unsaid = self.found(log_text(times))
        # One curve at most 1.4 times slower: the forecast's interval reaches as far, so that it is no fault.
        self.assertNotEqual(unsaid["verdict"], "faulty")
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

    def test_a_normal_log_is_not_called_slow_and_its_table_is_printed(self):
        lines = self.said(log_text(expected()))
        self.assertTrue(lines[0].endswith("34 points, 32 of them judged (the others may be host-bound), normal: slower by 1.5 times or more is excluded"), lines[0])
        self.assertEqual(sum(line.endswith(("fine", "unclear")) for line in lines), len(SIZES))

    def test_what_would_decide_is_said_where_the_log_leaves_it_open(self):
        said = self.said(log_text({size: 1.3 * time for size, time in expected().items()}))
        self.assertIn("cannot tell", said[0])
        self.assertRegex(said[1], r"may be up to \d+\.\d times slower than a healthy machine")
        self.assertTrue(any(line.startswith("would decide: ") for line in said))
        self.assertTrue(any(line.endswith("unclear") for line in said))

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
        self.assertIn(done.returncode, (4, 5))
        self.assertTrue(found["next"])

    def test_a_gpu_is_named_by_its_bus_where_the_log_prints_it(self):
        matrix = (program.ROOT / "tests/input/import/p2p-p100-cuda8.txt").read_text()
        done = run("diagnose", "--platform", "p100-dgx1", "--scale", "gpu0-gpu1:2", self.write("p2p.txt", matrix))
        self.assertRegex(done.stdout, r"gpu0 is device \[6\] of the log, gpu1 is device \[7\]")


# Microseconds of all_reduce_perf -b 8 -f 2 on 64 nodes of Alps, NCCL 2.23. source: boeschf/nccl-benchmark-on-alps-2025 at 897cff4, baseline
ALPS_64 = [104.31, 161.1, 75.31, 98.87, 90.76, 100.16, 133.8, 102, 135.45, 212.9, 246.6, 297.55, 301.3, 388, 508.35, 500.45, 375.6, 413.05, 522.75, 772.15, 1200.2, 1866.55, 2449.9, 3354.25, 5816.45, 9794.2, 23344, 24517, 46727, 92779.5]
# The same from 4 B on 8 nodes of ABCI's A100, NCCL 2.8. source: aistabci/abci2.0benchmark at f0aa27f
ABCI_8 = [57.31, 51.38, 51.35, 51.8, 52.11, 53.2, 55.01, 56.95, 63.53, 66.06, 66.33, 67.61, 70.23, 74.75, 87.36, 110.7, 130.8, 152.3, 208.6, 334.2, 587.8, 1132.4, 2034.1, 4342.8]


def nodes_log(times: dict[int, float], nodes: int, gpus: int, library: str) -> str:
    """As nccl-tests prints it of several nodes."""
    lines = [f"# nccl-tests version 2.13.0 nccl-headers={library} nccl-library={library}", "# Collective test starting: all_reduce_perf",
             "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
             "#", "# Using devices"]
    lines += [f"#  Rank {rank:2} Group  0 Pid   {100 + rank} on node{rank // gpus:03} device {rank % gpus:2} [0x{rank % gpus + 1:02x}] GPU"
              for rank in range(nodes * gpus)]
    lines += ["#", "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"]
    lines += [row(size, time, 2 * (nodes * gpus - 1) / (nodes * gpus)) for size, time in times.items()]
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 1"]) + "\n"


class HealthyTables(InFolder):
    """Logs of what others measured on healthy machines: normal or cannot tell."""

    def verdict(self, platform: str, text: str) -> str:
        done = run("diagnose", "--platform", platform, self.write("log.txt", text), "--force", "--json")
        found = json.loads(done.stdout)["files"][0]
        self.assertEqual(done.returncode, {"normal": 0, "faulty": 4, "cannot tell": 5}[found["verdict"]])
        self.assertEqual(len(found["table"]), found["points"])
        return found["verdict"]

    def test_tables_of_calibrations_are_not_faulty(self):
        verdicts = []
        for file in ("abci-a100/nccl-2.8", "abci-v100x4/nccl-2.8", "alps/nccl-2.23", "dgx-a100/nccl-2.27", "dgx-b200/nccl-2.29",
                     "l40s/nccl-2.27", "l40s/nccl-2.27-eight", "p100-dgx1/tartan-nccl2"):
            record = json.loads((program.ROOT / f"calibrate/data/{file}.json").read_text())
            curves: dict = {}
            for point in record["points"]:
                if point.get("op") == "all_reduce" and not point.get("in_place"):
                    curves.setdefault((point.get("nodes", 1), len(point["gpus"])), {})[point["size_B"]] = 1e6 * point["time_s"][0]
            library = "2" + "".join(f"{int(part):02}" for part in (record["library"].split("-")[1] + ".0").split(".")[1:])
            for (nodes, gpus), times in curves.items():
                with self.subTest(file=file, nodes=nodes, gpus=gpus):
                    verdicts.append(self.verdict(record["topology"], nodes_log(times, nodes, gpus, library)))
                    self.assertNotEqual(verdicts[-1], "faulty")
        self.assertGreaterEqual(verdicts.count("normal"), len(verdicts) // 2, verdicts)

    def test_tables_of_many_nodes_are_not_faulty(self):
        self.assertEqual(self.verdict("alps", nodes_log({8 << k: time for k, time in enumerate(ALPS_64)}, 64, 4, "22304")), "cannot tell")
        self.assertEqual(self.verdict("abci-a100", nodes_log({4 << k: time for k, time in enumerate(ABCI_8)}, 8, 8, "20804")), "normal")


class NotFitted(InFolder):
    """Copies of two hosts that no parameter was fitted to, as they were measured and with a made fault."""

    def found(self, kind: str, slower=lambda point: 1.0) -> list[dict]:
        """What is said of each record of a kind, whose points take slower(point) times as long."""
        all_found = []
        for host, platform in (("h100-pair-b", "hgx-h100"), ("h200-pair-c", "hgx-h200")):
            for file in sorted((program.ROOT / "calibrate/data" / host).glob(f"*-{kind}.json")):
                record = json.loads(file.read_text())
                for point in record["points"]:
                    point["time_s"] = [time * slower(point) for time in point["time_s"]]
                done = run("diagnose", "--platform", platform, self.write("record.json", record), "--json")
                found = json.loads(done.stdout)["files"][0]
                self.assertEqual(done.returncode, {"normal": 0, "faulty": 4, "cannot tell": 5}[found["verdict"]])
                all_found.append({**found, "file": file.name})
        self.assertGreaterEqual(len(all_found), 2)
        return all_found

    def assert_faulty(self, all_found: list[dict], cause: str, part: str = "") -> None:
        for found in all_found:
            with self.subTest(file=found["file"]):
                self.assertEqual(found["verdict"], "faulty", found.get("why"))
                self.assertEqual(found["causes"][0]["cause"], cause)
                self.assertIn(part, json.dumps(found["causes"][0]["parts"]))

    def test_healthy_ones_are_not_faulty(self):
        for kind in ("p2p_copy", "p2p_copy_single", "host_copy"):
            for found in self.found(kind):
                with self.subTest(file=found["file"]):
                    self.assertNotEqual(found["verdict"], "faulty")
                    self.assertLess(found["slow"], 0.05 * found["points"])

    def test_a_link_at_half_its_rate(self):
        for transport, cause in (("peer", "lost links"), ("staged", "PCIe width or generation")):
            halved = self.found("p2p_copy", lambda point, slow=transport: 2 if point["transport"] == slow and point["size_B"] >= 2**20 else 1)
            self.assert_faulty(halved, cause)

    def test_reads_that_take_1_6_times_as_long(self):
        self.assert_faulty(self.found("p2p_copy_single", lambda point: 1.6 if point.get("direction") == "read" else 1), "no known cause", "read")

    def test_a_slow_gpu(self):
        for kind in ("p2p_copy", "host_copy"):
            self.assert_faulty(self.found(kind, lambda point: 1.6 if "gpu1" in (point.get("source"), point.get("target")) else 1), "slow GPU", "gpu1")


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


class Change(InFolder):
    """Two logs of one benchmark."""

    def change(self, before: str, after: str, *words: str) -> tuple[int, dict]:
        done = run("diagnose", self.write("after.txt", after), "--baseline", self.write("before.txt", before), "--json", *words)
        self.assertIn(done.returncode, (0, 4, 5), done.stderr)
        return done.returncode, json.loads(done.stdout)["change"]

    def test_alike_slower_and_its_cause(self):
        noise = random.Random(2)
        noisy = lambda times: log_text({size: time * noise.lognormvariate(0, NOISE) for size, time in times.items()})  # noqa: E731
        self.assertEqual(self.change(noisy(expected()), noisy(expected()))[0], 0)
        code, change = self.change(noisy(expected()), noisy(expected(edits=["disable p2p"])))
        self.assertEqual((code, change["verdict"], change["platform"]), (4, "faulty", "hgx-h100"))
        self.assertEqual(change["causes"][0]["cause"], "P2P off")
        self.assertTrue(change["next"])

    def test_what_else_changed_is_said(self):
        path = self.write("before.txt", log_text(expected()))
        said = run("diagnose", self.write("after.txt", log_text(expected()).replace("on     node", "on     other").replace("21805", "22703")),
                   "--baseline", path).stdout
        self.assertIn("changed: hosts node -> other\n", said)
        self.assertIn("changed: library nccl-2.18 -> nccl-2.27\n", said)

    def test_other_gpus_or_sizes_are_refused(self):
        done = run("diagnose", self.write("after.txt", log_text(expected(), "NVIDIA A100-SXM4-40GB")), "--baseline",
                   self.write("before.txt", log_text(expected())))
        self.assert_refused(done, f"error: {self.folder}/after.txt: is of 'NVIDIA A100-SXM4-40GB'")
        done = run("diagnose", self.folder / "before.txt", "--baseline", self.write("nodes.txt", nodes_log({1024: 30}, 2, 4, "21805").replace(" GPU\n", f" {MODEL}\n")))
        self.assert_refused(done, f"error: {self.folder}/before.txt: has no point in common")

    def test_a_slow_node_from_pairs_in_one_file_and_in_several(self):
        def text(hosts: str) -> str:
            log = nodes_log({size: (1.6 if "c" in hosts else 1) * time for size, time in expected().items()}, 2, 8, "21805")
            return log.replace("node000", hosts[0]).replace("node001", hosts[1])
        pairs = ["ab", "ac", "ad", "bc", "bd", "cd"]
        one = run("diagnose", self.write("pairs.txt", "".join(map(text, pairs))), "--json")
        several = run("diagnose", *[self.write(f"{pair}.txt", text(pair)) for pair in pairs], "--json")
        for done in (one, several):
            self.assertEqual(done.returncode, 4, done.stderr)
            nodes = json.loads(done.stdout)["nodes"]
            self.assertEqual([slow["hosts"] for slow in nodes["slow"]], [["c"]])
            self.assertAlmostEqual(nodes["slow"][0]["times"], 1.6, 2)
            self.assertEqual([log["slow"] for log in nodes["logs"]], ["c" in pair for pair in pairs])


class FirstTry(InFolder):
    """Without options: the machine that the log itself names, or commands to paste."""

    def test_the_one_machine_that_fits_is_used(self):
        done = run("diagnose", self.write("log.txt", log_text(expected())))
        self.assertEqual(done.returncode, 0)
        first = done.stdout.splitlines()[0]
        self.assertTrue(first.startswith(f"hgx-h100: the one shipped machine of 8 x {MODEL}; set platform to "), first)
        self.assertIn(" or p5 ", first)
        self.assertEqual(run(self.folder / "log.txt").stdout, done.stdout)  # no command is needed
        between = run("diagnose", program.ROOT / "tests/input/diagnose/slow-start.txt").stdout
        self.assertIn("network of hgx-h100: 8 x ib_ndr 50 GB/s a node; the log does not show it\n", between)

    def test_several_or_none_are_commands(self):
        other = self.write("log.txt", log_text(expected(), "NVIDIA RTX 6000 Ada Generation"))
        copies = program.ROOT / "tests/input/import/p2p-a100-writes.txt"  # whose hosts differ, unlike their NVLinks
        for path, words in ((copies, ["is of 4 x NVIDIA A100-SXM4-40GB", "--platform dgx-a100'", "--platform abci-a100'"]),
                            (other, ["is of 8 x NVIDIA RTX 6000 Ada", "no shipped machine has", "linkcast init topo.txt list.txt"])):
            with self.subTest(path=path):
                done = run("diagnose", path)
                self.assert_refused(done, f"error: {path}: ")
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_pairs_show_pcie_or_bridges(self):
        matrix = (program.ROOT / "tests/input/diagnose/cold-first-cell.txt").read_text().replace("H100 80GB HBM3", "H100 PCIe")
        self.assertIn("h100-pcie-nvlink: the one", run("diagnose", self.write("fast.txt", matrix)).stdout)
        slow = "".join(line.replace(" 37", "  3") for line in matrix.splitlines(keepends=True))
        self.assertIn("h100-pcie: the one", run("diagnose", self.write("slow.txt", slow)).stdout)

    def test_the_operation_is_that_of_the_bus_bandwidth(self):
        for factor, root, redop, op in ((1.75, -1, "sum", "all_reduce"), (0.875, -1, "sum", "reduce_scatter"), (1, 0, "sum", "reduce"),
                                        (1, 0, "none", "broadcast"), (0.875, -1, "none", "all_gather")):
            text = log_text({2**20: 100, 2**24: 200}, factor=factor).replace("# Collective test starting: all_reduce_perf\n", "")
            done = run("import", "nccl-tests", self.write("log.txt", text.replace(" sum -1 ", f" {redop} {root} ")), "--machine", "m", "--topology", "hgx-h100")
            self.assertEqual(json.loads(done.stdout)["points"][0]["op"], op, done.stderr)
        unlike = log_text({2**20: 100, 2**24: 200}, factor=1.3).replace("# Collective test starting: all_reduce_perf\n", "")
        self.assert_refused(run("import", "nccl-tests", self.write("log.txt", unlike), "--machine", "m", "--topology", "hgx-h100"),
                            f"error: {self.folder}/log.txt:2: neither the text nor the file's name says the operation")

    def test_a_file_for_another_command_names_it(self):
        log, topo = self.write("log.txt", log_text(expected())), program.ROOT / "tests/input/import/topo-v100-dgx1.txt"
        for words, right in ((["diagnose", topo], f"linkcast init {topo}"), (["init", log], f"linkcast diagnose {log}"),
                             (["replay", log, "--platform", "hgx-h100"], f"linkcast diagnose {log}"),
                             (["diagnose", "hgx-h100", log], "linkcast diagnose LOG --platform hgx-h100")):
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(right, done.stderr)


class Misleading(InFolder):
    """Invented logs whose first explanation would be a wrong one."""

    def found(self, name: str, platform: str) -> dict:
        return json.loads(run("diagnose", program.ROOT / f"tests/input/diagnose/{name}.txt", "--platform", platform, "--json").stdout)["files"][0]

    def test_small_sizes_that_all_take_as_long_are_start_up(self):
        found = self.found("slow-start", "hgx-h100")
        self.assertEqual(found["verdict"], "faulty")
        self.assertEqual(found["causes"][0]["cause"], "start-up between nodes")
        self.assertGreater(found["causes"][0]["share"], 0.5)
        self.assertLessEqual({cause["cause"] for cause in found["causes"]},
                             {"start-up between nodes", "protocol or algorithm", "network between nodes"})
        self.assertIn("osu_latency", found["next"])

    def test_a_narrow_slow_network_is_the_network(self):
        found = self.found("narrow-network", "dgx-a100")
        self.assertEqual((found["verdict"], found["causes"][0]["cause"]), ("faulty", "network between nodes"))
        self.assertLessEqual({cause["cause"] for cause in found["causes"]}, {"network between nodes", "start-up between nodes"})
        self.assertEqual(found["network"], "8 x ib_hdr 25 GB/s a node")

    def test_a_cold_first_cell_is_left_out(self):
        found = self.found("cold-first-cell", "hgx-h100")
        self.assertEqual((found["verdict"], found["slow"]), ("normal", 0))
        self.assertIn("the first figure printed, gpu0 -> gpu0, is cold: it took 6.9 times its repetition", found["log"]["left_out"])


if __name__ == "__main__":
    sys.exit(program.main())
