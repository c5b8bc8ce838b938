#!/usr/bin/env python3
"""Forecasts the six patterns of launch_steps.py from generators, beside what was measured on 2 H200.

    python3 apps-traces/measure/patterns.py --program build/linkcast

One figure is fitted: the rate at which a GPU computes, to the step of pattern tensor with peer access. The generators know no
CPU time: `with issue` is the longer of the forecast and the time that the slower rank's CPU took to issue the step, measured.
"""
from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

MEASURED = Path(__file__).parent / "20261122-two-h200-steps.json"
MEMORY_BPS = 4.8e12  # source: NVIDIA H200 data sheet
Options = dict[str, object]


def operations(tokens: int, sequence: int, hidden: int, mlps: int = 1) -> float:
    """Of a forward pass: attention with its projections, and MLPs (docs/applications.md)."""
    return (8 + 16 * mlps) * tokens * hidden**2 + 4 * tokens * sequence * hidden


def microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.4f}us"


def job(pattern: str, rate: float) -> tuple[str, Options]:
    """The shapes of launch_steps.py."""
    width, forward = 1024, operations(4 * 512, 512, 1024) / rate
    return {
        "ddp": ("data_parallel", {"ranks": 2, "buckets": 8, "gradients": f"{8 * (12 * width**2 + 13 * width) * 2}B",
                                  "forward": microseconds(8 * forward), "backward": microseconds(16 * forward), "update": "0us"}),
        "fsdp": ("fully_sharded", {"layers": 8, "hidden": 1024, "sequence": 512, "batch": 2, "flops": rate}),
        "tensor": ("tensor_parallel", {"layers": 12, "hidden": 4096, "sequence": 1024, "batch": 4, "training": 0, "flops": rate}),
        "decode": ("decoding", {"layers": 24, "hidden": 4096, "sequence": 1, "batch": 16, "flops": rate, "memory": MEMORY_BPS}),
        # a block and an MLP between two alltoalls are a layer
        "expert": ("expert_parallel", {"layers": 6, "hidden": 2048, "sequence": 1024, "batch": 4, "training": 0, "every": 1, "top": 1,
                                       "layer": microseconds(operations(4096, 1024, 2048, 2) / rate)}),
        "pipeline": ("pipeline_parallel", {"layers": 12, "hidden": 2048, "sequence": 1024, "training": 0, "microbatches": 4,
                                           "flops": rate}),
    }[pattern]


def step_s(program: str, pattern: str, rate: float, peer_access: bool) -> float:
    name, options = job(pattern, rate)
    if name != "data_parallel":
        options = {"gpus": 2, **options}
    command = [program, "replay", name, "--platform", "hgx-h200", "--json"] + ([] if peer_access else ["--disable", "p2p"])
    for key, value in options.items():
        command += ["--option", f"{key}={value}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["step_time_s"]


def fitted_rate(program: str, measured_s: float) -> float:
    """A step of pattern tensor is its sums and what it computes over the rate."""
    one, two = 4e14, 8e14
    computes = (step_s(program, "tensor", one, True) - step_s(program, "tensor", two, True)) / (1 / one - 1 / two)
    return computes / (measured_s - (step_s(program, "tensor", one, True) - computes / one))


def difference(forecast_s: float, measured_s: float) -> str:
    return f"{forecast_s / measured_s - 1:+.1%}".replace("%", " %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast")
    program = parser.parse_args().program
    rows = {(row["pattern"], run["peer_access"]): row for run in json.loads(MEASURED.read_text()) for row in run["rows"]}
    rate = fitted_rate(program, rows["tensor", True]["step_time_s"])
    print(f"fitted: {rate / 1e12:.0f} TFLOP/s a GPU")
    print("| pattern | peer access | measured, ms | forecast, ms | difference | issue, ms | with issue |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (pattern, peer_access), row in sorted(rows.items(), key=lambda item: (item[0][0], not item[0][1])):
        measured_s, issue_s = row["step_time_s"], max(row["issue_s"])
        forecast_s = step_s(program, pattern, rate, peer_access)
        fitted = (pattern, peer_access) == ("tensor", True)
        alone, with_issue = ("fitted" if fitted else difference(time_s, measured_s)
                             for time_s in (forecast_s, max(forecast_s, issue_s)))
        print(f"| {pattern} | {'yes' if peer_access else 'no'} | {1e3 * measured_s:.2f} | {1e3 * forecast_s:.2f} | {alone} | "
              f"{1e3 * issue_s:.2f} | {with_issue} |")


if __name__ == "__main__":
    main()
