#!/usr/bin/env python3
"""Whether `linkcast serve` holds a rate for long with flat memory, one JSON line an interval.

    python3 tests/bench/serve_hold.py --minutes 60 [--rate 200] [--every 5] [--program build/linkcast] [--most-growth-MiB 8]

Requests leave at fixed times whatever the answers do: placements of sizes never seen, copies and collectives, states of nodes that
come and go, wrong ones, metrics; a connection is closed after 200 of them. Exit code 4: a request was lost, an answer is not what
its kind must get, or memory grew by more than --most-growth-MiB after the first interval."""
import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from serve_bench import CONNECTIONS, GPUS, LARGEST_B, PLATFORMS, SMALLEST_B, placements

A_CONNECTION = 200  # requests
NODES = 500
WRONG = (b"{", b"[]", b'{"platform": "none", "job": "all_reduce:1MiB", "ranks": 2}', b'{"platform": "v100-dgx1", "job": "all_reduce:0x", "ranks": 2}',
         b'{"platform": "v100-dgx1", "job": "all_reduce:1MiB", "ranks": 9}', b"\xff\x00")


def requests(seed: int):
    """(method, path, body, status that it must get), without end."""
    rng, places = random.Random(seed), placements(seed, True)
    while True:
        kind = rng.random()
        size = int(SMALLEST_B * (LARGEST_B / SMALLEST_B) ** rng.random())
        if kind < 0.6:
            yield "POST", "/v1/place", json.dumps(next(places)).encode(), (200,)
        elif kind < 0.7:
            src, dst = rng.sample(range(GPUS), 2)
            yield "POST", "/v1/query", json.dumps({"kind": "p2p", "platform": rng.choice(PLATFORMS), "src": src, "dst": dst, "size_B": size}).encode(), (200,)
        elif kind < 0.8:
            gpus = sorted(rng.sample(range(GPUS), rng.randint(2, GPUS)))
            op = rng.choice(("all_reduce", "all_gather", "broadcast"))
            yield "POST", "/v1/query", json.dumps({"kind": "collective", "platform": rng.choice(PLATFORMS), "gpus": gpus, "op": op, "size_B": size}).encode(), (200,)
        elif kind < 0.9:
            state = {"platform": rng.choice(PLATFORMS), "busy": sorted(rng.sample(range(GPUS), rng.randint(0, GPUS - 1)))}
            method, node = rng.choice(("POST", "POST", "GET", "DELETE")), f"/v1/nodes/n{rng.randrange(NODES)}"
            yield method, node, json.dumps(state).encode() if method == "POST" else b"", (200,) if method == "POST" else (200, 404)
        elif kind < 0.95:
            yield "POST", "/v1/place", rng.choice(WRONG), (400,)
        else:
            yield "GET", rng.choice(("/metrics", "/healthz", "/v1/platforms")), b"", (200,)


async def exchange(reader, writer, method: str, path: str, body: bytes) -> int:
    writer.write(b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (method.encode(), path.encode(), len(body), body))
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
    return int(head.split()[1])


class Held:
    def __init__(self):
        self.latencies: list[float] = []
        self.wrong, self.lost, self.answered = 0, 0, 0

    def taken(self) -> dict:
        rows, self.latencies = sorted(self.latencies), []
        at = lambda share: round(1000 * rows[min(len(rows) - 1, int(share * len(rows)))], 2) if rows else None
        return {"requests": len(rows), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}


async def connection(port: int, waiting: asyncio.Queue, held: Held) -> None:
    reader = writer = None
    served = 0
    while (job := await waiting.get()) is not None:
        due, (method, path, body, right) = job
        for again in (False, True):  # the service may have closed an idle connection just now
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    served = 0
                status = await exchange(reader, writer, method, path, body)
                break
            except (OSError, asyncio.IncompleteReadError):
                writer, status = None, 0
        held.lost += status == 0
        held.wrong += status not in (*right, 0)
        if status not in (*right, 0):
            print(f"{method} {path} {body[:200]!r}: {status}", file=sys.stderr)
        held.answered += 1
        held.latencies.append(time.perf_counter() - due)
        served += 1
        if writer is not None and served == A_CONNECTION:
            writer.close()
            writer = None


def memory_mib(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return round(next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024, 1)


async def hold(args, pid: int, port: int) -> tuple[Held, list[float]]:
    waiting: asyncio.Queue = asyncio.Queue()
    held, memory = Held(), []
    workers = [asyncio.create_task(connection(port, waiting, held)) for _ in range(CONNECTIONS)]
    begin = time.perf_counter()
    queries, said = requests(args.seed), 0

    def say(minute: float) -> None:
        memory.append(memory_mib(pid))
        print(json.dumps({"minute": round(minute, 1), "memory_MiB": memory[-1], **held.taken(), "wrong": held.wrong, "lost": held.lost}), flush=True)

    say(0)
    for i in range(int(args.rate * 60 * args.minutes)):
        due = begin + i / args.rate
        if (pause := due - time.perf_counter()) > 0:
            await asyncio.sleep(pause)
        waiting.put_nowait((due, next(queries)))
        if (minute := (time.perf_counter() - begin) / 60) >= (said + 1) * args.every:
            said += 1
            say(minute)
    for _ in workers:
        waiting.put_nowait(None)
    await asyncio.gather(*workers)
    say((time.perf_counter() - begin) / 60)
    return held, memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=5, help="minutes of an interval")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-growth-MiB", dest="growth", type=float, default=8)
    args = parser.parse_args()
    command = [args.program, *(["--data-dir", str(args.data_dir)] if args.data_dir else []), "serve", "--port", "0"]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        held, memory = asyncio.run(hold(args, process.pid, int(process.stdout.readline().rsplit(":", 1)[1])))
    finally:
        process.terminate()
        process.wait()
    growth = memory[-1] - memory[min(1, len(memory) - 1)]
    print(json.dumps({"answered": held.answered, "wrong": held.wrong, "lost": held.lost, "growth_MiB": round(growth, 1)}))
    return 4 if held.wrong or held.lost or growth > args.growth else 0


if __name__ == "__main__":
    sys.exit(main())
