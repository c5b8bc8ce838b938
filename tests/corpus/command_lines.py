"""Command lines of the corpus. Each entry is one or several lines that run in order and share a temporary folder: @NAME is a file
in it. What INPUTS or WRITTEN names lies there, what the lines write is part of the answer."""
from __future__ import annotations

import re
from typing import Iterator

import wrong_lines
from machines import ALL

_IMPORT = "tests/input/import"
_TRACES = "tests/input/traces"
_DATA = "calibrate/data"
# Files that lines read, by their place in the tree of this script: both programs of a comparison read the same ones.
INPUTS = {name: f"{_IMPORT}/{name}" for name in (
    "hwloc-abci-v100.xml", "nccl-hgx-h200.xml", "osu-mbw-mr-a100.txt", "nccl-all_reduce_perf-p100.txt", "topo-pcie.txt",
    "nccl-dgx2.xml",
    "osu-latency-host.txt", "nccl-tests-sendrecv.txt", "nvbandwidth-h100.json", "nccl-p100-dgx1.xml", "nccl-power.xml",
    "p2p-dgx2-reads.txt", "nvlink-h200.txt", "copies.csv", "osu-bw-nv4.txt", "p2p-a100-writes.txt", "nvbandwidth-h100.txt",
    "topo-h200.txt",
    "topo-abci-v100.txt", "nccl-c2c.xml", "osu-multi-lat-a100.txt", "nccl-tests-all-gather.json", "osu-bibw-nv4.txt",
    "mgbench-full.csv",
    "topo-v100-dgx1.txt", "p2p-p100-cuda8.txt", "infragraph-dgx1.json", "list-pcie.txt", "nccl-v100-dgx1.xml")}
INPUTS |= {name: f"{_TRACES}/{name}" for name in (
    "goal.txt", "ti.txt", "ti-merged.txt", "nccl-log-rank0.txt", "nccl-log-rank1.txt", "nccl-log-one-process.txt",
    "nccl-log-stamped.txt", "pytorch-et.json", "kineto-times.json", "ti-rank-1.txt", "ti-rank-2.txt", "ti-rank-3.txt",
    "ti-rank-4.txt")}
INPUTS |= {
    "discovery.json": "tests/input/pass_discovery.json", "mixed.jsonl": "tests/input/batch_mixed.jsonl",
    "cut.json": "tests/input/fail_truncated.json", "no-unit.json": "tests/input/fail_topology_no_unit.json",
    "torus.json": "docs/fabrics/torus.json", "rail.json": "docs/fabrics/rail_optimized.json",
    "day.jsonl": "apps-traces/jobs/day-dgx1.jsonl",
    "gx8-copies.json": f"{_DATA}/gx8/printed-copies.json", "lumi-memcpy.json": f"{_DATA}/lumi/reframe-memcpy.json",
    "lumi-nodes.json": f"{_DATA}/lumi/printed-internode.json", "rtx.json": f"{_DATA}/rtx2080-sli/printed-latency.json",
    "noise.json": f"{_DATA}/leonardo/printed-noise.json", "nv4.json": f"{_DATA}/leonardo/osu-nv4.json",
    "leonardo-nodes.json": f"{_DATA}/leonardo/printed-internode.json", "h100.json": f"{_DATA}/hgx-h100/nvbandwidth.json",
    "contention.json": f"{_DATA}/hgx-h200/20261121e-nccl_contention.json", "v100.json": f"{_DATA}/v100-hcm/p2p-matrix.json"}

_LISTS = [f"list {what}{more}" for what in ("platforms", "collectives", "libraries", "algorithms", "fabrics", "traces", "claims")
          for more in ("", " --json")]
_SHOWS = [f"show {machine.name}" for machine in ALL] + [
    "show v100-dgx1 --json", "show lumi --json", "show dgx2 --dot", "show summit --svg", "show gx8 --svg --out @gx8.svg",
    "show p100-dgx1 --nccl-topo", "show alps --nccl-topo --out @alps.xml", "show leonardo --infragraph", "show lumi --fabric",
    "show abci-a100 --fabric --json", "show apenet-plus --fabric --json --links", "show alps --fabric --fabric-file @torus.json",
    "show leonardo --fabric --fabric-file @rail.json --json", "show v100-dgx1 --remove gpu0-gpu4 --slow gpu3:2",
    "whatif show v100-dgx1 --add gpu0-gpu5:nvlink2", "whatif show v100-dgx1 --disable nvlink --json"]
