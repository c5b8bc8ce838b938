#!/usr/bin/env python3
"""What PyTorch's host side pays to issue work, one process a GPU: the `pytorch` part of linkcast-bench's `launch`.

    python3 calibrate/bench/launch_pytorch.py --out results --machine hgx-h200 --occasion 20261121

Writes MACHINE-OCCASION-launch_pytorch.json (schema launch/1, README.md beside this file) with torch.distributed's
collectives over NCCL, small operators, and both once more while torch.profiler records. Without PyTorch or a GPU the
record holds one point that says so. Every rank starts each run at a spinning barrier in shared memory.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from multiprocessing import shared_memory
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv")
RECORDINGS = {"cuda": ("CUDA",), "cpu_cuda": ("CPU", "CUDA"), "cpu_cuda_shapes": ("CPU", "CUDA")}
HOLD_CYCLES = 60_000_000  # 30 ms at 2 GHz: longer than the host takes to issue HELD_CALLS
HELD_CALLS, SHORT_CALLS, MANY_CALLS = 16, 20, 200
METHOD = {
    "launch": "pytorch: torch.distributed or an operator of PyTorch, called from Python, one process a GPU",
    "async": "async_op=True and wait() at once; else async_op=False",
    "sends": "sends, and as many receives, of each GPU in one batch_isend_irecv",
    "recording": "torch.profiler records these activities meanwhile; shapes: record_shapes=True",
    "events": "what the recording holds a call: cpu operators, runtime calls of CUDA, gpu kernels and copies",
    "times_s": "seconds a call: quantiles 5, 25, 50, 75, 95 % over repetitions; host clock",
    "steady": "200 calls (20 from 1 MiB), then torch.cuda.synchronize(); the slowest rank",
    "short": "the same with 20 calls",
    "rest": "one call and torch.cuda.synchronize(), GPUs idle before; the slowest rank",
    "rest_issue": "the call's own part of rest; mean over ranks",
    "issue": "16 calls while a spinning kernel holds the current stream: the host alone; mean over ranks",
}


def points(ranks, held_out, quick):
    """The points of a run over this many ranks, as keys of the record."""
    sizes = [(16 if held_out else 8) * 4**i for i in range(12)] + ([] if held_out else [64 * MIB])
    sizes = sizes[::4] if quick else sizes
    found = []
    for op in COLLECTIVES if ranks > 1 else ("all_reduce",):
        unit = 4 * ranks if op in ("all_gather", "reduce_scatter", "alltoall") else 4  # whole floats a rank
        found += [{"op": op, "size_B": size // unit * unit} for size in sizes if size >= unit]
        if not held_out and ranks > 1:
            found += [{"op": op, "size_B": size // unit * unit, "async": True} for size in (32 * KIB, 8 * MIB)]
    if held_out:
        return found
    if ranks > 1:
        found += [{"op": "sendrecv", "size_B": size, "sends": more} for size in (8, 32 * KIB) for more in (2, 4, 8, 16)]
    operators = ("add", "mm", "layer_norm", "copy", "empty", "event_record", "event_wait", "synchronize")
    found += [{"op": op, "size_B": size} for op in operators for size in ((4, 64 * KIB) if op == "copy" else (4,))]
    recorded = [("add", 4), ("mm", 4)] + [(op, 4 * ranks) for op in COLLECTIVES if ranks > 1]
    found += [{"op": op, "size_B": size, "recording": name} for op, size in recorded for name in RECORDINGS]
    return found


class Barrier:
    """All ranks leave within about a microsecond."""

    def __init__(self, name, rank, ranks):
        import numpy
        self.memory = shared_memory.SharedMemory(name=name)
        self.slots = numpy.ndarray((ranks,), dtype=numpy.int64, buffer=self.memory.buf)
        self.rank, self.count = rank, 0

    def meet(self):
        self.count += 1
        self.slots[self.rank] = self.count
        while self.slots.min() < self.count:
            pass


def make_call(key, rank, ranks):
    """A function that issues the point's call once."""
    import torch
    import torch.distributed as dist
    op, count = key["op"], max(1, key["size_B"] // 4)
    whole = torch.ones(count * key.get("sends", 1), device="cuda")
    other = torch.ones_like(whole)
    share = torch.ones(max(1, count // ranks), device="cuda")
    later = key.get("async", False)
    if op == "sendrecv":
        following, previous = (rank + 1) % ranks, (rank - 1) % ranks
        sent, received = whole.split(count), other.split(count)

        def exchange():
            batch = [dist.P2POp(dist.isend, piece, following) for piece in sent]
            batch += [dist.P2POp(dist.irecv, piece, previous) for piece in received]
            for work in dist.batch_isend_irecv(batch):
                work.wait()
        return exchange
    side = torch.cuda.Stream()
    event = torch.cuda.Event()
    square = torch.ones(64, 64, device="cuda")
    calls = {
        "all_reduce": lambda: dist.all_reduce(whole, async_op=later),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, share, async_op=later),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(share, whole, async_op=later),
        "broadcast": lambda: dist.broadcast(whole, 0, async_op=later),
        "reduce": lambda: dist.reduce(whole, 0, async_op=later),
        "alltoall": lambda: dist.all_to_all_single(other, whole, async_op=later),
        "add": lambda: whole.add_(1.0),
        "mm": lambda: torch.mm(square, square),
        "layer_norm": lambda: torch.nn.functional.layer_norm(square, (64,)),
        "copy": lambda: other.copy_(whole),
        "empty": lambda: torch.empty(count, device="cuda"),
        "event_record": event.record,
        "event_wait": lambda: side.wait_event(event),
        "synchronize": torch.cuda.synchronize,
    }
    call = calls[op]
    return (lambda: call().wait()) if later else call


def timed(call, calls, barrier):
    import torch
    barrier.meet()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


def from_rest(call, barrier):
    import torch
    barrier.meet()
    start = time.perf_counter()
    call()
    issued = time.perf_counter()
    torch.cuda.synchronize()
    return time.perf_counter() - start, issued - start


def held(call, barrier):
    import torch
    barrier.meet()
    torch.cuda._sleep(HOLD_CYCLES)
    start = time.perf_counter()
    for _ in range(HELD_CALLS):
        call()
    issued = time.perf_counter() - start
    torch.cuda.synchronize()
    return issued / HELD_CALLS


def measure(call, key, barrier):
    """Times of this rank: {quantity: one entry a repetition}."""
    large = key["size_B"] >= MIB
    repetitions, calls = (5, SHORT_CALLS) if large else (9, MANY_CALLS)
    timed(call, SHORT_CALLS, barrier)
    times = {"steady": [], "short": []}
    for _ in range(repetitions):
        times["steady"].append(timed(call, calls, barrier))
        times["short"].append(timed(call, SHORT_CALLS, barrier))
    rest = [from_rest(call, barrier) for _ in range(5 * repetitions)]
    times["rest"], times["rest_issue"] = [list(column) for column in zip(*rest)]
    if key["op"] != "synchronize" and key["size_B"] <= 16 * MIB:
        times["issue"] = [held(call, barrier) for _ in range(repetitions)]
    return times


def measure_recorded(call, key, barrier):
    """Steady and short times under the profiler, and the events that one call leaves in its recording."""
    import torch
    activities = [getattr(torch.profiler.ProfilerActivity, name) for name in RECORDINGS[key["recording"]]]
    shapes = key["recording"].endswith("shapes")
    times, events = {"steady": [], "short": []}, {}
    timed(call, SHORT_CALLS, barrier)
    for _ in range(3):
        with torch.profiler.profile(activities=activities, record_shapes=shapes) as profile:
            for calls, name in ((MANY_CALLS, "steady"), (SHORT_CALLS, "short"), (SHORT_CALLS, "short")):
                times[name].append(timed(call, calls, barrier))
        kinds = {"cpu": 0, "runtime": 0, "gpu": 0}
        for event in profile.profiler.kineto_results.events():
            on_gpu = str(event.device_type()).endswith("CUDA")
            runtime = event.name().startswith(("cuda", "cu")) and not on_gpu
            kinds["gpu" if on_gpu else "runtime" if runtime else "cpu"] += 1
        events = {kind: round(number / (MANY_CALLS + 2 * SHORT_CALLS), 2) for kind, number in kinds.items()}
    return times, events


def worker(rank, ranks, arguments, folder, memory, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0")
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    barrier = Barrier(memory, rank, ranks)
    rows = []
    for key in points(ranks, arguments.held_out, arguments.quick):
        call = make_call(key, rank, ranks)
        call()
        torch.cuda.synchronize()
        if "recording" in key:
            times, events = measure_recorded(call, key, barrier)
            rows.append({"key": key, "times": times, "events": events})
        else:
            rows.append({"key": key, "times": measure(call, key, barrier)})
    (Path(folder) / f"{rank}.json").write_text(json.dumps(rows))
    barrier.meet()
    dist.destroy_process_group()


def quantiles(values):
    values = sorted(values)
    return [round(values[int(part * (len(values) - 1) + 0.5)], 10) for part in (0.05, 0.25, 0.5, 0.75, 0.95)]


def merged(ranks, per_rank):
    """One point of the record from the same point of every rank."""
    first = per_rank[0]
    times = {}
    for name in first["times"]:
        columns = zip(*(row["times"][name] for row in per_rank))
        combine = statistics.mean if name.endswith("issue") else max
        times[name] = quantiles([combine(column) for column in columns])
    point = {"launch": "pytorch", "issuers": "processes", "op": first["key"]["op"], "gpus": list(range(ranks))}
    point |= {name: value for name, value in first["key"].items() if name != "op"}
    point |= {"status": "ok", "times_s": times}
    return point | ({"events": first["events"]} if "events" in first else {})


def run(ranks, arguments, port):
    import torch.multiprocessing as processes
    memory = shared_memory.SharedMemory(create=True, size=8 * ranks)
    memory.buf[:] = bytes(8 * ranks)
    try:
        with tempfile.TemporaryDirectory() as folder:
            processes.spawn(worker, (ranks, arguments, folder, memory.name, port), nprocs=ranks)
            rows = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(ranks)]
    finally:
        memory.close()
        memory.unlink()
    return [merged(ranks, list(same)) for same in zip(*rows)]


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc)


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "cpu\t")):
            return line.split(": ", 1)[1]
    return "unknown"


