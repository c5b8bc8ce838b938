"""Records what a training step does on each rank, for `linkcast import kineto`.

    linkcast record --out DIR -- torchrun --nproc-per-node 2 train.py     counts the steps of the optimizer

    with linkcast_record.Recorder("DIR") as recorder:                     counts calls of step()
        for batch in data:
            train(batch)
            recorder.step()

One after the other: steps that only warm up, steps that are timed without a profiler, one step with CPU and CUDA
activities (operations, sizes, groups), steps with CUDA activities alone (timings). Then DIR/rankR.json is written, and
nothing more happens. One more step before each recording warms the profiler up.
"""
import json
import os
import sys
import tempfile
import time
from pathlib import Path

SCHEMA = "recorded-steps/1"
CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cpu_op", "user_annotation"}
ARGUMENTS = {"correlation", "External id", "stream", "bytes", "grid", "block", "Collective name", "dtype", "In msg nelems",
             "Out msg nelems", "Process Group Name", "Process Group Ranks", "Group size", "Dst Rank", "Src Rank", "device",
             "fromDevice", "toDevice"}
MARK = "ProfilerStep#"  # what torch.profiler calls its own marks
DEFAULTS = {"warm_up": 5, "untraced": 20, "recorded": 5}


class Torch:
    """What a recorder needs of PyTorch."""

    def __init__(self):
        import torch
        self.torch = torch

    def synchronize(self):
        self.torch.cuda.synchronize()

    def rank(self):
        """Rank and number of ranks."""
        distributed = self.torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        return 0, 1

    def profiler(self, operators, steps):
        """A profiler that records `steps` steps after one that warms it up."""
        profiler = self.torch.profiler
        kinds = [profiler.ProfilerActivity.CUDA] + ([profiler.ProfilerActivity.CPU] if operators else [])
        return profiler.profile(activities=kinds, record_shapes=operators,
                                schedule=profiler.schedule(wait=0, warmup=1, active=steps, repeat=1))


def reduced(trace):
    """The complete events that an import reads, with the arguments that it reads."""
    events = []
    for event in trace["traceEvents"]:
        if event.get("ph") != "X" or event.get("cat") not in CATEGORIES:
            continue
        kept = {key: event[key] for key in ("ph", "cat", "name", "tid", "ts", "dur") if key in event}
        arguments = {key: value for key, value in event.get("args", {}).items() if key in ARGUMENTS}
        events.append({**kept, "args": arguments} if arguments else kept)
    whole = {key: trace[key] for key in ("deviceProperties", "distributedInfo") if key in trace}
    if "deviceProperties" in whole:
        whole["deviceProperties"] = [{"name": device.get("name", "")} for device in whole["deviceProperties"][:1]]
    return {**whole, "traceEvents": events}


def marked(trace, base_ns, marks):
    """The trace with a mark around each step, in place of the profiler's own.

    Marks are pairs of nanoseconds since 1970; the trace counts microseconds from `base_ns` on.
    """
    events = [event for event in trace["traceEvents"] if not event["name"].startswith(MARK)]
    spans = [((start - base_ns) / 1000, (end - base_ns) / 1000) for start, end in marks]
    calls = [event["ts"] for event in events if event["cat"] in ("cuda_runtime", "cuda_driver")]
    for start, end in spans:
        if not any(start <= at <= end for at in calls):
            raise RuntimeError("linkcast record: the profiler's clock is not the system's: no CUDA call in a step")
    events += [{"ph": "X", "cat": "user_annotation", "name": f"{MARK}{number}", "tid": 0, "ts": start, "dur": end - start}
               for number, (start, end) in enumerate(spans)]
    return {**trace, "traceEvents": events}


class Recorder:
    """Counts steps, and records some of them; see the module. `step()` is called at the end of each."""

    def __init__(self, out, warm_up=DEFAULTS["warm_up"], untraced=DEFAULTS["untraced"],
                 recorded=DEFAULTS["recorded"], torch=None):
        if min(warm_up, untraced, recorded) < 1:
            raise ValueError("linkcast record: warm_up, untraced and recorded must be at least 1")
        self.out, self.torch = Path(out), torch or Torch()
        self.untraced, self.recorded = untraced, recorded
        self.done = False
        self._stages = self._run(warm_up)
        self.entered_ns = None  # when step() was called
        next(self._stages)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and not self.done:
            print("linkcast record: the loop ended before all steps were recorded: "
                  f"{self.needed} are needed, nothing is written", file=sys.stderr)

    @property
    def needed(self):
        """Steps until the bundle is written."""
        return self._warm_up + self.untraced + 2 + 1 + self.recorded

    def step(self):
        """A step has ended."""
        if self.done:
            return
        self.entered_ns = time.time_ns()
        try:
            next(self._stages)
        except StopIteration:
            self.done = True

    def _run(self, warm_up):
        """Between two steps at each yield."""
        self._warm_up = warm_up
        for _ in range(warm_up):
            yield
        self.torch.synchronize()
        start = time.perf_counter()
        for _ in range(self.untraced):
            yield
        self.torch.synchronize()
        step_time_s = (time.perf_counter() - start) / self.untraced
        operators = yield from self._profiled(True, 1)
        timings = yield from self._profiled(False, self.recorded)
        self._write(step_time_s, operators, timings)

    def _profiled(self, operators, steps):
        """One step that warms the profiler up, then so many that it records."""
        profiler = self.torch.profiler(operators, steps)
        profiler.start()
        yield
        profiler.step()
        marks = []
        for _ in range(steps):
            start_ns = time.time_ns()
            yield
            marks.append((start_ns, self.entered_ns))
            profiler.step()
        profiler.stop()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(path)
            trace = json.loads(Path(path).read_text(encoding="utf-8", errors="replace"))
        return marked(reduced(trace), trace.get("baseTimeNanoseconds", 0), marks)

    def _write(self, step_time_s, operators, timings):
        rank, ranks = self.torch.rank()
        bundle = {"schema": SCHEMA, "rank": rank, "ranks": ranks, "untraced_steps": self.untraced,
                  "step_time_s": step_time_s, "operators": operators, "timings": timings}
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"rank{rank}.json"
        draft = path.with_suffix(".partial")
        draft.write_text(json.dumps(bundle, separators=(",", ":")), encoding="utf-8")
        draft.replace(path)
        print(f"linkcast record: rank {rank}: {step_time_s * 1e3:.4g} ms a step untraced, {path}", file=sys.stderr)


def attach():
    """Counts the steps of any optimizer of this process, as the environment that `linkcast record` sets says."""
    from torch.optim import optimizer
    counts = {key: int(os.environ.get(f"LINKCAST_RECORD_{key.upper()}", value)) for key, value in DEFAULTS.items()}
    recorders = []

    def stepped(stepping, *_):
        if not recorders:
            recorders.append((Recorder(os.environ["LINKCAST_RECORD_OUT"], **counts), stepping))
        recorder, first = recorders[0]
        if stepping is first:  # of several optimizers the first to step ends a step
            recorder.step()
    optimizer.register_optimizer_step_post_hook(stepped)