_PREDICTS = [
    "predict p2p --platform p100-dgx1 --src gpu0 --dst gpu1 --size 64MiB",
    "predict p2p --platform p100-dgx1 --src gpu2 --dst gpu3 --size 40MB --transport staged --json",
    "predict p2p --platform v100-dgx1 --src gpu0 --dst gpu7 --size 64MiB --via gpu4 --chunk 1MiB",
    "predict p2p --platform hgx-h200 --src cpu0 --dst gpu1 --size 1GiB --pageable",
    "predict p2p --platform summit --src gpu0 --dst gpu1 --size 1MiB --bidirectional --solver native",
    "predict p2p --platform leonardo --src node0/gpu0 --dst node2000/gpu0 --size 1B --noise 1 --samples 100",
    "predict p2p --platform apenet-plus --src gpu0 --dst nic0 --size 1MiB --timing back_to_back",
    "predict flows --platform v100-dgx1 --flow gpu0:gpu1:64MiB --flow gpu0:gpu2:64MiB",
    "predict flows --platform gx8 --flow gpu0:gpu4:64MiB --flow gpu1:gpu5:16MiB --engine sm --json",
    "predict collective --platform p100-dgx1 --gpus 0-4 --op all_reduce --size 1GB",
    "predict collective --platform hgx-h200 --gpus 0-7 --op all_gather --size 64MiB --nvls --json",
    "predict collective --platform hgx-h200 --gpus 0-7 --op all_reduce --size 64MiB --no-nvls --json",
    "predict collective --platform dgx-b200 --nodes 8 --op all_reduce --size 1GiB --collnet --alternatives",
    "predict collective --platform hgx-h100 --nodes 16 --gpus-per-node 1 --op all_gather --size 4MiB --library nccl-2.23",
    "predict collective --platform v100-dgx1 --gpus 0-7 --op broadcast --size 1MiB --library nccl-2.18 --protocol LL128",
    "predict collective --platform hgx-h100 --gpus 0,1 --op all_gather --size 64MiB --channels 4",
    "predict collective --platform gx8 --gpus 0,7 --op all_reduce --size 64MiB --with all_reduce:16MiB:1,6",
    "predict collective --platform leonardo --gpus 0-3 --op all_reduce --size 64MiB --library mpi-openmpi",
    "predict collective --platform alps --nodes 64 --gpus-per-node 4 --op all_reduce --size 1GiB",
    "predict collective --platform leonardo --nodes 32 --gpus-per-node 4 --op all_reduce --size 1GiB --beside incast:32 "
    "--allocation random",
    "predict collective --platform leonardo --nodes 16 --gpus-per-node 4 --op alltoall --size 2MiB --noise 3 --samples 20",
    "predict collective --platform abci-a100 --nodes 4 --gpus-per-node 8 --op alltoall --size 1GiB --library nccl-2.18",
    "predict --batch @mixed.jsonl", "predict --batch @mixed.jsonl --slow gpu0:2",
    "whatif predict --batch @mixed.jsonl --slow gpu0:2",
    "whatif predict p2p --platform p100-dgx1 --src gpu0 --dst gpu5 --size 64MiB --add gpu0-gpu5:nvlink1",
    "whatif predict collective --platform p100-dgx1 --gpus 0-7 --op all_reduce --size 64MiB --remove gpu0-gpu4",
    "whatif predict collective --platform v100-dgx1 --gpus 0-3 --op all_reduce --size 64MiB --swap nvlink2:nvlink3 --json",
    "whatif predict flows --platform dgx2 --flow gpu0:gpu9:64MiB --set kind=nvlink2:bandwidth=50GB/s"]