def driver_version():
    try:
        return Path("/proc/driver/nvidia/version").read_text().split("  ")[1].split()[0]
    except (OSError, IndexError):
        return "unknown: the driver does not say"


def environment():
    found = {"driver": driver_version(), "host_cpu": cpu_model(), "host_cores": os.cpu_count(),
             "host_kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
             "python": platform.python_version(), "date": utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")}
    try:
        import torch
    except ImportError:
        return found | {"pytorch": "none"}
    gpus = [torch.cuda.get_device_name(gpu) for gpu in range(torch.cuda.device_count())]
    return found | {"gpu_names": gpus, "pytorch": torch.__version__, "cuda_runtime": torch.version.cuda,
                    "nccl": ".".join(map(str, torch.cuda.nccl.version()))}


def why_not():
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if torch.cuda.device_count() else "PyTorch finds no GPU"


def write(path, record):
    """One point a line. The folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    points_text = ",\n".join("  " + json.dumps(point) for point in record.pop("points"))
    path.write_text(json.dumps(record, indent=1)[:-2] + ',\n "points": [\n' + points_text + "\n ]\n}\n")


def record_parser(description):
    """The options that say which record is written, and where to."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=".", help="folder for the record")
    parser.add_argument("--machine", required=True, help="id of this machine, as for linkcast-bench")
    parser.add_argument("--topology", help="topology whose device ids are used; default: the machine")
    parser.add_argument("--occasion", default=utc_now().strftime("%Y%m%d"))
    return parser


def main():
    parser = record_parser(__doc__)
    parser.add_argument("--held-out", action="store_true", help="other sizes, all GPUs: launch_ops_pytorch")
    parser.add_argument("--quick", action="store_true", help="every fourth size")
    arguments = parser.parse_args()
    bench = "launch_ops_pytorch" if arguments.held_out else "launch_pytorch"
    reason, all_points = why_not(), []
    if reason is None:
        import torch
        gpus = torch.cuda.device_count()
        for number, ranks in enumerate([gpus] if arguments.held_out else range(1, gpus + 1)):
            all_points += run(ranks, arguments, 29600 + number + (10 if arguments.held_out else 0))
    name = f"{arguments.machine}-{arguments.occasion}-{bench}"
    record = {"schema": "launch/1", "id": name, "machine": arguments.machine,
              "topology": arguments.topology or arguments.machine, "bench": bench, "source": "launch_pytorch.py",
              "timing": "host", "environment": environment(),
              "method": METHOD | {"settings": "NCCL_NVLS_ENABLE=0; processes are not pinned to cores"},
              "notes": ["held out: never used to fit"] if arguments.held_out else [],
              "points": all_points or [{"launch": "pytorch", "status": "waived", "reason": reason}]}
    write(Path(arguments.out) / f"{name}.json", record)
    print(f"{bench}: {len(all_points)} points" + (f", waived: {reason}" if reason else ""), file=sys.stderr)


if __name__ == "__main__":
    main()
