"""Good samples of every reader of fuzz.py, and the command that reads each; tests/python/fuzz_readers_test.py proves that it does."""
from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORT, TRACES = ROOT / "tests/input/import", ROOT / "tests/input/traces"
Command = tuple[str, ...]  # "{}" stands for the file
COPIES = ("size=100MB", "unit=GB/s", "duplex=half", "transport=peer", "timing=single")


def _of(pattern: str, *words: str, folder: Path = IMPORT) -> list[tuple[Path, Command]]:
    files = sorted(folder.glob(pattern))
    assert files, pattern
    return [(path, words) for path in files]


def _import(form: str, pattern: str, *options: str, topology: str = "", machine: bool = True, folder: Path = IMPORT) -> list[tuple[Path, Command]]:
    words = ["import", form, "{}"] + (["--machine", "m"] if machine else []) + (["--topology", topology] if topology else [])
    return _of(pattern, *words, *(word for option in options for word in ("--option", option)), folder=folder)


def _trace(form: str, pattern: str, *options: str) -> list[tuple[Path, Command]]:
    return _import(form, pattern, *options, machine=False, folder=TRACES)


READERS: dict[str, list[tuple[Path, Command]]] = {
    "nccl-tests": _import("nccl-tests", "nccl-all_reduce_perf-[chklr]*.txt", topology="hgx-h100") + _import("nccl-tests", "nccl-all_reduce_perf-p100.txt", topology="p100-dgx1")
    + _import("nccl-tests", "nccl-a10g.txt", topology="aws-g5") + _import("nccl-tests", "nccl-tests-all-gather.json", topology="hgx-h200")
    + _import("nccl-tests", "rccl-tests.txt", topology="mi300x") + _import("nccl-tests", "nccl-one-of-two.txt", topology="v100-dgx1"),
    "nvbandwidth": _import("nvbandwidth", "nvbandwidth-[hit]*", topology="hgx-h100"),
    "osu": _import("osu", "osu-[bl]*-[7n]*.txt", "src=gpu0", "dst=gpu1", topology="leonardo") + _import("osu", "osu-all[gt]*.txt", "gpus=4", topology="leonardo") + _import("osu", "osu-allr*.txt", "gpus=4", "nodes=2", topology="leonardo"),
    "p2pBandwidthLatencyTest": _import("p2pBandwidthLatencyTest", "p2p-p*.txt", topology="p100-dgx1") + _import("p2pBandwidthLatencyTest", "p2p-dgx2*.txt", topology="v100-dgx2"),
    "csv": _import("csv", "copies.csv", "timing=single", topology="p100-dgx1"),
    "mgbench-csv": _import("mgbench-csv", "mgbench-full.csv", *COPIES, topology="p100-dgx1"),
    "nccl-xml": _import("nccl-xml", "*ccl-[!c]*.xml") + _import("nccl-xml", "nccl-c2c.xml") + _import("nccl-xml", "nccl-cloud.xml", "gpu=H100"),
    "hwloc-xml": _import("hwloc-xml", "hwloc-*.xml"),
    "discovery": _import("discovery", "pass_discovery.json", folder=ROOT / "tests/input"),
    "infragraph": _import("infragraph", "infragraph-*"),
    "ib-fabric": _import("ib-fabric", "ib*.txt"),
    "topo-m": _import("topo-m", "topo-[av]*.txt", "gpu=V100") + _import("topo-m", "topo-mp.txt", "gpu=V100") + _import("topo-m", "topo-mixed.txt") + _import("topo-m", "topo-h200.txt", "gpu=H200"),
    "rocm-topo": _import("rocm-topo", "rocm-topo-m*.txt") + _import("rocm-topo", "rocm-topo*[!x].txt", "gpu=MI100") + _import("rocm-topo", "amd-smi-topology.txt", "gpu=MI300X"),
    "rocm-bandwidth-test": _import("rocm-bandwidth-test", "rocm-bandwidth-test.txt", topology="mi210"),
    "aiconfigurator": _import("aiconfigurator", "aiconfigurator-nccl.csv", "dtype=half", topology="hgx-h100"),
    "nccl-inspector": _import("nccl-inspector", "nccl-inspector-*", topology="hgx-h100"),
    "dcgm": _import("dcgm", "dcgm-*", topology="hgx-h100"),
    "perftest": _import("perftest", "perftest-write-*.txt", "src=cpu0", "dst=cpu0", topology="leonardo") + _import("perftest", "perftest-send-gpu.txt", "src=gpu0", "dst=gpu0", topology="leonardo"),
    "ucx_perftest": _import("ucx_perftest", "ucx-*.txt", "src=gpu0", "dst=gpu1", topology="leonardo"),
    "topology-conf": _import("topology-conf", "topology*") + _import("topology-conf", "scontrol-*"),
    "kineto": _trace("kineto", "kineto-[bo]*"),
    "pytorch-et": _trace("pytorch-et", "pytorch-et*", "compute=0us"),
    "goal": _trace("goal", "goal.txt"),
    "nccl-log": _trace("nccl-log", "nccl-log-[os]*"),
    "flight-recorder": _trace("flight-recorder", "flight-recorder-rank-0.json"),
    "simgrid-ti": _trace("simgrid-ti", "ti-merged.txt", "flops-per-second=1e12"),
    "trace": _of("same-moment.jsonl", "replay", "{}", "--platform", "hgx-h200", folder=TRACES)
    + _of("h200x4-alexnet.jsonl", "replay", "{}", "--platform", "hgx-h200", folder=ROOT / "apps-traces/samples"),
    "topology": _of("*[0-9].json", "show", "{}", folder=ROOT / "topologies") + _of("*.json", "predict", "collective", "--platform", "alps", "--fabric-file", "{}", "--nodes", "2", "--gpus-per-node", "4", "--op", "all_reduce", "--size", "1MB", folder=ROOT / "docs/fabrics"),
    "platform": _of("*[0-9].json", "predict", "p2p", "--platform", "{}", "--src", "gpu0", "--dst", "cpu0", "--size", "1MB", folder=ROOT / "topologies"),
    "calibration": _of("*.json", "predict", "p2p", "--platform", "{}", "--src", "gpu0", "--dst", "cpu0", "--size", "1MB", folder=ROOT / "models/params"),
    "measurement": _of("*p2p*.json", "check", "{}", folder=ROOT / "calibrate/data/p100-dgx1") + _of("2*.json", "check", "{}", folder=ROOT / "calibrate/data/h100-pair"),
    "fit": _of("p2p*.json", "calibrate", "fit", "{}", "--topology", "p100-dgx1", "--bootstrap", "0", "--out", "{}.fitted", folder=ROOT / "calibrate/data/p100-dgx1"),
}


def filled(command: Command, path: Path) -> list[str]:
    return [word.replace("{}", str(path)) for word in command]


def files(name: str) -> list[Path]:
    return [path for path, _ in READERS.get(name, [])]
