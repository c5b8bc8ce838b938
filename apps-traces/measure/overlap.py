#!/usr/bin/env python3
"""How much longer kernels take beside a collective, from recordings of torch.profiler (one Chrome trace a rank).

    python3 apps-traces/measure/overlap.py RANK0.json RANK1.json ...

The n-th launch of a kernel in a rank's half of the recording (two steps) is the same work on every rank. Where some of
these ran beside a collective all of their time, and others beside none, the ratio of their mean times is that kernel's
slow-down. Held out: the one factor of every second such kernel, for the times of the others. The collectives' part is a
line through the shortest time of each call over ranks, by the share of it in which that rank computed.
"""
import collections
import json
import statistics
import sys

Span = tuple[float, float, dict]


def spans(path: str) -> tuple[list[Span], list[Span]]:
    """Computations in the order of launch, and collectives."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kernels = [(event["ts"], event["ts"] + event["dur"], event) for event in events
               if event.get("ph") == "X" and event.get("cat") == "kernel"]
    kernels.sort(key=lambda span: span[2]["args"]["correlation"])
    collective = [span[2]["name"].startswith("ncclDev") for span in kernels]
    return ([span for span, yes in zip(kernels, collective) if not yes],
            [span for span, yes in zip(kernels, collective) if yes])


def share_beside(span: Span, others: list[Span]) -> float:
    both = sum(max(0.0, min(span[1], other[1]) - max(span[0], other[0])) for other in others)
    return min(1.0, both / (span[1] - span[0])) if span[1] > span[0] else 0.0


def times_of_kernels(ranks: list[tuple[list[Span], list[Span]]]) -> list[tuple[float, float]]:
    """Mean time alone and beside a collective, microseconds, of kernels seen both ways."""
    seen = collections.defaultdict(lambda: ([], []))
    for computations, collectives in ranks:
        before: collections.Counter = collections.Counter()
        for number, span in enumerate(computations):
            if number == len(computations) // 2:
                before.clear()
            arguments = span[2]["args"]
            shape = (span[2]["name"], str(arguments.get("grid")), str(arguments.get("block")))
            before[shape] += 1
            share = share_beside(span, collectives)
            if share < 0.01 or share > 0.99:
                seen[shape, before[shape]][share > 0.5].append(span[1] - span[0])
    return [(statistics.mean(alone), statistics.mean(beside)) for alone, beside in seen.values() if alone and beside]


def times_of_calls(ranks: list[tuple[list[Span], list[Span]]]) -> dict[object, list[tuple[float, float]]]:
    """Share beside computation, and microseconds, of the rank that waited least; by operation and size."""
    calls = collections.defaultdict(list)
    for same in zip(*(collectives for _, collectives in ranks)):
        rank, span = min(enumerate(same), key=lambda item: item[1][1] - item[1][0])
        arguments = span[2]["args"]
        calls[arguments["Collective name"], arguments["dtype"], round(arguments["In msg nelems"] / 1e6, 1)].append(
            (share_beside(span, ranks[rank][0]), span[1] - span[0]))
    return calls


def main() -> None:
    ranks = [spans(path) for path in sys.argv[1:]]
    times = times_of_kernels(ranks)
    alone, beside = (sum(column) for column in zip(*times))
    print(f"{len(times)} kernels seen both ways: beside a collective {beside / alone:.3f} times as long")
    factor = sum(time[1] for time in times[::2]) / sum(time[0] for time in times[::2])
    others = times[1::2]
    total = sum(time[1] for time in others)
    errors = sorted(abs(time[0] * factor / time[1] - 1) for time in others)
    print(f"held out, every second kernel: all together {sum(time[0] for time in others) * factor / total - 1:+.1%} "
          f"(with no factor {sum(time[0] for time in others) / total - 1:+.1%}), one by one median "
          f"{statistics.median(errors):.1%}, 95 % below {errors[int(0.95 * len(errors))]:.1%}")
    for (name, dtype, millions), rows in sorted(times_of_calls(ranks).items(), key=str):
        shares = [share for share, _ in rows]
        if len(rows) < 8 or max(shares) - min(shares) < 0.25:
            continue
        line = statistics.linear_regression(*zip(*rows))
        print(f"{name} of {millions} million {dtype}, {len(rows)} calls: alone {line.intercept:.1f} us, beside "
              f"computation {line.intercept + line.slope:.1f} us ({line.slope / line.intercept:+.1%})")


if __name__ == "__main__":
    main()
