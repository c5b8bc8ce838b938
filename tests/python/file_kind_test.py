#!/usr/bin/env python3
"""A file in the wrong place: the command that takes it is named, or what the file is, or that it is not known."""
import re

import program
from program import InFolder, main, run

INPUT = "tests/input/import/"
TRACES = "tests/input/traces/"
COMMANDS = {  # of a file alone
    INPUT + "topo-h200.txt": "linkcast init",
    INPUT + "topo-p2p.txt": "linkcast init",
    INPUT + "hwloc-mi250x.xml": "linkcast init",
    INPUT + "rocm-topo.txt": "linkcast init",
    INPUT + "amd-smi-topology.json": "linkcast init",
    INPUT + "amd-smi-topology.csv": "linkcast init",
    INPUT + "rocm-topo.csv": "linkcast init",
    INPUT + "topo-wrapped-mail.txt": "linkcast init",
    INPUT + "rocm-topo.json": "linkcast init",
    INPUT + "ibnetdiscover.txt": "linkcast import ib-fabric",
    INPUT + "iblinkinfo.txt": "linkcast import ib-fabric",
    INPUT + "scontrol-topology.txt": "linkcast import topology-conf",
    INPUT + "topology.yaml": "linkcast import topology-conf",
    INPUT + "infragraph-nvsw.json": "linkcast import infragraph",
    INPUT + "copies.csv": "linkcast import csv",
    INPUT + "mgbench-full.csv": "linkcast import mgbench-csv",
    "tests/input/pass_discovery.json": "linkcast import discovery",
    "tests/input/pass_topology.json": "linkcast show",
    "calibrate/data/h100-pair-b/20261128a-launch.json": "linkcast calibrate fit MEASUREMENTS",
    "tests/input/batch_mixed.jsonl": "linkcast predict --batch",
    TRACES + "kineto-times.json": "linkcast import kineto",
    TRACES + "pytorch-et-1.0.1.json": "linkcast import pytorch-et",
    TRACES + "nccl-log-rank0.txt": "linkcast import nccl-log",
    TRACES + "goal.txt": "linkcast import goal",
    TRACES + "ti-rank-1.txt": "linkcast import simgrid-ti",
    TRACES + "same-moment.jsonl": "linkcast replay",
}
LOGS = ("perftest-write-lat.txt", "rocm-bandwidth-test.txt", "nccl-inspector-rank0.jsonl", "aiconfigurator-nccl.csv")


class Alone(InFolder):
    def test_the_command_that_takes_a_file(self):
        for path, command in COMMANDS.items():
            with self.subTest(path):
                self.assert_refused(run(path), f"a command is missing before '{path}': {command} ")

    def test_named_importers_take_the_file(self):
        for path, command in COMMANDS.items():
            if path.startswith(TRACES) or not command.startswith("linkcast import ") or "csv" in command:
                continue
            said = re.search(r": linkcast (import \S+ \S+) --machine NAME --out FILE$", run(path).stderr, re.MULTILINE)
            self.assertEqual(run(*said[1].split(), "--machine", "m", "--out", self.folder / "out").returncode, 0, path)

    def test_logs_of_every_benchmark_are_diagnosed(self):
        for name in LOGS:
            self.assertNotIn("command", run(INPUT + name).stderr, name)

    def test_what_is_not_read(self):
        unknown = self.write("notes.txt", "Dear all,\nthe cluster is slow.\n")
        self.assert_refused(run(unknown), f"{unknown}: is not known by what it holds; 'linkcast import FORMAT FILE' reads ")
        for format_name in ("nccl-tests", "kineto", "rocm-topo"):
            self.assertIn(format_name, run(unknown).stderr)
        self.assert_refused(run("no-such-log.txt"), "no-such-log.txt: is no command, and no such file")
        self.assert_refused(run(self.folder), "is a folder: name a file in it")
        self.assert_refused(run("predct"), "unknown subcommand 'predct' (did you mean 'predict'?)")

    def test_what_people_paste_for_another_output(self):
        for text, what in (("| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15 |\n", "'nvidia-smi topo -m'"),
                           ('DCGM_FI_DEV_GPU_UTIL{gpu="0"} 3\n', "fields of DCGM"),
                           ("<nvidia_smi_log>\n", "'nvidia-smi topo -m'"),
                           ("GPU: 0\n    KFD_ID: 51140\n", "'amd-smi topology'"),
                           ("node distances:\nnode   0   1\n", "numactl --hardware names no GPU"),
                           ("CA 'mlx5_0'\n\tCA type: MT4129\n", "ibnetdiscover lists the fabric"),
                           ("Machine\n  NUMANode L#0 (P#0)\n", "'lstopo --of xml'"),
                           ("Time (%),Total Time (ns),Instances\n", "'nsys export --type sqlite'"),
                           ("#    Intel(R) MPI Benchmarks 2021.3\n", "what import osu reads"),
                           ("n:1:1 [0] NCCL INFO Bootstrap : Using eth0\n", "no table of nccl-tests")):
            self.assert_refused(run(self.write("pasted.txt", text)), what)


class OtherCommands(InFolder):
    def test_a_file_of_another_command(self):
        log, topo = INPUT + "nccl-tagged.txt", INPUT + "topo-h200.txt"
        for words in (["show", log], ["check", log], ["calibrate", "fit", log, "--topology", "hgx-h100", "--out", "x"],
                      ["replay", log, "--platform", "dgx2"]):
            self.assert_refused(run(*words), "by what it holds: linkcast diagnose " + log)
        for words in (["predict", "p2p", "--platform", topo, "--src", "gpu0", "--dst", "gpu1", "--size", "1MB"], ["show", topo]):
            self.assert_refused(run(*words), "by what it holds: linkcast init " + topo)
        self.assert_refused(run("replay", TRACES + "kineto-times.json", "--platform", "dgx2"), "linkcast import kineto")

    def test_a_file_of_another_importer(self):
        machine = ("--machine", "m", "--topology", "hgx-h100")
        for name, path, right in (("osu", INPUT + "nccl-tagged.txt", "nccl-tests"), ("topo-m", INPUT + "nccl-tagged.txt", "nccl-tests"),
                                  ("nccl-tests", INPUT + "topo-h200.txt", "topo-m"), ("kineto", INPUT + "osu-allreduce.txt", "osu")):
            self.assert_refused(run("import", name, path, *machine), f"is no file for import {name}, by what it holds: linkcast import {right} {path}")
        broken = self.write("broken.txt", (program.ROOT / INPUT / "nccl-tagged.txt").read_text().replace("algbw", "rate"))
        self.assert_refused(run("import", "nccl-tests", broken, *machine), "column 'rate' is not known")

    def test_files_in_another_order(self):
        first, second = INPUT + "nvlink-h200.txt", INPUT + "topo-h200.txt"
        self.assert_refused(run("import", "topo-m", first, second, "--machine", "m"), f"linkcast import topo-m {second} {first}")
        self.assertEqual(run("import", "topo-m", second, first, "--machine", "m", "--out", self.folder / "out").returncode, 0)


if __name__ == "__main__":
    main()
