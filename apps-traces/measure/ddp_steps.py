#!/usr/bin/env python3
"""Times training steps of AlexNet and ResNet-50 with PyTorch's DistributedDataParallel on the GPUs of this machine.

Synthetic images, fp32, plain SGD, 64 images a GPU; each step ends with a device synchronisation. For every number of GPUs,
with and without peer access (NCCL_P2P_DISABLE=1) and with and without gradient exchange (no_sync), it writes the time of
each step after the warm-up, how long the CPU took to issue it, and the time that the GPU's kernels take in one profiled
step. One JSON object on --out.

    python3 apps-traces/measure/ddp_steps.py --out steps.json
"""
import argparse
import contextlib
import json
import os
import platform
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torchvision

WARM_UP = 10


def step(model, optimizer, images, labels, exchange):
    with contextlib.nullcontext() if exchange else model.no_sync():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


def kernel_seconds(profile):
    return sum(event.self_device_time_total for event in profile.key_averages() if "nccl" not in event.key.lower()) * 1e-6


def worker(rank, ranks, request, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=request["port"], NCCL_NVLS_ENABLE="0")
    if not request["peer_access"]:
        os.environ["NCCL_P2P_DISABLE"] = "1"
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    torch.manual_seed(0)
    model = getattr(torchvision.models, request["network"])().cuda()
    ddp = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
    images = torch.randn(request["batch"], 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (request["batch"],), device="cuda")
    seconds, issue = [], []
    for index in range(WARM_UP + request["steps"]):
        begin = time.perf_counter()
        step(ddp, optimizer, images, labels, request["exchange"])
        issued = time.perf_counter()
        torch.cuda.synchronize()
        if index >= WARM_UP:
            seconds.append(time.perf_counter() - begin)
            issue.append(issued - begin)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step(ddp, optimizer, images, labels, request["exchange"])
        torch.cuda.synchronize()
    row = {"rank": rank, "step_s": seconds, "issue_s": issue, "kernels_s": kernel_seconds(profile)}
    with open(os.path.join(folder, f"{rank}.json"), "w") as out:
        json.dump(row, out)
    if request.get("keep_trace"):  # every rank takes part, since their gradients meet
        both = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=both) as profile:
            for _ in range(3):
                step(ddp, optimizer, images, labels, request["exchange"])
                torch.cuda.synchronize()
        if rank == 0:
            profile.export_chrome_trace(request["keep_trace"])
    dist.barrier()
    dist.destroy_process_group()


def measure(request):
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (request["gpus"], request, folder), nprocs=request["gpus"])
        rows = [json.load(open(os.path.join(folder, f"{rank}.json"))) for rank in range(request["gpus"])]
    steps = [max(times) for times in zip(*(row["step_s"] for row in rows))]
    return {
        "network": request["network"], "gpus": request["gpus"], "batch_per_gpu": request["batch"],
        "peer_access": request["peer_access"], "gradient_exchange": request["exchange"],
        "step_time_s": round(statistics.median(steps), 7), "step_times_s": [round(value, 7) for value in steps],
        "issue_s": [round(statistics.median(row["issue_s"]), 7) for row in rows],
        "kernels_s": [round(row["kernels_s"], 7) for row in rows],
    }


def requests(gpus, steps):
    for network in ("alexnet", "resnet50"):
        for ranks in (n for n in (4, 2, 1) if n <= gpus):
            for peer in (True, False) if ranks > 1 else (True,):
                for exchange in (True, False) if peer else (True,):
                    yield {"network": network, "gpus": ranks, "batch": 64, "peer_access": peer, "exchange": exchange,
                           "steps": steps}
        for ranks in (n for n in (2, 1) if n < gpus):  # strong scaling: the batch of all GPUs stays
            yield {"network": network, "gpus": ranks, "batch": 256 // ranks, "peer_access": True, "exchange": ranks > 1,
                   "steps": steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="JSON file to write")
    parser.add_argument("--steps", type=int, default=30, help="timed steps of each case (default: 30)")
    parser.add_argument("--traces", help="folder for a Chrome trace of rank 0 of each case")
    arguments = parser.parse_args()
    gpus = torch.cuda.device_count()
    result = {
        "what": "training steps of torchvision networks with DistributedDataParallel, synthetic images, fp32, SGD",
        "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "nccl": list(torch.cuda.nccl.version()),
        "python": platform.python_version(), "warm_up": WARM_UP, "rows": [],
    }
    for number, request in enumerate(requests(gpus, arguments.steps)):
        request["port"] = str(29500 + number)
        if arguments.traces:
            name = "{network}-{gpus}-{batch}-{peer_access}-{exchange}.json".format(**request)
            request["keep_trace"] = os.path.join(arguments.traces, name)
        row = measure(request)
        result["rows"].append(row)
        print(row["network"], row["gpus"], row["batch_per_gpu"], row["peer_access"], row["gradient_exchange"],
              row["step_time_s"], row["issue_s"][0], row["kernels_s"][0], flush=True)
        with open(arguments.out, "w") as out:
            json.dump(result, out)


if __name__ == "__main__":
    main()
