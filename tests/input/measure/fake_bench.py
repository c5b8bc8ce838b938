#!/usr/bin/python3
"""A linkcast-bench that replays the records of two H100 (calibrate/data/h100-pair), a tenth of a record at a time, as the real one
writes them: complete on disk at any moment, --resume keeps the points of a file, SIGINT ends it after the point in work.

FAKE_LOG: a line a start, and how many points were kept. FAKE_PAUSE: seconds a tenth. FAKE_FAIL: a bench that loses its GPU."""
import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RECORDS = Path(os.environ.get("FAKE_RECORDS", ROOT / "calibrate/data/h100-pair"))
EVERY = 4
stopped = False


def stop(*_):
    global stopped
    stopped = True


def main():
    parser = argparse.ArgumentParser()
    for name in ("out", "machine", "topology", "occasion", "only", "nccl"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--resume", action="store_true")
    o = parser.parse_args()
    signal.signal(signal.SIGINT, stop)
    record = json.loads((RECORDS / f"20261126a-{o.only}.json").read_text())
    record |= {"machine": o.machine, "topology": o.topology, "id": f"{o.machine}-{o.occasion}-{o.only}"}
    path, points = Path(o.out) / f"{record['id']}.json", record["points"]
    if o.only == "nccl_base":  # enough for a fit, of which there is one a test
        points = points[::EVERY]
    for point in points:  # a tenth of the repetitions is enough here
        if "time_s" in point:
            point["time_s"] = point["time_s"][:4]
        if "flow_times_s" in point:
            point["flow_times_s"] = [times[:4] for times in point["flow_times_s"]]
    kept = len(json.loads(path.read_text())["points"]) if o.resume and path.exists() else 0
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(f"{o.only} {kept}\n")
    if o.only == "discovery":
        topology = json.loads((RECORDS / "hgx-h100-topology.json").read_text()) | {"name": o.topology}
        (Path(o.out) / f"{o.topology}-topology.json").write_text(json.dumps(topology, indent=1))
    step = max(1, len(points) // 10)
    for at in range(kept, len(points), step):
        if os.environ.get("FAKE_FAIL") == o.only and at > 0:
            sys.exit("error: p2p_copy: CUDA: device lost")
        time.sleep(float(os.environ.get("FAKE_PAUSE", "0")))
        record["points"] = points[:at + step]
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(record, indent=1))
        os.replace(draft, path)
        print(f"[{o.only}] {min(at + step, len(points))}/{len(points)} something, eta 0 s", file=sys.stderr, flush=True)
        if stopped:
            sys.exit(f"error: {o.only}: interrupted, {path} is complete")
    print(f"[{o.only}] done: {len(points)} points, 0 waived, {kept} kept, 1.0 s", file=sys.stderr)


if __name__ == "__main__":
    main()
