#!/usr/bin/env python3
"""The rooms of the program and who includes whom, from the #includes: as text, or drawn with --svg FILE.

A room stands one floor above the highest room that it includes. With --check the picture of docs/layout.md must be what
would be drawn now, and no source may include, through others, one that includes it: a source and its header count as one.
--circles prints those that are left."""
import argparse
from pathlib import Path

from include_rules import ARROWS, INCLUDE, room_of
from tree import CPP, ROOT, files, finish, text_of

PICTURE = Path("docs/rooms.svg")
PROGRAM = ("sim", "cli", "python", "models", "topologies", "calibrate", "validate", "apps-traces")
# Circles of sources that were there before the check; a source that leaves its circle leaves this list, none joins it.
KNOWN_CIRCLES: tuple[set[str], ...] = ()
BOX_W, BOX_H, GAP_X, GAP_Y, MARGIN = 140, 34, 22, 62, 20  # pixels of the drawing


def arrows() -> dict[str, set[str]]:
    """Room -> rooms whose headers it includes."""
    found: dict[str, set[str]] = {room: set() for room in ARROWS if room != "tests"}
    for name in files(*CPP, under=PROGRAM):
        room = room_of(name)
        targets = {room_of(Path(own)) for own, _ in INCLUDE.findall(text_of(name)) if own}
        found[room] |= targets - {room, None}
    return found


def includes_of_sources() -> dict[str, set[str]]:
    """Source with its header, without the suffix -> those that it includes."""
    found: dict[str, set[str]] = {}
    for name in files(*CPP, under=PROGRAM):
        mine = str(name.with_suffix(""))
        found.setdefault(mine, set()).update(str(Path(own).with_suffix("")) for own, _ in INCLUDE.findall(text_of(name)) if own)
    return {name: (seen & found.keys()) - {name} for name, seen in found.items()}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Largest sets in which each leads to each other (Tarjan's strongly connected components of more than one)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for to in graph[name]:
            if to not in number:
                visit(to)
                low[name] = min(low[name], low[to])
            elif to in stack:
                low[name] = min(low[name], number[to])
        if low[name] == number[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return sorted(found, key=min)


def circle_findings(found: list[set[str]], known: tuple[set[str], ...]) -> list[str]:
    named = {name for circle in known for name in circle}
    still = {name for circle in found for name in circle}
    return [*(f"{min(circle)}: includes go in a circle: {', '.join(sorted(circle))}: make one file of them, or find the seam"
              for circle in found if not any(circle <= one for one in known)),
            *(f"{name}: is in no circle: take it out of KNOWN_CIRCLES in tests/lint/rooms.py" for name in sorted(named - still))]


def direct(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the arrows that lead where a longer way leads, too."""
    below = reachable(graph)
    return {room: {to for to in seen if not any(to in below[other] for other in seen if other != to)}
            for room, seen in graph.items()}


def reachable(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    below: dict[str, set[str]] = {}

    def visit(room: str, way: tuple[str, ...]) -> set[str]:
        if room in way:
            raise SystemExit(f"rooms: a circle: {' -> '.join((*way, room))}")
        if room not in below:
            below[room] = set().union(*({to} | visit(to, (*way, room)) for to in graph[room]))
        return below[room]

    for room in graph:
        visit(room, ())
    return below


def floors(graph: dict[str, set[str]]) -> list[list[str]]:
    """Lowest first."""
    reachable(graph)  # refuses circles
    height: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in height:
            height[room] = 1 + max((of(to) for to in graph[room]), default=-1)
        return height[room]

    rows: list[list[str]] = [[] for _ in range(1 + max(of(room) for room in graph))]
    for room in sorted(graph):
        rows[height[room]].append(room)
    return rows


def as_text(graph: dict[str, set[str]]) -> str:
    rows = floors(graph)
    count = sum(len(to) for to in graph.values())
    lines = [f"{len(graph)} rooms on {len(rows)} floors, {count} arrows, no circle"]
    for floor in range(len(rows) - 1, -1, -1):
        lines.append(f"floor {floor}")
        lines += [f"  {room:18} -> {', '.join(sorted(graph[room])) or '-'}" for room in rows[floor]]
    return "\n".join(lines) + "\n"


def places(rows: list[list[str]]) -> tuple[dict[str, tuple[int, int]], int, int]:
    """Left upper corner of each box, and width and height of the picture; the highest floor on top."""
    widest = max(len(row) for row in rows)
    width = 2 * MARGIN + widest * (BOX_W + GAP_X) - GAP_X
    at = {}
    for floor, row in enumerate(rows):
        left = (width - len(row) * (BOX_W + GAP_X) + GAP_X) // 2
        for k, room in enumerate(row):
            at[room] = (left + k * (BOX_W + GAP_X), MARGIN + (len(rows) - 1 - floor) * (BOX_H + GAP_Y))
    return at, width, 2 * MARGIN + len(rows) * (BOX_H + GAP_Y) - GAP_Y


def as_svg(graph: dict[str, set[str]]) -> str:
    """Boxes on floors; an arrow is left out where a longer way leads there."""
    at, width, height = places(floors(graph))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           '<title>Rooms of linkcast: who includes whom</title>',
           '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0L8 4L0 8z" fill="#556"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for room, seen in sorted(direct(graph).items()):
        x, y = at[room]
        for to in sorted(seen):
            to_x, to_y = at[to]
            out.append(f'<line x1="{x + BOX_W // 2}" y1="{y + BOX_H}" x2="{to_x + BOX_W // 2}" y2="{to_y}" '
                       'stroke="#889" marker-end="url(#head)"/>')
    for room, (x, y) in sorted(at.items()):
        out.append(f'<rect x="{x}" y="{y}" width="{BOX_W}" height="{BOX_H}" rx="4" fill="#eef2fa" stroke="#456"/>')
        out.append(f'<text x="{x + BOX_W // 2}" y="{y + 22}" text-anchor="middle">{room.removeprefix("sim/")}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def findings(graph: dict[str, set[str]]) -> list[str]:
    picture = ROOT / PICTURE
    page = text_of(Path("docs/layout.md"))
    found = [f"docs/layout.md: no row for `{room}`" for room in graph if f"| `{room}` |" not in page]
    if not picture.is_file() or picture.read_text() != as_svg(graph):
        found.append(f"{PICTURE}: is not what the includes say: python3 tests/lint/rooms.py --svg {PICTURE}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path, help="draws to this file instead of printing")
    parser.add_argument("--check", action="store_true", help="the lint: is docs/layout.md up to date?")
    parser.add_argument("--circles", action="store_true", help="prints circles of sources, a line each")
    given = parser.parse_args()
    if given.circles:
        print("\n".join(", ".join(sorted(circle)) for circle in circles(includes_of_sources())))
        return
    graph = arrows()
    if given.check:
        finish("rooms", findings(graph) + circle_findings(circles(includes_of_sources()), KNOWN_CIRCLES), len(graph))
    if given.svg:
        given.svg.write_text(as_svg(graph))
    else:
        print(as_text(graph), end="")


if __name__ == "__main__":
    main()
