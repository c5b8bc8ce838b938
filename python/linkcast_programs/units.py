"""Sizes, times and bandwidths, as linkcast writes and reads them: GB is 1e9, GiB is 2^30."""
import re

SIZES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
LARGEST_B = 2**53


class UnitError(ValueError):
    """What is wrong with a text, and what is allowed."""


def parse_bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?) *([A-Za-z]*)", text)
    if not match:
        raise UnitError(f"'{text}' is not a size: write a number and a unit ({', '.join(SIZES)})")
    number, unit = match.groups()
    if not unit and number.isdigit():
        unit = "B"
    if unit in ("K", "k", "M", "G", "T"):  # source: nccl-tests, src/common.cu, parsesize
        unit = unit.upper() + "iB"
    if unit not in SIZES:
        raise UnitError(f"'{text}' has no unit of sizes: one of {', '.join(SIZES)} is needed")
    value = float(number) * SIZES[unit]
    if value != int(value) or not 1 <= value <= LARGEST_B:
        raise UnitError(f"'{text}' is not a whole number of bytes from 1 to 2^53")
    return int(value)


def _scaled(value: float, units: dict[str, float]) -> str:
    best = next(iter(units))
    for name, factor in units.items():
        if abs(value) >= factor:
            best = name
    return f"{value / units[best]:.4g} {best}"


def time_text(seconds: float) -> str:
    return _scaled(seconds, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1})


def bandwidth_text(rate: float) -> str:
    return _scaled(rate, {"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12})


def size_text(size: float) -> str:
    binary = _scaled(size, {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30})
    number, unit = binary.split()
    if size and size % 1024 == 0 and float(number) * SIZES[unit] == size:
        return binary
    return _scaled(size, {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12})


def bus_factor(operation: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth. source: NVIDIA/nccl-tests, doc/PERFORMANCE.md"""
    passes = {"all_reduce": 2, "broadcast": 0, "reduce": 0, "sendrecv": 0}.get(operation, 1)
    return passes * (ranks - 1) / ranks if passes else 1


def value_text(key: str, value: float) -> str:
    """By the unit that the key ends in."""
    for end, text in (("_Bps", bandwidth_text), ("_B", size_text), ("_s", time_text)):
        if key.endswith(end):
            return text(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