_WIRING = [
    "routes --platform v100-dgx1 --src gpu0 --dst gpu7 --size 64MiB", "routes --platform lumi --src gpu0 --dst gpu5 --json",
    "routes --platform summit --src node0/gpu0 --dst node700/gpu3 --size 1MiB -k 2",
    "whatif routes --platform v100-dgx1 --src gpu0 --dst gpu7 --slow gpu4:2", "rings --platform p100-dgx1 --gpus 0-4",
    "rings --platform p100-dgx1 --gpus 0-4 --library nccl-2.18",
    "rings --platform v100-dgx1 --gpus 0-7 --library nccl-2.27 --op all_reduce --size 1MiB",
    "rings --platform dgx2 --gpus 0-15 --json", "rings --platform hgx-h200 --gpus 0-7 --nvls --op all_reduce --size 64MiB",
    "rings --platform alps --nodes 4 --gpus-per-node 4", "rings --platform v100-dgx1 --gpus 0-7 --library nccl-2.18 --nccl-graph",
    "rings --platform lumi --gpus 0-7 --library rccl-2.21 --nccl-graph --out @lumi.xml",
    "whatif rings --platform p100-dgx1 --gpus 0-5 --remove gpu0-gpu4",
    "wiring --platform v100-dgx1 --mix 5+3 --steps 6 --top 2", "wiring --platform p100-dgx1 --mix 4+4 --steps 4 --seed 3 --json"]
_PLACES = [
    "place --platform v100-dgx1 --job all_reduce:64MiB --ranks 5 --top 3",
    "place --platform v100-dgx1 --job all_reduce:64MiB --ranks 4 --busy gpu0,gpu1 --json",
    "place --platform v100-dgx1 --job broadcast:64MiB --ranks 3 --busy 0,1 --format cuda",
    "place --platform v100-dgx1 --job broadcast:64MiB --ranks 3 --busy 0,1 --format rankfile --hosts n1",
    "place --platform gx8 --job all_reduce:64MiB --ranks 2 --with all_reduce:64MiB:0,1 --objective both",
    "place --platform gx8 --job data_parallel --option ranks=2 --option steps=1 --ranks 2 --top 2",
    "place --platform alps --nodes 16 --job all_reduce:256MiB --ranks 16 --busy 0-3 --with alltoall:16MiB:8,9",
    "whatif place --platform v100-dgx1 --job all_reduce:64MiB --ranks 4 --disable nvlink"]
_JOBS = "@day-start.jsonl"
_REPLAYS = [
    "replay data_parallel --option ranks=8 --platform hgx-h200", "replay h200x4-alexnet --platform hgx-h200",
    "replay h200x4-alexnet --platform hgx-h200 --local",
    "replay alexnet --option gpus=4 --option steps=2 --platform gx8 --json --utilisation",
    "replay data_parallel --option ranks=4 --option steps=2 --platform v100-dgx1 --placement 0,3,1,2 --also data_parallel:4-7",
    "replay data_parallel --option ranks=2 --option steps=1 --platform gx8 --timeline @timeline.json --repeat 2",
    "replay spin_glass --platform apenet-plus --nodes 2 --gpus-per-node 1 --transport pinned --option part=boundary",
    "replay transformer --option tp=2 --option pp=2 --option layers=4 --option steps=1 --platform hgx-h200 --host-scale 0",
    "whatif replay data_parallel --option ranks=8 --platform p100-dgx1 --remove gpu0-gpu1",
    f"schedule {_JOBS} --platform v100-dgx1",
    f"schedule {_JOBS} --platform p100-dgx1 --policy random --policy packed --seed 3 --json",
    f"schedule {_JOBS} --platform hgx-h200 --policy linkcast --policy spread"]
_TRACE_LINES = [
    "trace tartan_mtc --option gpus=1 --option iterations=1",
    "trace data_parallel --option ranks=2 --option steps=1 --out @dp.jsonl",
    "trace bfs --option nodes=2 --option scale=8 --option searches=1", "trace spin_glass --option L=32 --option steps=1",
    "trace transformer --option layers=2 --option steps=1 --option pp=2 --option batch=2",
    "trace googlenet --option gpus=2 --option steps=1"]
