"""Job mixes: sizes of jobs that share the GPUs, each on GPUs of its own."""
from __future__ import annotations

import itertools

Times = dict[tuple[int, ...], float]  # of a job on each set of GPUs, ascending


def parse_mix(text: str, gpus: int) -> tuple[int, ...]:
    """ "4+4" to (4, 4). @raises ValueError"""
    parts = text.split("+")
    sizes = tuple(sorted((int(part) for part in parts if part.isdecimal()), reverse=True))
    if len(sizes) != len(parts) or any(size < 2 for size in sizes) or sum(sizes) > gpus:
        raise ValueError(f"'{text}' is no mix: jobs of at least 2 GPUs, {gpus} together, e.g. 4+4")
    return sizes


def best_of_mix(mix: tuple[int, ...], free: tuple[int, ...], times: Times, ideal: dict[int, float]) -> tuple[float, list[tuple[int, ...]]]:
    """The slowest of the mix's jobs, where it is placed best: its time over `ideal` of its size, and everybody's GPUs."""
    if not mix:
        return 0.0, []
    best: tuple[float, list[tuple[int, ...]]] = (float("inf"), [])
    fits = sum(mix) == len(free)
    for size in sorted(set(mix), reverse=True):
        rest = list(mix)
        rest.remove(size)
        # Where all GPUs are taken, some job has the first one: each way to place all is looked at once.
        for chosen in itertools.combinations(free, size):
            if fits and chosen[0] != free[0]:
                break
            own = times[chosen] / ideal[size]
            if own >= best[0]:
                continue
            left = tuple(gpu for gpu in free if gpu not in chosen)
            others, sets = best_of_mix(tuple(rest), left, times, ideal)
            if max(own, others) < best[0]:
                best = max(own, others), [chosen, *sets]
        if not fits:
            break
    return best
