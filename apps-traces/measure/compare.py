#!/usr/bin/env python3
"""Training steps on H200, replayed against measured:  python3 apps-traces/measure/compare.py --program build/linkcast

The recorded steps are replayed on hgx-h200 on 4, 2 and 1 GPUs, with and without peer access and gradient exchange, and
compared with what was measured on two days: with the recordings, and with ddp_steps.py on another machine of that kind.
Fitted is only what the CPU takes (host_scale, to AlexNet without exchange on the first day); all else is held out.
"""
import argparse
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
# Noted with the recordings: medians of 20 untraced steps on 4 GPUs. source: README of the recordings, 2026-11-21
FIRST_DAY = {("alexnet", 4, True, True): 5.76e-3, ("alexnet", 4, True, False): 4.75e-3,
             ("resnet50", 4, True, True): 45.3e-3, ("resnet50", 4, True, False): 41.3e-3}


def replayed(program: str, network: str, gpus: int, peer: bool, exchange: bool) -> float:
    command = [program, "replay", f"h200x4-{network}", "--platform", "hgx-h200", "--ranks", str(gpus), "--json"]
    command += [] if peer else ["--disable", "nvlink"]
    command += [] if exchange and gpus > 1 else ["--local"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["step_time_s"]


def error(forecast: float, measured: float | None) -> str:
    return "-" if measured is None else f"{1e3 * measured:.2f} ({100 * (forecast / measured - 1):+.1f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    options = parser.parse_args()
    print("| network | GPUs | peer access | exchange | forecast, ms | first day, ms | second day, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in json.loads((HERE / "20261121-h200.json").read_text())["rows"]:
        if row["batch_per_gpu"] != 64:  # recorded were 64 images a GPU
            continue
        key = (row["network"], row["gpus"], row["peer_access"], row["gradient_exchange"])
        forecast = replayed(options.program, *key)
        first = FIRST_DAY.get(key)
        fitted = " fitted" if key == ("alexnet", 4, True, False) else ""
        print(f"| {key[0]} | {key[1]} | {'yes' if key[2] else 'no'} | {'yes' if key[3] else 'no'} | {1e3 * forecast:.2f} "
              f"| {error(forecast, first)}{fitted} | {error(forecast, row['step_time_s'])} |")


if __name__ == "__main__":
    main()
