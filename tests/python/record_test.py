#!/usr/bin/env python3
"""linkcast record and linkcast_record, with a PyTorch that only pretends."""
import json
import sys
import time

from program import ROOT, InFolder, main, run

sys.path.append(str(ROOT / "apps-traces" / "record"))
import linkcast_record  # noqa: E402

INIT = '''
import json, time
from . import cuda, distributed, profiler
LIVE = []  # recordings that are running

def now_us():
    return time.time_ns() / 1000 - profiler.BASE_US

def launch(name, described=None):
    """A CUDA call and its kernel, for those who record."""
    start = now_us()
    for one in LIVE:
        number = len(one.events)
        one.add("cuda_runtime", "cudaLaunchKernel", start, 5, correlation=number)
        if one.operators:
            one.add("cpu_op", "aten::op", start, 0)
        described = described if one.operators else None
        one.add("kernel", name, start + 10, 30, correlation=number, stream=7, **(described or {}))
    time.sleep(1e-3)
'''
PROFILER = '''
import json, types
BASE_US = 1_700_000_000_000_000.0
ProfilerActivity = types.SimpleNamespace(CPU="cpu", CUDA="cuda")

def schedule(wait, warmup, active, repeat):
    assert (wait, warmup, repeat) == (0, 1, 1)
    return active

class profile:
    def __init__(self, activities, record_shapes, schedule):
        self.operators, self.active, self.steps, self.events = "cpu" in activities, schedule, 0, []
        assert "cuda" in activities and record_shapes == self.operators

    def add(self, category, name, ts, dur, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "tid": 1, "ts": ts, "dur": dur, "args": args})

    def start(self):
        self.events = []

    def step(self):
        from . import LIVE
        self.steps += 1
        if self.steps == 1:
            LIVE.append(self)
        if self.steps == 1 + self.active:
            LIVE.remove(self)

    def stop(self):
        assert self.steps == 1 + self.active

    def export_chrome_trace(self, path):
        device = [{"name": "NVIDIA H200", "numSms": 132}]
        with open(path, "w") as file:
            json.dump({"baseTimeNanoseconds": BASE_US * 1000, "deviceProperties": device,
                       "traceEvents": self.events}, file)
'''
OPTIMIZER = '''
HOOKS = []
def register_optimizer_step_post_hook(hook):
    HOOKS.append(hook)

class AdamW:
    def step(self):
        for hook in HOOKS:
            hook(self, (), {})
'''
TRAIN = '''
import sys
import torch
from torch.optim.optimizer import AdamW
optimizer = AdamW()
DESCRIBED = {"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float",
             "Process Group Name": "0", "Group size": 1, "Process Group Ranks": "[0]"}
for _ in range(int(sys.argv[1])):
    torch.launch("forward")
    torch.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", DESCRIBED)
    optimizer.step()
'''
FILES = {"torch/__init__.py": INIT, "torch/profiler.py": PROFILER, "torch/optim/__init__.py": "",
         "torch/optim/optimizer.py": OPTIMIZER, "torch/cuda.py": "def synchronize():\n    pass\n",
         "torch/distributed.py": "def is_available():\n    return False\n", "train.py": TRAIN}


