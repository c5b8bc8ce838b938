#!/usr/bin/env python3
"""All_reduce by torch's symmetric memory, as inference engines call it: one_shot and two_shot in CUDA graphs, one process a GPU.

    python3 calibrate/bench/symmetric_memory.py --out results --machine hgx-h200 --occasion 20261121

Writes MACHINE-OCCASION-symmetric_memory.json (schema measurement/1), held out: no fit uses it. Multicast stays off.
Without PyTorch or two GPUs, or where peers cannot map each other's memory, the record holds one point that says so.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

from launch_pytorch import environment, record_parser, why_not, write

KIB, MIB = 1 << 10, 1 << 20
SIZES = [KIB * 4**i for i in range(9)]  # 1 KiB to 64 MiB, bytes of a rank's buffer
COUNTS = (2, 4, 8)                      # of GPUs that the kernels are made for
CALLS, REPETITIONS = 20, 20
METHOD = {
    "call": "torch.ops.symm_mem.one_shot_all_reduce_out and two_shot_all_reduce_, bfloat16, one process a GPU",
    "clock": f"a CUDA graph of {CALLS} calls, replayed twice without a wait: CUDA events around the second, the slowest rank, by the calls",
    "settings": "TORCH_SYMM_MEM_DISABLE_MULTICAST=1",
}


def worker(rank, ranks, folder, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1")
    import torch
    import torch.distributed as dist
    from torch.distributed import _symmetric_memory as memory
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    group = dist.group.WORLD.group_name
    whole = memory.empty(max(SIZES) // 2, dtype=torch.bfloat16, device=f"cuda:{rank}")
    if memory.rendezvous(whole, group).multicast_ptr:
        raise RuntimeError("multicast is in use although it was switched off")
    output = torch.empty_like(whole)
    rows = []
    for algorithm in ("one_shot", "two_shot"):
        for size in SIZES:
            part, result = whole[:size // 2], output[:size // 2]
            calls = {"one_shot": lambda: torch.ops.symm_mem.one_shot_all_reduce_out(part, "sum", group, result),
                     "two_shot": lambda: torch.ops.symm_mem.two_shot_all_reduce_(part, "sum", group)}
            call = calls[algorithm]
            part.fill_(rank + 1)
            torch.cuda.synchronize()
            dist.barrier()
            call()
            torch.cuda.synchronize()
            expected = ranks * (ranks + 1) / 2
            verified = bool(((result if algorithm == "one_shot" else part) == expected).all())
            dist.barrier()
            part.zero_()  # sums of sums would leave the range of the type
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(CALLS):
                    call()
            times = []
            for _ in range(REPETITIONS):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                graph.replay()
                begin.record()
                graph.replay()
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) / 1e3 / CALLS)
            rows.append({"key": {"op": "all_reduce", "gpus": list(range(ranks)), "launch": "graph", "algorithm": algorithm, "size_B": size},
                         "time_s": times, "verified": verified})
    (Path(folder) / f"{rank}.json").write_text(json.dumps(rows))
    dist.barrier()
    dist.destroy_process_group()


def run(ranks, port):
    """The points of so many GPUs, or one that says why there are none."""
    import torch.multiprocessing as processes
    with tempfile.TemporaryDirectory() as folder:
        try:
            processes.spawn(worker, (ranks, folder, port), nprocs=ranks)
        except (processes.ProcessRaisedException, processes.ProcessExitedException) as failed:
            reason = str(failed).strip().splitlines()[-1]
            return [{"op": "all_reduce", "gpus": list(range(ranks)), "launch": "graph", "size_B": SIZES[0], "status": "waived", "reason": reason}]
        per_rank = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(ranks)]
    return [same[0]["key"] | {"status": "ok", "time_s": [round(max(times), 10) for times in zip(*(row["time_s"] for row in same))],
                              "verified": all(row["verified"] for row in same)} for same in zip(*per_rank)]


def main():
    arguments = record_parser(__doc__).parse_args()
    reason, points = why_not(), []
    if reason is None:
        import torch
        gpus = torch.cuda.device_count()
        reason = f"needs 2 GPUs, this machine has {gpus}" if gpus < 2 else None
        for number, ranks in enumerate(count for count in COUNTS if count <= gpus):
            points += run(ranks, 29640 + number)
    name = f"{arguments.machine}-{arguments.occasion}-symmetric_memory"
    record = {"schema": "measurement/1", "id": name, "machine": arguments.machine, "topology": arguments.topology or arguments.machine,
              "bench": "symmetric_memory", "library": "vllm", "source": "symmetric_memory.py",
              "timing": "back_to_back", "environment": environment(), "method": METHOD,
              "notes": ["held out: never used to fit",
                        "The kernels are torch's own; vLLM calls these two-shot ones above its threshold, and has others of its own below."],
              "points": points or [{"status": "waived", "reason": reason}]}
    why = "".join(f"; {point['reason']}" for point in record["points"] if point["status"] != "ok")
    write(Path(arguments.out) / f"{name}.json", record)
    print(f"symmetric_memory: {sum(point['status'] == 'ok' for point in points)} points{why}", file=sys.stderr)


if __name__ == "__main__":
    main()
