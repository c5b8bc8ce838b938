"""HGX H200: what the measurements say about the hardware, occasion by occasion, beside what was expected.

  python3 python/run.py plots.h200_facts [--occasion 20261121b]
"""
import argparse
import statistics

from . import common, occasions

SMALL_B, LARGE_B = 4096, 2**30
# An NVLink packet: 16 bytes of header, 256 of data by copy engines and 128 by kernels. source: docs/model.md, Packets
DMA, KERNEL = 256 / 272, 128 / 144
REQUEST = 16 / 144  # of a load, per byte of its data packet
SLOW_S = 21e-6      # between the two heaps of staged copies from rest. source: histogram of 20261121a

Points = list[dict]


def points(occasion: str, bench: str, **wanted) -> Points:
    """Points of one way unless bidirectional is asked for."""
    return [point for point in common.load(occasions.path(occasion, bench))["points"]
            if all(point.get(key, False if key == "bidirectional" else None) == value
                   for key, value in ({"bidirectional": False} | wanted).items())]


def medians(some: Points) -> list[float]:
    return [statistics.median(point["time_s"]) for point in some]


def peer(occasion: str, engine: str, direction: str, size_B: int, both: bool = False, bench: str = "p2p_copy") -> float:
    return statistics.median(medians(points(occasion, bench, transport="peer", engine=engine, direction=direction,
                                            size_B=size_B, bidirectional=both)))


def both_ways(occasion: str, engine: str, direction: str) -> float:
    return peer(occasion, engine, direction, LARGE_B) / peer(occasion, engine, direction, LARGE_B, True)


def share_of_copy_engines(occasion: str, direction: str) -> float:
    return peer(occasion, "ce", "write", LARGE_B) / peer(occasion, "sm", direction, LARGE_B)


def from_rest(occasion: str, engine: str, direction: str) -> float:
    """Microseconds that a small copy takes longer from rest than out of a queue."""
    sizes = [4**power for power in range(1, 7)]
    return statistics.median(1e6 * (peer(occasion, engine, direction, size, bench="p2p_copy_single")
                                    - peer(occasion, engine, direction, size)) for size in sizes)


def empty_pair(occasion: str) -> float:
    return 1e6 * statistics.median(occasions.environment(occasion)["empty_event_pair_s"])


def pulled_steps(occasion: str) -> float:
    """Microseconds between two heights of the staircase: 256 MiB against 4 MiB, divided by the nearest number of 9 us."""
    low, high = (peer(occasion, "ce", "read", size * 2**20, bench="p2p_copy_single") for size in (4, 256))
    first = peer(occasion, "ce", "read", 2**21, bench="p2p_copy_single")
    return 1e6 * (high - low) / round((high - low) / (low - first))


def staged(occasion: str, low_B: int, high_B: int) -> float:
    some = [point for point in points(occasion, "p2p_copy", transport="staged") if low_B <= point["size_B"] <= high_B]
    return 1e6 * statistics.median(medians(some))


def staged_slow_share(occasion: str) -> float:
    some = [time for point in points(occasion, "p2p_copy_single", transport="staged") if point["size_B"] <= 16384
            for time in point["time_s"]]
    return sum(time > SLOW_S for time in some) / len(some)


def host_total(occasion: str, pattern: str) -> float:
    """GB/s of all GPUs together."""
    group = next(point for point in points(occasion, "host_copy", pattern=pattern) if point["flows"][0][2] == 2**28)
    return sum(flow[2] for flow in group["flows"]) / statistics.median(group["time_s"]) / 1e9


def host_sum(occasion: str, source: str) -> float:
    """GB/s of the same copies one at a time, added up."""
    alone = [point for point in points(occasion, "host_copy", transport="host", size_B=2**28)
             if not point.get("pageable") and (point["source"] == "host") == (source == "host")]
    return sum(2**28 / time for time in medians(alone)) / 1e9


def orders(occasion: str, pattern: str) -> list[tuple[int, ...]]:
    """In which order each source's pushed copies of 4 MiB and more were done: places in the list of flows."""
    found = []
    for point in points(occasion, "concurrency", pattern=pattern, engine="ce", direction="write"):
        sources = [source for source, _, size in point["flows"] if size >= 2**22]
        for times in zip(*point["flow_times_s"], strict=True):
            for source in set(sources):
                places = [place for place, other in enumerate(sources) if other == source]
                found.append(tuple(sorted(range(len(places)), key=lambda k: times[places[k]])))
    return found


def rotations(occasion: str) -> float:
    found = orders(occasion, "all_to_all")
    return sum((order[1] - order[0]) % 3 == 1 for order in found) / len(found)


def as_listed(occasion: str) -> float:
    found = orders(occasion, "ring_both")
    return found.count((0, 1)) / len(found)


FACTS = [
    ("rate of stores / copy engines, 1 GiB", f"{KERNEL / DMA:.3f}", ".3f", lambda o: share_of_copy_engines(o, "write")),
    ("rate of loads / copy engines, 1 GiB", f"{KERNEL / DMA:.3f}", ".3f", lambda o: share_of_copy_engines(o, "read")),
    ("loads: both ways / one way, each", f"{1 / (1 + REQUEST):.3f}", ".3f", lambda o: both_ways(o, "sm", "read")),
    ("stores: both ways / one way, each", "1", ".3f", lambda o: both_ways(o, "sm", "write")),
    ("copy engines: both ways / one way, each", "1", ".3f", lambda o: both_ways(o, "ce", "write")),
    ("from rest: pushed, copy engine [us]", "-", ".2f", lambda o: from_rest(o, "ce", "write")),
    ("from rest: pulled, copy engine [us]", "-", ".2f", lambda o: from_rest(o, "ce", "read")),
    ("from rest: stores [us]", "-", ".2f", lambda o: from_rest(o, "sm", "write")),
    ("two events with nothing between [us]", "-", ".2f", empty_pair),
    ("step of pulled copies from rest [us]", "-", ".2f", pulled_steps),
    ("queue of 2 as listed: share, ring_both", "1/2", ".2f", as_listed),
    ("queue of 3 a rotation: share, all_to_all", "1/2", ".2f", rotations),
    ("staged in a queue, up to 1 KiB [us]", "-", ".1f", lambda o: staged(o, 1, 1024)),
    ("staged in a queue, 4 to 64 KiB [us]", "-", ".1f", lambda o: staged(o, 4096, 65536)),
    ("staged from rest: share above 21 us", "-", ".2f", staged_slow_share),
    ("host to 4 GPUs one by one, added [GB/s]", "-", ".0f", lambda o: host_sum(o, "host")),
    ("host to 4 GPUs at once [GB/s]", "-", ".0f", lambda o: host_total(o, "all_host_to_gpu")),
    ("4 GPUs to host one by one, added [GB/s]", "-", ".0f", lambda o: host_sum(o, "gpu")),
    ("4 GPUs to host at once [GB/s]", "-", ".0f", lambda o: host_total(o, "all_gpu_to_host")),
    ("both of these at once [GB/s]", "-", ".0f", lambda o: host_total(o, "all_host_both"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--occasion", action="append", help="default: all that were measured")
    chosen = parser.parse_args().occasion or occasions.measured()
    print(f"{'':41}{'expected':>9}" + "".join(f"{occasion:>11}" for occasion in chosen))
    for name, derived, style, value in FACTS:
        print(f"{name:41}{derived:>9}" + "".join(f"{value(occasion):>11{style}}" for occasion in chosen))


if __name__ == "__main__":
    main()
