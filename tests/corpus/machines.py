"""What the queries of the corpus name: machines, libraries, operations, sizes. Written down here and not read from the
tree, so that the corpus stays the same when the tree changes; tests/python/corpus_test.py holds it against `list`."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Sequence


@dataclass(frozen=True)
class Machine:
    """A platform: what its node has, and how many nodes its fabric joins (0: it has none)."""
    name: str
    gpus: int
    cpus: int = 2
    nodes: int = 0
    nics: int = 0
    messages: tuple[str, ...] = ()  # curves of messages between nodes that were measured on it
    edits: tuple[str, ...] = ()  # what-if edits that it can have, beside those of every machine


_MPI = ("mpi_network", "mpi_network_host")
_SUMMITDEV = ("gpudirect_rdma", "pinned", "pinned_gpudirect", "unpinned", "unpinned_gpudirect")

_MACHINES = (
    Machine("abci-v100", 4, 2, 1088, 2, _MPI, (
        "remove gpu0-gpu1", "remove gpu0-gpu2:1", "disable nvlink", "swap nvlink2:nvlink3", "scale pcie3:0.5",
        "set kind=nvlink2:bandwidth=30GB/s", "fabric fat_tree:links.host.bandwidth=25GB/s")),
    Machine("alps", 4, 4, 2688, 4, _MPI, (
        "remove gpu1-gpu2:3", "scale nvlink4:0.5", "set kind=c2c:bandwidth=200GB/s", "disable p2p",
        "fabric dragonfly:links.global.bandwidth=50GB/s", "fabric dragonfly:routing=minimal")),
    Machine("apenet-cluster2", 2, 2, 12, 1, ("mpi_network",), ("scale pcie2:2", "slow nic0:2")),
    Machine("apenet-plus", 1, 2, 8, 2, ("gpudirect_rdma", "mpi_network_host", "pinned", "pinned_source"), (
        "set nic0.read_window=8KiB", "scale gpu0-cpu0:0.5", "fabric torus:dimensions=4x4")),
    Machine("abci-a100", 8, 2, 120, 4, _MPI, (
        "remove gpu0-nvs0", "slow nvs0:2", "scale nvlink3:1.5", "disable nvlink", "swap pcie4:pcie5",
        "fabric fat_tree:spines=10,uplinks_per_leaf=10")),
    Machine("dgx2", 16, 2, 64, 8, (), (
        "remove gpu0-nvs0", "slow nvs3:1.5", "scale nvlink2:0.5", "disable p2p", "set kind=nvlink2:bandwidth=20GB/s")),
    Machine("gx8", 8, 2, 0, 0, (), (
        "scale gpu0-sr0:0.5", "add gpu0-gpu1:nvlink1", "swap pcie3_root:pcie4", "scale pcie3_root:2", "disable p2p")),
    Machine("hgx-h100", 8, 2, 127, 8, (), (
        "remove gpu0-nvs0", "slow nvs1:3", "scale pcie5:0.5", "disable nvlink", "set kind=pcie5:bandwidth=128GB/s")),
    Machine("hgx-h200", 8, 2, 127, 8, (), (
        "remove gpu7-nvs3", "remove gpu0-nvs1:2", "slow nvs0:2", "disable p2p", "scale nvlink4:0.25",
        "set transport.peer.r0.startup_s=5us", "set nccl.ring.LL.hop_s=2us")),
    Machine("lassen", 4, 2, 795, 2, ("mpi_network",), (
        "remove gpu0-gpu1", "remove gpu0-gpu1:1", "scale xbus:0.5", "fabric fat_tree:links.host.bandwidth=25GB/s")),
    Machine("leonardo", 4, 1, 3456, 4, _MPI, (
        "remove gpu0-gpu3:2", "disable nvlink", "scale pcie4:0.5", "set noise.most_loss=0.2",
        "fabric dragonfly_plus:links.global.bandwidth=12.5GB/s", "fabric dragonfly_plus:routing=valiant")),
    Machine("lumi", 8, 4, 2976, 4, _MPI, (
        "remove gpu0-gpu1:2", "remove gpu2-gpu4", "scale infinity_fabric:2", "slow cpu3:2",
        "fabric dragonfly:groups=12,nodes=1488,global_links=46")),
    Machine("p100-dgx1", 8, 2, 72, 4, (), (
        "remove gpu0-gpu4", "disable nvlink", "add gpu0-gpu5:nvlink1", "add gpu0-gpu5:nvlink2:2", "swap nvlink1:nvlink2",
        "scale gpu0-gpu1:0.5", "set cable.nvlink1.bandwidth_Bps=15GB/s", "disable pcie3")),
    Machine("rtx2080-sli", 2, 1, 0, 0, (), (
        "remove gpu0-gpu1", "swap nvlink2:nvlink4", "scale pcie3:0.5", "add gpu0-gpu1:nvlink2")),
    Machine("summit", 6, 2, 4608, 2, _MPI, (
        "remove gpu0-gpu1:1", "remove gpu3-gpu4", "scale xbus:2", "disable nvlink",
        "fabric fat_tree:links.aggregation_core.bandwidth=6GB/s")),
    Machine("summitdev", 4, 2, 54, 2, _SUMMITDEV, (
        "remove gpu0-gpu1", "scale nvlink1:0.5", "swap nvlink1:nvlink2", "fabric single_switch:nodes=36,radix=80")),
    Machine("v100-dgx1", 8, 2, 72, 4, (), (
        "remove gpu0-gpu3:1", "remove gpu0-gpu4", "disable nvlink", "disable p2p", "add gpu0-gpu5:nvlink2:2",
        "slow plx0:2", "scale qpi:0.5", "swap nvlink2:nvlink3", "set kind=nvlink2:bandwidth=30GB/s")),
    Machine("v100-dgx1-fig19a", 8, 2, 72, 4, (), ("remove gpu0-gpu1", "slow plx1:2", "add gpu0-gpu4:nvlink2")),
    Machine("v100-dgx1-fig19b", 8, 2, 72, 4, (), ("remove gpu0-gpu3", "scale nvlink2:0.5", "disable p2p")),
    Machine("a100-pcie", 8, 2, 20, 2, (), ("slow gpu0:2", "scale infinity_fabric_cpu:0.5")),
    Machine("a100-pcie-nvlink", 8, 2, 20, 2, (), ("slow gpu0:2", "scale infinity_fabric_cpu:0.5")),
    Machine("dgx-a100", 8, 2, 100, 8, (), ("slow gpu0:2", "scale infinity_fabric_cpu:0.5")),
    Machine("dgx-b200", 8, 2, 127, 8, (), ("slow gpu0:2", "scale nvlink5:0.5")),
    Machine("gb200-nvl72", 72, 36, 8, 72, (), ("slow gpu0:2", "scale nvlink5:0.5")),
    Machine("h100-pcie", 8, 2, 32, 2, (), ("slow gpu0:2", "scale pcie5:0.5")),
    Machine("h100-pcie-nvlink", 8, 2, 32, 2, (), ("slow gpu0:2", "scale nvlink4:0.5")),
    Machine("l40s", 8, 2, 32, 2, (), ("slow gpu0:2", "scale pcie4:0.5")),
    Machine("mi300x", 8, 2, 128, 8, (), ("slow gpu0:2", "scale infinity_fabric:0.5")),
    Machine("rtx-4090", 8, 2, 0, 0, (), ("slow gpu0:2", "scale infinity_fabric_cpu:0.5")),
    Machine("rtx-5090", 8, 2, 0, 0, (), ("slow gpu0:2", "scale infinity_fabric_cpu:0.5")),
    Machine("rtx-a6000", 2, 1, 0, 0, (), ("slow gpu0:2", "scale nvlink3:0.5")),
    Machine("hgx-b300", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("gb300-nvl72", 72, 36, 4, 72, (), ("slow gpu0:2",)),
    Machine("rtx-pro-6000", 8, 2, 16, 2, (), ("slow gpu0:2",)),
    Machine("hgx-h20", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("h100-nvl", 8, 2, 16, 2, (), ("slow gpu0:2",)),
    Machine("a40", 8, 2, 16, 2, (), ("slow gpu0:2",)),
    Machine("rtx-a5000", 2, 1, 0, 0, (), ("slow gpu0:2",)),
    Machine("rtx-3090", 2, 1, 0, 0, (), ("slow gpu0:2",)),
    Machine("rtx-4090-switched", 8, 2, 16, 2, (), ("slow gpu0:2",)),
    Machine("dgx-spark", 1, 1, 2, 1, (), ("slow gpu0:2",)),
    Machine("mi325x", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("mi350x", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("p4d", 8, 2, 32, 4, (), ("slow gpu0:2",)),
    Machine("p5", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("p5en", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("p6-b200", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("a3-mega", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("a3-ultra", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("a4", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("nd-a100-v4", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("nd-h100-v5", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("nd-h200-v5", 8, 2, 32, 8, (), ("slow gpu0:2",)),
    Machine("nd-gb200-v6", 72, 36, 4, 72, (), ("slow gpu0:2",)),
)
MACHINES = {machine.name: machine for machine in _MACHINES}
ALL = tuple(MACHINES.values())
WITH_PAIRS = tuple(machine for machine in ALL if machine.gpus > 1)
WITH_FABRIC = tuple(machine for machine in ALL if machine.nodes)

NCCL = ("nccl-1", "nccl-2.3", "nccl-2.7", "nccl-2.8", "nccl-2.12", "nccl-2.14", "nccl-2.18", "nccl-2.20", "nccl-2.22", "nccl-2.23", "nccl-2.27", "nccl-2.30")
MPI = ("mpi-cray", "mpi-mpich", "mpi-openmpi", "mpi-spectrum", "mpi-staged")
ENGINES = {"vllm": ("one_shot", "two_shot", "multimem"), "sglang": ("one_shot", "two_shot"), "trtllm": ("one_shot", "two_shot")}
RCCL = ("rccl-2.15", "rccl-2.18", "rccl-2.21", "rccl-2.26", "rccl-2.28", "rccl-2.30")
LIBRARIES = MPI + NCCL + RCCL + tuple(ENGINES)
OPERATIONS = ("all_gather", "all_reduce", "alltoall", "broadcast", "gather", "reduce", "reduce_scatter", "scatter", "sendrecv")
RINGS = ("all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter")  # the others are made of messages
PROTOCOLS = ("LL", "LL128", "Simple")
MPI_ALGORITHMS = {
    "all_gather": ("bruck", "linear", "recursive_doubling", "ring"),
    "all_reduce": ("binomial", "rabenseifner", "recursive_doubling", "ring", "swing"),
    "alltoall": ("bruck", "linear", "pairwise", "scattered"),
    "broadcast": ("binomial", "linear", "scatter_all_gather"),
    "gather": ("binomial", "linear"),
    "reduce": ("binomial", "linear", "rabenseifner"),
    "reduce_scatter": ("pairwise", "recursive_halving", "ring"),
    "scatter": ("binomial", "linear"),
    "sendrecv": ("linear",),
}
SIZES = (1, 8, 100, 512, 4096, 16384, 65537, 262144, 1000000, 1 << 20, 3 << 20, 16 << 20, 40000000, 64 << 20, 240000000,
         1 << 28, 1000000007, 1 << 30, 4 << 30)


class Picker:
    """Chooses by hashes, so that every Python of every machine chooses alike."""

    def __init__(self, seed: str):
        self._seed, self._asked = seed, 0

    def below(self, end: int) -> int:
        self._asked += 1
        digest = hashlib.sha256(f"{self._seed} {self._asked}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % end

    def one(self, of: Sequence[Any]) -> Any:
        return of[self.below(len(of))]

    def some(self, of: Sequence[Any], count: int) -> list[Any]:
        """That many different ones, in any order."""
        left = list(of)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def size(self) -> int:
        """One of SIZES, or any other of the same span."""
        return self.one(SIZES) if self.below(3) else 1 + self.below(1 << (1 + self.below(32)))

    def subset(self, machine: Machine, count: int) -> list[int]:
        """GPUs of it, mostly in the order of their numbers."""
        gpus = self.some(range(machine.gpus), count)
        return gpus if self.below(4) == 0 else sorted(gpus)


def gpu(number: int) -> str:
    return f"gpu{number}"


def taken(members: Sequence[Any], at: int) -> Any:
    """Round and round."""
    return members[at % len(members)]
