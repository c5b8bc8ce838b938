"""GOAL files of two patterns of messages: calc, send and recv with what they require, the size that benchmarks need.

    goal_patterns.py PATTERN RANKS OPERATIONS > FILE"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

SIZES = (4096, 5120, 6144)  # bytes
UNIT_NS = 7


def calc_ns(rank: int, step: int) -> int:
    """Ranks come at different times, the same in each run."""
    return 1000 + UNIT_NS * ((31 * rank + 17 * step) % 13)


def ring(rank: int, ranks: int) -> list[tuple[str, int]]:
    return [("send", (rank + 1) % ranks), ("recv", (rank - 1) % ranks)]


def stencil(rank: int, ranks: int) -> list[tuple[str, int]]:
    """A torus, as square as it gets: each rank exchanges with its neighbours."""
    width = next(w for w in range(int(ranks**0.5), 0, -1) if ranks % w == 0)
    x, y = rank % width, rank // width
    near = {(x + 1) % width + y * width, (x - 1) % width + y * width, (rank + width) % ranks, (rank - width) % ranks} - {rank}
    return [(kind, peer) for peer in sorted(near) for kind in ("send", "recv")]


PATTERNS: dict[str, Callable[[int, int], list[tuple[str, int]]]] = {"ring": ring, "stencil": stencil}


def block(messages: list[tuple[str, int]], rank: int, steps: int, loose: bool) -> Iterator[str]:
    """A step computes, then exchanges; the next one requires its messages. @param loose  its receives only."""
    yield f"rank {rank} {{"
    label, before = 0, []
    for step in range(steps):
        calc = label
        yield f"l{calc}: calc {calc_ns(rank, step)}"
        for other in before:
            yield f"l{calc} requires l{other}"
        before = []
        for kind, peer in messages:
            label += 1
            yield f"l{label}: {kind} {SIZES[step % len(SIZES)]}b {'to' if kind == 'send' else 'from'} {peer} tag 1"
            yield f"l{label} requires l{calc}"
            if kind == "recv" or not loose:
                before.append(label)
        label += 1
    yield "}"


def goal(pattern: str, ranks: int, operations: int, loose: bool = False) -> tuple[str, int]:
    """@returns  the text, and how many operations it has"""
    of_rank = [PATTERNS[pattern](rank, ranks) for rank in range(ranks)]
    steps = max(1, operations // sum(1 + len(messages) for messages in of_rank))
    lines = [f"num_ranks {ranks}"]
    for rank, messages in enumerate(of_rank):
        lines += block(messages, rank, steps, loose)
    return "\n".join(lines) + "\n", steps * sum(1 + len(messages) for messages in of_rank)


if __name__ == "__main__":
    sys.stdout.write(goal(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))[0])
