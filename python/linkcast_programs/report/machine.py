"""The drawing of `linkcast show --svg` with the loads of a result on its cables."""
from __future__ import annotations

import json
import re
import subprocess
from typing import Any

from markupsafe import Markup

from ..records import Node
from .page import Section

CABLE = re.compile(r'<path d="[^"]*" stroke="[^"]*" stroke-width="[^"]*"><title>([\w-]+): ')
LINK = re.compile(r"^([\w-]+?)(?:->|<->|<=>)([\w-]+)$")
LOADS = ((0.75, "#b2182b"), (0.5, "#ef6548"), (0.25, "#fdae61"), (0.0, "#91bfdb"))  # from a share on; drawn on white
BOTTLENECK = "#b2182b"


def ends_of(link: str) -> tuple[str, str] | None:
    found = LINK.match(link)
    return tuple(sorted(found.groups())) if found else None


def loads_of(result: Node) -> tuple[dict[tuple[str, str], float], str]:
    """By the two ends; and what they mean. Without loads those links that limit."""
    loads: dict[tuple[str, str], float] = {}
    measured = [(one["id"].value, one["utilisation"].value) for one in result["links"].items() if one.has("utilisation")] if (
        result.get("links") and isinstance(result["links"].value, list)) else []
    for link, share in measured:
        if ends := ends_of(link):
            loads[ends] = max(loads.get(ends, 0.0), share)
    if loads:
        return loads, "Colours are the busier direction's share of capacity: blue below 25 %, yellow, orange, red from 75 %."
    for link in result["bottleneck"].value if result.get("bottleneck") else []:
        if ends := ends_of(str(link)):
            loads[ends] = 1.0
    return loads, "Red are the cables that limit."


def planes_of(devices: list[dict[str, Any]]) -> dict[str, str]:
    """Links are named by the plane of a switch."""
    return {device["id"]: device["group"] for device in devices if device.get("kind") == "nvswitch" and device.get("group")}


def coloured(svg: str, loads: dict[tuple[str, str], float], planes: dict[str, str]) -> tuple[str, int]:
    hits = 0

    def paint(found: re.Match) -> str:
        nonlocal hits
        ends = ends_of(found.group(1).replace("-", "->", 1))
        ends = tuple(sorted(planes.get(end, end) for end in ends)) if ends else None
        if ends not in loads:
            return found.group(0)
        hits += 1
        colour = next(colour for least, colour in LOADS if loads[ends] >= least)
        text = re.sub(r'stroke="[^"]*" stroke-width="[^"]*"', f'stroke="{colour}" stroke-width="{3 + 4 * loads[ends]:.1f}"', found.group(0))
        return text.replace("<title>", f"<title>{loads[ends]:.0%} ")

    return CABLE.sub(paint, svg), hits


def add_machine(section: Section, result: Node, program: str, data_dir: str) -> None:
    """Nothing where the result is of no single machine, or none of its links is a cable of it."""
    inputs = result.get("inputs")
    query = inputs["query"].value if inputs and inputs.has("query") else {}
    platform = query.get("platform") or result.value.get("platform")
    show = result.value.get("kind") == "show"
    loads, note = ({}, "") if show else loads_of(result)
    if not isinstance(platform, str) or "nodes" in query or (not loads and not show):
        return
    edits = [word for edit in query.get("edits", []) for word in ("--edit", edit)]
    words = [program, "--data-dir", data_dir, "show", platform, *edits]
    drawn = subprocess.run([*words, "--svg"], capture_output=True, text=True, check=False)
    if drawn.returncode:
        return  # a platform of another time or place
    devices = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)["devices"]
    svg, hits = coloured(drawn.stdout, loads, planes_of(devices))
    if hits or show:
        section.machine, section.machine_note = Markup(svg.replace("<svg ", '<svg role="img" ', 1)), note
