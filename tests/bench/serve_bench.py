#!/usr/bin/env python3
"""How soon `linkcast serve` answers placements, one JSON line a case.

The server runs on one core, this client on the others. Open loop: requests leave at fixed times whatever the answers
do, and a latency counts from the time at which its request was to leave, so that waiting in any queue counts.

  serve_bench.py [--program build/linkcast] [--rate 200] [--seconds 20] [--server-core 0]
"""
import argparse
import asyncio
import json
import os
import random
import subprocess
import time

PLATFORMS = ("p100-dgx1", "v100-dgx1")
GPUS = 8
SIZES = ("1KiB", "64KiB", "1MiB", "16MiB", "64MiB", "1GiB")
CONNECTIONS = 16
SMALLEST_B, LARGEST_B = 2**10, 2**30


def placements(seed: int, new_sizes: bool, top: int = 1):
    """Random busy GPUs, ranks and sizes, without end."""
    rng = random.Random(seed)
    while True:
        share = rng.choice((0.1, 0.3, 0.5))
        busy = [gpu for gpu in range(GPUS) if rng.random() < share]
        if len(busy) == GPUS:
            continue
        size = f"{int(SMALLEST_B * (LARGEST_B / SMALLEST_B) ** rng.random())}B" if new_sizes else rng.choice(SIZES)
        yield {"platform": rng.choice(PLATFORMS), "job": f"all_reduce:{size}", "ranks": rng.randint(1, GPUS - len(busy)),
               "busy": busy, "top": top}


async def exchange(reader, writer, query: dict) -> int:
    body = json.dumps(query).encode()
    writer.write(b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                 % (len(body), body))
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.split("content-length:")[1].split("\r\n")[0])
    await reader.readexactly(length)
    return int(head.split()[1])


async def load(port: int, rate: float, seconds: float, queries) -> dict:
    waiting: asyncio.Queue = asyncio.Queue()
    latencies, statuses = [], {}

    async def connection():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (job := await waiting.get()) is not None:
            due, query = job
            status = await exchange(reader, writer, query)
            latencies.append(time.perf_counter() - due)
            statuses[status] = statuses.get(status, 0) + 1
        writer.close()

    workers = [asyncio.create_task(connection()) for _ in range(CONNECTIONS)]
    await asyncio.sleep(0.2)
    begin = time.perf_counter()
    late = 0.0
    for i in range(int(rate * seconds)):
        due = begin + i / rate
        if (pause := due - time.perf_counter()) > 0:
            await asyncio.sleep(pause)
        late = max(late, time.perf_counter() - due)
        waiting.put_nowait((due, next(queries)))
    for _ in workers:
        waiting.put_nowait(None)
    await asyncio.gather(*workers)
    latencies.sort()
    at = lambda share: round(1000 * latencies[min(len(latencies) - 1, int(share * len(latencies)))], 3)
    return {"requests": len(latencies), "rate_per_s": rate, "p50_ms": at(0.5), "p90_ms": at(0.9), "p99_ms": at(0.99),
            "max_ms": at(1), "client_late_ms": round(1000 * late, 3), "statuses": statuses}


class Server:
    def __init__(self, args, warm):
        command = ["taskset", "-c", str(args.server_core), args.program, "serve", "--port", "0"]
        for platform in PLATFORMS:
            command += ["--platform", platform]
        for size in warm:
            command += ["--warm", f"all_reduce:{size}"]
        begin = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.start_s = time.perf_counter() - begin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def memory_mib(self) -> float:
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return round(next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/linkcast")
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--server-core", type=int, default=0)
    args = parser.parse_args()
    others = set(os.sched_getaffinity(0)) - {args.server_core}
    os.sched_setaffinity(0, others or {args.server_core})

    def case(name, server, *what):
        figures = asyncio.run(load(server.port, args.rate, args.seconds, placements(*what)))
        print(json.dumps({"case": name, **figures, "start_s": round(server.start_s, 2),
                          "memory_MiB": server.memory_mib()}), flush=True)

    with Server(args, ()) as server:
        case("cold, sizes of a handful", server, 1, False)
        case("the same server later", server, 2, False)
    with Server(args, SIZES) as server:
        case("warmed, sizes seen", server, 3, False)
        case("warmed, sizes never seen", server, 4, True)
        case("warmed, sizes never seen, ten placements listed", server, 5, True, 10)


if __name__ == "__main__":
    main()
