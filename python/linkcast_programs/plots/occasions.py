"""Occasions on which a machine was measured: which ones were fitted, and every point beside its prediction.

An occasion is one session on one set of GPUs; its files are calibrate/data/<machine>/<occasion>-<bench>.json.
"""
import math
import statistics

from . import common

MACHINE = "hgx-h200"
KINDS = {"p2p_copy": "copies in a queue", "p2p_copy_single": "single copies", "concurrency": "flows",
         "host_copy": "host copies", "relay": "relays"}


def folder(machine: str = MACHINE) -> str:
    return f"calibrate/data/{machine}"


def path(occasion: str, bench: str, machine: str = MACHINE) -> str:
    return f"{folder(machine)}/{occasion}-{bench}.json"


def measured(machine: str = MACHINE) -> list[str]:
    """Every occasion in the tree, oldest first; files without a date are of other numbers of GPUs."""
    names = {file.name.partition("-")[0] for file in (common.ROOT / folder(machine)).glob("*-*.json")}
    return sorted(name for name in names if name[0].isdigit() and (common.ROOT / path(name, "p2p_copy", machine)).exists())


def fitted(machine: str = MACHINE) -> list[str]:
    """Occasions that the shipped parameters name as their sources."""
    sources = common.load(f"models/params/{machine}.json")["from"]
    names = {source["path"].rpartition("/")[2].partition("-")[0] for source in sources}
    return sorted(names & set(measured(machine)))


def held_out(machine: str = MACHINE) -> list[str]:
    return [occasion for occasion in measured(machine) if occasion not in fitted(machine)]


def environment(occasion: str, bench: str = "p2p_copy") -> dict:
    return common.load(path(occasion, bench))["environment"]


def date_of(occasion: str, bench: str = "p2p_copy") -> str:
    return environment(occasion, bench)["date"][:16].replace("T", " ")


def gpus_of(occasion: str) -> list[str]:
    return environment(occasion)["gpu_uuids_hashed"]


def compared(program: str, occasion: str) -> list[dict]:
    """Points of `linkcast validate --against`, each with its kind and the share of its interval that it is off."""
    files = [path(occasion, bench) for bench in KINDS if (common.ROOT / path(occasion, bench)).exists()]
    if not files:
        raise SystemExit(f"error: no occasion '{occasion}': one of {', '.join(measured())}")
    points = []
    for comparison in common.against(program, *files):
        bench = comparison["file"].rpartition("/")[2].partition("-")[2].removesuffix(".json")
        points += [{**point, "kind": KINDS[bench], "sigmas": sigmas_off(point)} for point in comparison["points"]]
    return points


def sigmas_off(point: dict) -> float:
    """How many standard deviations of ln t the measured time lies off the middle of the predicted interval."""
    sigma = math.log(point["high_s"] / point["low_s"]) / (2 * statistics.NormalDist().inv_cdf(0.95))
    return abs(math.log(point["measured_s"] / math.sqrt(point["low_s"] * point["high_s"]))) / sigma


def coverage(points: list[dict], nominal: float) -> float:
    """Share of points inside the interval that is to hold a share `nominal` of them."""
    reach = statistics.NormalDist().inv_cdf((1 + nominal) / 2)
    return sum(point["sigmas"] <= reach for point in points) / len(points)


def version(program: str) -> str:
    return common.provenance(common.batch(program, [{"kind": "show", "platform": MACHINE}])[0])
