"""Questions of each kind. Made by tests/lint/python_kinds.py --update from `linkcast schema`: nothing by hand."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from . import kinds
from .answers import AnswerT


class Questions:
    """What a platform can be asked."""

    def _ask(self, of: type[AnswerT], kind: str, keys: dict[str, Any]) -> AnswerT:
        raise NotImplementedError

    def collective(self, op: str, *, id: Any | None = None, solver: Literal["fluid", "fluid_simgrid", "native"] | None = None,
                   gpus: str | Sequence[int | str] | None = None, nodes: int | None = None, gpus_per_node: int | None = None,
                   size_B: float | str | None = None, sizes_B: Sequence[int | str | list[int | str]] | str | None = None,
                   library: str | None = None, algorithm: str | None = None, algorithm_file: str | None = None,
                   protocol: Literal["LL", "LL128", "Simple"] | None = None, channels: int | None = None,
                   nvls: bool | None = None, collnet: bool | None = None, calls: int | None = None,
                   launch: Literal["graph", "process", "single_process", "pytorch", "queue"] | None = None,
                   host_scale: float | None = None, explain: bool | None = None, pxn: bool | None = None,
                   cross_nic: int | None = None,
                   gdr_level: Literal["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"] | None = None,
                   least_channels: int | None = None, most_channels: int | None = None,
                   without: Sequence[str] | str | None = None, nccl_env: dict[str, Any] | None = None,
                   buffer_B: float | str | None = None, ll_buffer_B: float | str | None = None,
                   ll128_buffer_B: float | str | None = None, peer_channels: int | None = None, shm: bool | None = None,
                   plugin_tuner: bool | None = None, library_topology: str | None = None,
                   p2p_level: Literal["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"] | None = None,
                   with_: Sequence[dict[str, Any]] | str | None = None, engine: Literal["direct", "reduced"] | None = None,
                   transport: str | None = None, alternatives: bool | None = None, utilisation: bool | None = None,
                   noise: int | None = None, samples: int | None = None, service_level: int | None = None,
                   allocation: Literal["packed", "random"] | None = None, allocation_seed: int | None = None,
                   beside: Sequence[dict[str, Any]] | str | None = None) -> kinds.Collective:
        """One collective operation of a communication library: keys("collective") says what each key is."""
        return self._ask(kinds.Collective, "collective", {"id": id, "solver": solver, "op": op, "gpus": gpus, "nodes": nodes,
            "gpus_per_node": gpus_per_node, "size_B": size_B, "sizes_B": sizes_B, "library": library, "algorithm": algorithm,
            "algorithm_file": algorithm_file, "protocol": protocol, "channels": channels, "nvls": nvls, "collnet": collnet,
            "calls": calls, "launch": launch, "host_scale": host_scale, "explain": explain, "pxn": pxn, "cross_nic": cross_nic,
            "gdr_level": gdr_level, "least_channels": least_channels, "most_channels": most_channels, "without": without,
            "nccl_env": nccl_env, "buffer_B": buffer_B, "ll_buffer_B": ll_buffer_B, "ll128_buffer_B": ll128_buffer_B,
            "peer_channels": peer_channels, "shm": shm, "plugin_tuner": plugin_tuner, "library_topology": library_topology,
            "p2p_level": p2p_level, "with": with_, "engine": engine, "transport": transport, "alternatives": alternatives,
            "utilisation": utilisation, "noise": noise, "samples": samples, "service_level": service_level,
            "allocation": allocation, "allocation_seed": allocation_seed, "beside": beside})

    def fabric(self, *, id: Any | None = None, solver: Literal["fluid", "fluid_simgrid", "native"] | None = None) -> kinds.Fabric:
        """The network between nodes: keys("fabric") says what each key is."""
        return self._ask(kinds.Fabric, "fabric", {"id": id, "solver": solver})

    def flows(self, flows: Sequence[list[Any]] | str, *, id: Any | None = None,
              solver: Literal["fluid", "fluid_simgrid", "native"] | None = None,
              engine: Literal["copy_engine", "sm"] | None = None, transport: str | None = None,
              direction: Literal["read", "write"] | None = None, timing: Literal["single", "back_to_back"] | None = None,
              launch: Literal["graph", "process"] | None = None, host_scale: float | None = None, explain: bool | None = None,
              noise: int | None = None, samples: int | None = None, service_level: int | None = None) -> kinds.Flows:
        """Several copies that start together and contend: keys("flows") says what each key is."""
        return self._ask(kinds.Flows, "flows", {"id": id, "solver": solver, "flows": flows, "engine": engine,
            "transport": transport, "direction": direction, "timing": timing, "launch": launch, "host_scale": host_scale,
            "explain": explain, "noise": noise, "samples": samples, "service_level": service_level})

    def p2p(self, src: str | int, dst: str | int, size_B: float | str, *, id: Any | None = None,
            solver: Literal["fluid", "fluid_simgrid", "native"] | None = None, transport: str | None = None,
            via: str | int | None = None, engine: Literal["copy_engine", "sm"] | None = None,
            direction: Literal["read", "write"] | None = None, timing: Literal["single", "back_to_back"] | None = None,
            launch: Literal["graph", "process"] | None = None, host_scale: float | None = None, explain: bool | None = None,
            chunk_B: float | str | None = None, pageable: bool | None = None, bidirectional: bool | None = None,
            noise: int | None = None, samples: int | None = None, service_level: int | None = None,
            round_trip: bool | None = None) -> kinds.P2p:
        """One copy between two devices, nothing else going on: keys("p2p") says what each key is."""
        return self._ask(kinds.P2p, "p2p", {"id": id, "solver": solver, "src": src, "dst": dst, "size_B": size_B,
            "transport": transport, "via": via, "engine": engine, "direction": direction, "timing": timing, "launch": launch,
            "host_scale": host_scale, "explain": explain, "chunk_B": chunk_B, "pageable": pageable,
            "bidirectional": bidirectional, "noise": noise, "samples": samples, "service_level": service_level,
            "round_trip": round_trip})

    def place(self, job: str | Any | dict[str, Any], ranks: int, *, id: Any | None = None,
              solver: Literal["fluid", "fluid_simgrid", "native"] | None = None,
              busy: str | Sequence[int | str | dict[str, Any]] | None = None,
              with_: Sequence[dict[str, Any]] | str | None = None,
              objective: Literal["time", "neighbours", "both"] | None = None, library: str | None = None,
              algorithm_file: str | None = None, top: int | None = None, nodes: int | None = None,
              groups: dict[str, Any] | None = None, gpus_per_node: int | None = None) -> kinds.Place:
        """Which GPUs for a job: keys("place") says what each key is."""
        return self._ask(kinds.Place, "place", {"id": id, "solver": solver, "job": job, "ranks": ranks, "busy": busy,
            "with": with_, "objective": objective, "library": library, "algorithm_file": algorithm_file, "top": top,
            "nodes": nodes, "groups": groups, "gpus_per_node": gpus_per_node})

    def replay(self, trace: str, *, id: Any | None = None, solver: Literal["fluid", "fluid_simgrid", "native"] | None = None,
               options: dict[str, Any] | None = None, placement: str | Sequence[int | str] | None = None,
               ranks: int | None = None, library: str | None = None, algorithm_file: str | None = None,
               local: bool | None = None, host_scale: float | None = None, nvls: bool | None = None, nodes: int | None = None,
               gpus_per_node: int | None = None, interval: bool | None = None, transport: str | None = None,
               library_topology: str | None = None,
               p2p_level: Literal["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"] | None = None,
               also: Sequence[dict[str, Any]] | str | None = None, repeat: int | None = None, utilisation: bool | None = None,
               network: Literal["cluster", "node"] | None = None) -> kinds.Replay:
        """An application's trace on a machine: keys("replay") says what each key is."""
        return self._ask(kinds.Replay, "replay", {"id": id, "solver": solver, "trace": trace, "options": options,
            "placement": placement, "ranks": ranks, "library": library, "algorithm_file": algorithm_file, "local": local,
            "host_scale": host_scale, "nvls": nvls, "nodes": nodes, "gpus_per_node": gpus_per_node, "interval": interval,
            "transport": transport, "library_topology": library_topology, "p2p_level": p2p_level, "also": also, "repeat": repeat,
            "utilisation": utilisation, "network": network})

    def rings(self, *, id: Any | None = None, solver: Literal["fluid", "fluid_simgrid", "native"] | None = None,
              gpus: str | Sequence[int | str] | None = None, nodes: int | None = None, gpus_per_node: int | None = None,
              library: str | None = None, op: str | None = None, size_B: float | str | None = None,
              sizes_B: Sequence[int | str | list[int | str]] | str | None = None, nvls: bool | None = None,
              pxn: bool | None = None, cross_nic: int | None = None,
              gdr_level: Literal["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"] | None = None,
              library_topology: str | None = None,
              p2p_level: Literal["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "SYS"] | None = None) -> kinds.Rings:
        """The rings a communication library builds, and why: keys("rings") says what each key is."""
        return self._ask(kinds.Rings, "rings", {"id": id, "solver": solver, "gpus": gpus, "nodes": nodes,
            "gpus_per_node": gpus_per_node, "library": library, "op": op, "size_B": size_B, "sizes_B": sizes_B, "nvls": nvls,
            "pxn": pxn, "cross_nic": cross_nic, "gdr_level": gdr_level, "library_topology": library_topology,
            "p2p_level": p2p_level})

    def routes(self, src: str | int, dst: str | int, *, id: Any | None = None,
               solver: Literal["fluid", "fluid_simgrid", "native"] | None = None, size_B: float | str | None = None,
               k: int | None = None) -> kinds.Routes:
        """Every way between two devices, ranked by predicted time: keys("routes") says what each key is."""
        return self._ask(kinds.Routes, "routes", {"id": id, "solver": solver, "src": src, "dst": dst, "size_B": size_B, "k": k})

    def show(self, *, id: Any | None = None, solver: Literal["fluid", "fluid_simgrid", "native"] | None = None) -> kinds.Show:
        """What is wired to what on a platform, with rates, parameters and sources: keys("show") says what each key is."""
        return self._ask(kinds.Show, "show", {"id": id, "solver": solver})