_IMPORTS = [
    "p2pBandwidthLatencyTest @p2p-p100-cuda8.txt --topology p100-dgx1",
    "p2pBandwidthLatencyTest @p2p-dgx2-reads.txt --topology dgx2",
    "p2pBandwidthLatencyTest @p2p-a100-writes.txt --topology abci-a100", "nvbandwidth @nvbandwidth-h100.txt --topology hgx-h100",
    "nvbandwidth @nvbandwidth-h100.json --topology hgx-h100", "nccl-tests @nccl-all_reduce_perf-p100.txt --topology p100-dgx1",
    "nccl-tests @nccl-tests-sendrecv.txt --topology hgx-h100", "nccl-tests @nccl-tests-all-gather.json --topology hgx-h200",
    "osu @osu-multi-lat-a100.txt --topology abci-a100 --option src=gpu0 --option dst=gpu0 --option between_nodes=true "
    "--option pairs=1",
    "osu @osu-bw-nv4.txt @osu-bibw-nv4.txt --topology leonardo --option src=gpu0 --option dst=gpu1 --option between_nodes=false",
    "csv @copies.csv --topology p100-dgx1 --option timing=back_to_back",
    "mgbench-csv @mgbench-full.csv --topology p100-dgx1 --option size=100MB --option unit=GB/s --option duplex=full "
    "--option transport=peer --option timing=back_to_back",
    "nccl-xml @nccl-dgx2.xml", "nccl-xml @nccl-power.xml", "nccl-xml @nccl-c2c.xml",
    "nccl-xml @nccl-v100-dgx1.xml", "topo-m @topo-h200.txt --option gpu=H200 --option cpu=intel",
    "topo-m @topo-pcie.txt @list-pcie.txt", "topo-m @topo-v100-dgx1.txt --option gpu=V100-SXM2",
    "hwloc-xml --option pcie_peer=none @hwloc-abci-v100.xml @topo-abci-v100.txt",
    "infragraph @infragraph-dgx1.json", "discovery @discovery.json"]
_TRACE_IMPORTS = [
    "goal @goal.txt", "goal @goal.txt --option unit=1us", "simgrid-ti @ti.txt --option flops-per-second=1e9",
    "simgrid-ti @ti-merged.txt --option flops-per-second=1e9", "nccl-log @nccl-log-rank1.txt @nccl-log-rank0.txt",
    "nccl-log @nccl-log-one-process.txt --option gap=2ms", "nccl-log @nccl-log-stamped.txt --option host=stamps",
    "pytorch-et @pytorch-et.json @kineto-times.json", "pytorch-et @pytorch-et.json --option compute=3us"]
_RECORDS = [
    "check @discovery.json @gx8-copies.json", "check @cut.json", "check @no-unit.json",
    "check topologies/dgx2.json topologies/v100-dgx1-fig19a.json models/params/dgx2.json",
    "diagnose --platform p100-dgx1 @p2p-p100-cuda8.txt", "diagnose --platform p100-dgx1 --scale gpu0-gpu1:2 @p2p-p100-cuda8.txt",
    "diagnose --platform hgx-h100 @nvbandwidth-h100.txt --json",
    "diagnose --platform hgx-h200 --format nccl-tests @nccl-tests-all-gather.json",
    "diagnose --platform gx8 @gx8-copies.json",
    "calibrate fit @gx8-copies.json --topology gx8 --bootstrap 3 --out @fit.json",
    "calibrate fit @lumi-memcpy.json @lumi-nodes.json --topology lumi --library rccl-2.15 --bootstrap 3 --out @fit.json "
    "--report @report",
    "calibrate fit @rtx.json --topology rtx2080-sli --inherit models/params/abci-v100.json models/params/p100-dgx1.json "
    "--bootstrap 0 --name box --out @fit.json",
    "calibrate fit @nv4.json @leonardo-nodes.json @noise.json --topology leonardo --library nccl-2.18 "
    "--inherit models/params/abci-a100.json --bootstrap 0 --out @fit.json",
    "calibrate trace h200x4-alexnet --platform hgx-h200 --local-step 4.75ms --out @fitted.jsonl",
    "validate --json", "validate TPDS-029", "validate --table TAR-005 TAR-006 GX8-001",
    "validate TPDS-001 SC24-001 APE-001 --json", "validate SC24-081 --report @report",
    "validate --against @gx8-copies.json", "validate --against @contention.json --json",
    "validate --against @h100.json --median-limit 0.0001",
    "validate --against @v100.json --slow gpu3:1.2"]
