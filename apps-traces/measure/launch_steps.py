#!/usr/bin/env python3
"""Times and records steps of six patterns with PyTorch on the GPUs of this machine: the host's cost and the profiler's.

Patterns: ddp (data parallel), fsdp (fully sharded), tensor (tensor parallel, long sequences), decode (tensor parallel,
one token), expert (experts behind two alltoalls), pipeline (micro batches from GPU to GPU). Transformer blocks, bf16,
synthetic data. Each is run untraced, with CUDA activities recorded and with CPU and CUDA activities recorded.

    python3 apps-traces/measure/launch_steps.py --out steps.json --traces FOLDER

Writes one row a pattern, and the recordings of every rank into --traces. --no-peer-access sets NCCL_P2P_DISABLE=1.
"""
import argparse
import gzip
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import nn

WARM_UP, STEPS, RECORDED = 8, 25, 3
ACTIVITIES = {"cuda": [torch.profiler.ProfilerActivity.CUDA],
              "cpu_cuda": [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]}


class Block(nn.Module):
    """A transformer block of `width` whose inner dimensions are divided by `parts`; `join` meets after each half."""

    def __init__(self, width, parts=1, join=None):
        super().__init__()
        self.heads, self.join = max(1, width // 128 // parts), join or (lambda x: x)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width // parts), nn.Linear(width // parts, width)
        self.up, self.down = nn.Linear(width, 4 * width // parts), nn.Linear(4 * width // parts, width)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.join(self.out(mixed.transpose(1, 2).reshape(batch, length, -1)))
        return x + self.join(self.down(nn.functional.gelu(self.up(self.second(x)))))


def blocks(count, width, parts=1, join=None):
    return nn.Sequential(*[Block(width, parts, join) for _ in range(count)]).cuda().bfloat16()


def tokens(batch, length, width):
    return torch.randn(batch, length, width, device="cuda", dtype=torch.bfloat16)


def trainer(model, data):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        model(data).float().pow(2).mean().backward()
        optimizer.step()
    return step


def ddp(rank, ranks):
    model = nn.parallel.DistributedDataParallel(blocks(8, 1024), device_ids=[rank])
    return trainer(model, tokens(4, 512, 1024))


def fsdp(rank, ranks):
    from torch.distributed.fsdp import fully_shard
    model = blocks(8, 1024)
    for block in model:
        fully_shard(block)
    fully_shard(model)
    return trainer(model, tokens(2, 512, 1024))


def summed(x):
    dist.all_reduce(x)
    return x


def inference(model, data):
    def step():
        with torch.no_grad():
            model(data)
    return step


def tensor(rank, ranks):
    return inference(blocks(12, 4096, ranks, summed), tokens(4, 1024, 4096))


def decode(rank, ranks):
    return inference(blocks(24, 4096, ranks, summed), tokens(16, 1, 4096))


class Experts(nn.Module):
    """Tokens go to the experts' GPUs and come back, in equal shares."""

    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        there, back = torch.empty_like(x), torch.empty_like(x)
        dist.all_to_all_single(there, x.contiguous())
        done = self.down(nn.functional.gelu(self.up(there)))
        dist.all_to_all_single(back, done.contiguous())
        return x + back


def expert(rank, ranks):
    layers = [layer for _ in range(6) for layer in (Block(2048), Experts(2048))]
    return inference(nn.Sequential(*layers).cuda().bfloat16(), tokens(4, 1024, 2048))


def pipeline(rank, ranks):
    model, data = blocks(6, 2048), [tokens(1, 1024, 2048) for _ in range(4)]

    def step():
        with torch.no_grad():
            for batch in data:
                if rank > 0:
                    dist.recv(batch, rank - 1)
                result = model(batch)
                if rank + 1 < ranks:
                    dist.send(result, rank + 1)
    return step


PATTERNS = {"ddp": ddp, "fsdp": fsdp, "tensor": tensor, "decode": decode, "expert": expert, "pipeline": pipeline}


def timed_steps(step, steps):
    """Seconds of each step, the GPU waited for after each, and how long the CPU took to issue it."""
    seconds, issue = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        issue.append(time.perf_counter() - begin)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return seconds, issue


def recorded(step, activities, path):
    """Seconds of steps while the profiler records; the recording is written to `path`, if given."""
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=RECORDED, repeat=1)
    with torch.profiler.profile(activities=activities, schedule=schedule) as profile:
        timed_steps(step, 1)
        profile.step()
        seconds = []
        for _ in range(RECORDED):
            seconds += timed_steps(step, 1)[0]
            profile.step()
    if path:
        profile.export_chrome_trace(str(path))
        with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        path.unlink()
    return seconds


def measured(name, rank, ranks, traces):
    torch.manual_seed(0)
    step = PATTERNS[name](rank, ranks)
    timed_steps(step, WARM_UP)
    dist.barrier()
    seconds, issue = timed_steps(step, STEPS)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    row = {"untraced_s": seconds, "issue_s": issue, "back_to_back_s": (time.perf_counter() - begin) / 10}
    for mode, activities in ACTIVITIES.items():
        path = Path(traces) / f"{name}-{mode}-rank{rank}.json" if traces else None
        row[f"{mode}_s"] = recorded(step, activities, path)
        dist.barrier()
    return row


def worker(rank, ranks, arguments, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(arguments.port), NCCL_NVLS_ENABLE="0")
    if arguments.no_peer_access:
        os.environ["NCCL_P2P_DISABLE"] = "1"
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    rows = {}
    for name in arguments.only:
        rows[name] = measured(name, rank, ranks, arguments.traces)
        torch.cuda.empty_cache()
        (Path(folder) / f"{rank}.json").write_text(json.dumps(rows))
    dist.destroy_process_group()


def summary(name, rows):
    """Of the slowest rank: a step ends when all are done."""
    slowest = {key: [max(column) for column in zip(*(row[key] for row in rows))]
               for key in ("untraced_s", "cuda_s", "cpu_cuda_s")}
    median = {key: round(statistics.median(values), 7) for key, values in slowest.items()}
    return {"pattern": name, "step_time_s": median["untraced_s"],
            "step_times_s": [round(value, 7) for value in slowest["untraced_s"]],
            "back_to_back_s": round(max(row["back_to_back_s"] for row in rows), 7),
            "issue_s": [round(statistics.median(row["issue_s"]), 7) for row in rows],
            "recorded_cuda_s": median["cuda_s"], "recorded_cpu_cuda_s": median["cpu_cuda_s"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="JSON file to write")
    parser.add_argument("--traces", help="folder for the recordings of every rank")
    parser.add_argument("--only", nargs="+", choices=PATTERNS, default=list(PATTERNS))
    parser.add_argument("--no-peer-access", action="store_true", help="NCCL_P2P_DISABLE=1: through host memory")
    parser.add_argument("--port", type=int, default=29700)
    arguments = parser.parse_args()
    ranks = torch.cuda.device_count()
    with tempfile.TemporaryDirectory() as folder:
        failure = None
        try:
            processes.spawn(worker, (ranks, arguments, folder), nprocs=ranks)
        except Exception as error:  # what was measured before it stays, and the file says what stopped the rest
            failure = str(error).strip().splitlines()[-1]
        rows = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(ranks)]
    complete = [name for name in PATTERNS if all(name in row for row in rows)]
    result = {"what": "steps of transformer blocks in six parallel patterns, bf16, synthetic data (launch_steps.py)",
              "gpu": torch.cuda.get_device_name(0), "gpus": ranks, "peer_access": not arguments.no_peer_access,
              "torch": torch.__version__, "nccl": list(torch.cuda.nccl.version()), "python": platform.python_version(),
              "warm_up": WARM_UP, "failure": failure,
              "rows": [summary(name, [row[name] for row in rows]) for name in complete]}
    Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")
    for row in result["rows"]:
        print(row["pattern"], row["step_time_s"], row["issue_s"], row["recorded_cuda_s"], row["recorded_cpu_cuda_s"])


if __name__ == "__main__":
    main()
