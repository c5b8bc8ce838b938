"""Wirings: how many cables join each pair of GPUs, and the small changes that keep every GPU's number of cables."""
from __future__ import annotations

import itertools
import random

Wiring = tuple[int, ...]  # cables of each pair, in the order of pairs_of()


def pairs_of(gpus: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(gpus), 2))


def degrees(wiring: Wiring, gpus: int) -> list[int]:
    sums = [0] * gpus
    for (a, b), count in zip(pairs_of(gpus), wiring, strict=True):
        sums[a] += count
        sums[b] += count
    return sums


def random_wiring(gpus: int, links: int, chance: random.Random) -> Wiring:
    """Every GPU has `links` cables, none to itself. @source  the pairing model: B. Bollobas, 1980"""
    number = {pair: i for i, pair in enumerate(pairs_of(gpus))}
    while True:
        ends = [gpu for gpu in range(gpus) for _ in range(links)]
        chance.shuffle(ends)
        counts = [0] * len(number)
        for a, b in zip(ends[::2], ends[1::2], strict=True):
            if a == b:
                break
            counts[number[min(a, b), max(a, b)]] += 1
        else:
            return tuple(counts)


def neighbours(wiring: Wiring, gpus: int) -> list[Wiring]:
    """Two cables a-b and c-d become a-c and b-d: what keeps all numbers of cables and changes fewest."""
    number = {pair: i for i, pair in enumerate(pairs_of(gpus))}
    present = [pair for pair, count in zip(pairs_of(gpus), wiring, strict=True) if count]
    changed = set()
    for first, second in itertools.combinations_with_replacement(present, 2):
        if first == second and wiring[number[first]] < 2:
            continue
        for c, d in (second, second[::-1]):
            a, b = first
            if a == c or b == d:
                continue
            counts = list(wiring)
            counts[number[first]] -= 1
            counts[number[second]] -= 1
            counts[number[min(a, c), max(a, c)]] += 1
            counts[number[min(b, d), max(b, d)]] += 1
            changed.add(tuple(counts))
    changed.discard(wiring)
    return sorted(changed)


def edits_of(wiring: Wiring, gpus: int, kind: str) -> list[str]:
    """Of a machine whose own cables of the kind are gone."""
    return [f"add gpu{a}-gpu{b}:{kind}:{count}" for (a, b), count in zip(pairs_of(gpus), wiring, strict=True) if count]


def text_of(wiring: Wiring, gpus: int) -> str:
    return " ".join(f"{a}-{b}" + (f"x{count}" if count > 1 else "")
                    for (a, b), count in zip(pairs_of(gpus), wiring, strict=True) if count)