class Recorded(InFolder):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def record(self, steps, *options):
        return run("record", "--out", "steps", "--warm-up", 2, "--untraced", 4, "--recorded", 3, *options, "--",
                   sys.executable, "train.py", steps, folder=self.folder, env={"PYTHONPATH": str(self.folder)})

    def test_steps_of_an_optimizer(self):
        done = self.record(12)  # 2 + 4, a warm profiler and 1, a warm profiler and 3
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 bundles: linkcast import kineto steps/rank*.json", done.stderr)
        bundle = json.loads((self.folder / "steps" / "rank0.json").read_text())
        self.assertEqual((bundle["schema"], bundle["rank"], bundle["ranks"]), ("recorded-steps/1", 0, 1))
        self.assertGreater(bundle["step_time_s"], 2e-3)  # two naps of a millisecond
        kinds = [{event["cat"] for event in bundle[part]["traceEvents"]} for part in ("operators", "timings")]
        self.assertEqual(kinds[0] - kinds[1], {"cpu_op"})
        marks = [event for event in bundle["timings"]["traceEvents"] if event["name"].startswith("ProfilerStep#")]
        self.assertEqual(len(marks), 3)
        self.assertEqual(bundle["timings"]["deviceProperties"], [{"name": "NVIDIA H200"}])

    def test_bundles_are_imported_without_options(self):
        self.assertEqual(self.record(12).returncode, 0)
        step_s = json.loads((self.folder / "steps" / "rank0.json").read_text())["step_time_s"]
        done = run("import", "kineto", "steps/rank0.json", "--out", "trace.jsonl", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        header, *events = [json.loads(line) for line in (self.folder / "trace.jsonl").read_text().splitlines()]
        self.assertEqual([event["kind"] for event in events].count("step"), 3)
        calls = [event for event in events if event["kind"] == "collective"]
        self.assertEqual([(call["op"], call["size_B"]) for call in calls], [("all_reduce", 4096.0)] * 3)
        self.assertEqual(header["step_time_s"], step_s)
        replayed = json.loads(run("replay", "trace.jsonl", "--platform", "hgx-h200", "--json", folder=self.folder).stdout)
        self.assertAlmostEqual(replayed["step_time_s"] / step_s, 1, delta=5e-3)
        self.assertTrue(replayed["bound"].startswith("host-bound"))

    def test_too_few_steps(self):
        done = self.record(11)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no process took 12 steps of an optimizer", done.stderr)

    def test_no_folder_can_be_made(self):
        (self.folder / "file").write_text("")
        for out in ("file", "file/steps"):
            done = run("record", "--out", out, "--", "true", folder=self.folder)
            self.assertEqual((done.returncode, done.stderr), (2, f"error: --out: {out}: no folder can be made there\n"))

    def test_the_command_fails(self):
        done = run("record", "--out", "steps", "--", sys.executable, "-c", "raise SystemExit(3)", folder=self.folder)
        self.assertEqual(done.returncode, 3, done.stderr)


class Parts(InFolder):
    def test_marks_outside_the_recording(self):
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5.0, "dur": 1.0}
        marks = linkcast_record.marked({"traceEvents": [call]}, 0, [(4000, 6000)])["traceEvents"][1:]
        self.assertEqual([(mark["ts"], mark["dur"]) for mark in marks], [(4.0, 2.0)])
        with self.assertRaisesRegex(RuntimeError, "clock"):
            linkcast_record.marked({"traceEvents": [call]}, 10**9, [(4000, 6000)])

    def test_reduced(self):
        events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
                   "args": {"stream": 7, "est. achieved occupancy %": 9}},
                  {"ph": "f", "cat": "ac2g", "name": "ac2g"}, {"ph": "X", "cat": "Trace", "name": "t"}]
        self.assertEqual(linkcast_record.reduced({"traceEvents": events, "trace_id": "x"}),
                         {"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "ts": 1, "dur": 2,
                                           "args": {"stream": 7}}]})

    def test_copies_between_gpus_keep_whose_they_are(self):
        ends = {"device": 0, "fromDevice": 0, "toDevice": 1}
        copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "ts": 1, "dur": 2, "args": ends}
        self.assertEqual(linkcast_record.reduced({"traceEvents": [copy]})["traceEvents"][0]["args"], ends)

    def test_a_loop_that_ends_early(self):
        class Nothing:
            def synchronize(self):
                pass
        with linkcast_record.Recorder(self.folder / "steps", torch=Nothing()) as recorder:
            recorder.step()
        self.assertFalse(recorder.done)
        self.assertFalse((self.folder / "steps").exists())
        with self.assertRaises(ValueError):
            linkcast_record.Recorder(self.folder, warm_up=0, torch=Nothing())


if __name__ == "__main__":
    main()
