#!/usr/bin/env python3
"""Two small patterns, recorded with linkcast_record and timed once more without: what a recorder is tried on.

    PYTHONPATH=apps-traces/record torchrun --nproc-per-node 2 apps-traces/measure/record_steps.py --out steps
    linkcast record --out steps/ddp -- torchrun --nproc-per-node 2 apps-traces/measure/record_steps.py --plain --out steps

ddp trains 8 transformer layers of width 1024 in bf16; tensor infers with 8 layers whose halves are summed by all_reduce,
without an optimizer. Writes steps/ddp/rankR.json, steps/tensor/rankR.json, and steps/untraced.json: means over 20 steps
after the recording, back to back, of the slower rank. --plain trains alone and leaves recording to `linkcast record`.
"""
import argparse
import json
import os
import time
from pathlib import Path

import linkcast_record
import torch
import torch.distributed as dist

WIDTH, LAYERS, STEPS = 1024, 8, 20
PLAIN = 40  # more than a recorder needs


def layers(parts):
    def one():
        return [torch.nn.Linear(WIDTH, 4 * WIDTH // parts), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH // parts, WIDTH)]
    return [torch.nn.Sequential(*one()).cuda().bfloat16() for _ in range(LAYERS)]


def ddp(rank, ranks):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers(1)), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(2048, WIDTH, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad()
        model(data).float().pow(2).mean().backward()
        optimizer.step()
    return step


def tensor(rank, ranks):
    parts = layers(ranks)
    data = torch.randn(2048, WIDTH, device="cuda", dtype=torch.bfloat16)

    @torch.no_grad()
    def step():
        x = data
        for part in parts:
            y = part(x)
            dist.all_reduce(y)
            x = x + y
    return step


def mean_step(step):
    """Seconds a step without a profiler, back to back, of the slower rank."""
    dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    seconds = torch.tensor((time.perf_counter() - start) / STEPS, device="cuda")
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    return seconds.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, help="folder to write")
    parser.add_argument("--plain", action="store_true", help="ddp alone, without a recorder of its own")
    options = parser.parse_args()
    out = options.out
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    untraced = {}
    for pattern in (ddp,) if options.plain else (ddp, tensor):
        step = pattern(rank, ranks)
        if options.plain:
            for _ in range(PLAIN):
                step()
        else:
            with linkcast_record.Recorder(out / pattern.__name__) as recorder:
                while not recorder.done:
                    step()
                    recorder.step()
        untraced[pattern.__name__] = mean_step(step)
    if rank == 0:
        out.mkdir(parents=True, exist_ok=True)
        (out / "untraced.json").write_text(json.dumps({"what": "seconds a step without a profiler", **untraced}) + "\n")
        print(untraced)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
