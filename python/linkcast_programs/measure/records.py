"""Records that linkcast-bench left in a folder: whose they are, when they were taken, which are kept back from the fit."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from ..records import InputError, parse, read_text

MEASURED = ("measurement/1", "launch/1", "discovery/1")
# Copies that share links: a fit takes copies that are alone, so that these cost it nothing.
KEPT_BACK = ("concurrency",)
HELD_OUT_NOTE = "held out"  # with which a bench begins the note of a record that no fit may use


@dataclass
class Record:
    path: Path
    bench: str
    machine: str
    topology: str
    occasion: str
    schema: str
    kept_back: bool
    gpus: list[str]  # names
    library: str     # NCCL that ran, as "nccl-2.28.3"; empty: none
    points: list[dict] = field(repr=False)

    @property
    def measured(self) -> int:
        return sum(point.get("status", "ok") == "ok" for point in self.points)


def read_record(path: Path) -> Record | None:
    """None: another kind of file."""
    node = parse(read_text(path), str(path))
    if not isinstance(node.value, dict) or node.value.get("schema") not in MEASURED:
        return None
    bench, machine = node["bench"].text(), node["machine"].text()
    found = re.fullmatch(rf"{re.escape(machine)}-(.+)-{re.escape(bench)}", node["id"].text())
    if not found:
        return None  # not of linkcast-bench
    kept_back = bench in KEPT_BACK or any(text.startswith(HELD_OUT_NOTE) for text in node["notes"].texts())
    version = node.value.get("method", {}).get("nccl", "")
    library = f"nccl-{version}" if re.match(r"\d", str(version)) else ""
    return Record(path, bench, machine, node["topology"].text(), found[1], node["schema"].text(), kept_back,
                  node["environment"]["gpu_names"].texts(), library, node["points"].value)


def records_in(folder: Path) -> list[Record]:
    found = (read_record(path) for path in sorted(folder.glob("*.json")))
    return [record for record in found if record]


def newest(records: list[Record]) -> list[Record]:
    """Those of the last occasion. @raises InputError  several machines"""
    machines = sorted({record.machine for record in records})
    if len(machines) > 1:
        raise InputError(f"{records[0].path.parent}: holds records of several machines, {', '.join(machines)}: name one by --machine")
    last = max((record.occasion for record in records), default="")
    return [record for record in records if record.occasion == last]