_SUBCOMMANDS = ("list", "show", "predict", "predict p2p", "predict flows", "predict collective", "routes", "rings", "calibrate",
                "calibrate fit",
                "calibrate trace", "validate", "diagnose", "import", "check", "trace", "replay", "place", "schedule", "wiring",
                "serve", "whatif",
                "whatif predict", "sweep", "report")
_STUDY = (
    '{"schema": "linkcast/study/1", "name": "small", "about": "of the corpus", "query": {"kind": "collective", "op": "all_reduce"}, '
    '"axes": {"platform": ["p100-dgx1"], "gpus": {"subsets_of": 4, "sizes": [2, 4]}, '
    '"size_B": {"from": "1KiB", "to": "1GiB", "factor": 1024}}}')
_SLURM = (
    '{"job_id": 71, "num_tasks": 4, "tres_per_node": "gres/gpu:4", "comment": "linkcast:job=all_reduce:64MiB", "nodes": '
    '[{"name": "n1", "platform": "v100-dgx1", "gpus_busy": [0, 1, 2]}, {"name": "n2", "platform": "v100-dgx1", "gpus_busy": [0, 6]}]}')
_DAY = '{"schema": "jobs/1", "name": "start", "source": "by hand"}\n' + "".join(
    f'{{"id": "{at}", "arrival_s": {40.5 * at}, "gpus": {1 + at % 5}, "iterations": {500 + 37 * at}, "compute_s": 0.05, '
    f'"op": "all_reduce", "size_B": 102400000}}\n' for at in range(14))
_TOPOLOGY_CONF = "SwitchName=s0 Nodes=n[01-04]\nSwitchName=s1 Nodes=n[05-08]\nSwitchName=root Switches=s[0-1]\n"
WRITTEN = {"study.json": _STUDY, "day-start.jsonl": _DAY, "topology.conf": _TOPOLOGY_CONF}  # files of a few lines, made up here


def _entries() -> Iterator[tuple[list[str], str]]:
    """Lines and standard input."""
    for line in (*_LISTS, *_SHOWS, *_PREDICTS, *_WIRING, *_PLACES, *_REPLAYS, *_TRACE_LINES, *_RECORDS, "--version",
                 "--help"):
        yield [line], ""
    yield ["place --slurm"], _SLURM
    yield ["predict --batch -"], '{"id": 1, "kind": "p2p", "platform": "dgx2", "src": "gpu0", "dst": "gpu9", "size_B": 67108864}\n'
    yield ["sweep @study.json --dry-run"], ""
    yield ["sweep @study.json --jobs 1 --out @sweep"], ""
    for line in _IMPORTS:
        yield [f"import {line} --machine box --out @box.json", "check @box.json"], ""
    yield ["import topology-conf @topology.conf --machine site --out @groups.json", "check @groups.json"], ""
    for at, line in enumerate(_TRACE_IMPORTS):
        platform = "hgx-h200" if at % 2 else "v100-dgx1"
        yield [f"import {line} --out @trace.jsonl", "check @trace.jsonl", f"replay @trace.jsonl --platform {platform}"], ""
    for name in _SUBCOMMANDS:
        yield [f"{name} --help"], ""
    for line in wrong_lines.LINES:
        yield [line], ""


def commands() -> list[dict[str, object]]:
    """Of each entry its lines, its standard input, and its files: from a place in the tree or with a text."""
    made = []
    for lines, stdin in _entries():
        names = set(re.findall(r"@([\w.-]+)", " ".join(lines)))
        if "ti.txt" in names:  # it lists the files of the ranks
            names |= {f"ti-rank-{rank}.txt" for rank in range(1, 5)}
        inputs = {name: INPUTS[name] for name in sorted(names) if name in INPUTS}
        texts = {name: WRITTEN[name] for name in sorted(names) if name in WRITTEN}
        made.append({"lines": [line.replace("@", "{tmp}/") for line in lines], "stdin": stdin, "inputs": inputs, "texts": texts})
    return made
