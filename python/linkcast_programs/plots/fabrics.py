"""One small fabric of every generator (docs/fabrics/*.json), drawn from the links that linkcast lists."""
import json
import math
import subprocess
from pathlib import Path

from . import common
from .common import BLUE, GREEN, GREY, ORANGE, PURPLE

PLATFORM = "alps"  # four NICs a node; the examples take one of them where they say so
LEVELS = {"nic": 0, "switch": 1, "leaf": 1, "rail": 1, "spine": 2, "aggregation": 2, "core": 3}
COLOURS = {"host": GREY, "local": BLUE, "leaf_spine": BLUE, "leaf_aggregation": BLUE, "aggregation_core": GREEN,
           "global": ORANGE}  # any other is along a dimension
PLAIN, LONG = 0.9, 0.55  # line widths: cables inside a group and between groups


def records(program: str) -> dict:
    """Answer of `show --fabric --json --links` for each example, with the example itself."""
    found = {}
    for path in sorted((common.ROOT / "docs/fabrics").glob("*.json")):
        run = subprocess.run([program, "show", PLATFORM, "--fabric", "--fabric-file", str(path), "--json", "--links"],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(run.stderr.strip())
        found[path.stem] = {"answer": json.loads(run.stdout), "example": json.loads(path.read_text())["fabric"]}
    return found


def kind_of(name: str) -> str:
    return name.split("/")[-1].rstrip("0123456789")


def group_of(name: str) -> int:
    head = name.split("/")[0]
    return int(head.removeprefix("group"))


def switch_of_nic(links: list[dict]) -> dict[str, str]:
    return {link["from"]: link["to"] for link in links if link["class"] == "host" and link["from"].startswith("nic")}


def in_levels(names: list[str], links: list[dict]) -> dict:
    """NICs at the bottom, each next to its switch; every level spread over the same width."""
    at = switch_of_nic(links)
    places = {}
    for level in sorted(set(LEVELS.values())):
        row = [name for name in names if LEVELS[kind_of(name)] == level]
        if level == 0:
            switches = [name for name in names if name in set(at.values())]
            row.sort(key=lambda nic: (switches.index(at[nic]), int(nic[3:])))
        for place, name in enumerate(row):
            places[name] = ((place + 0.5) / len(row), float(level))
    return places


def on_circle(names: list[str], links: list[dict]) -> dict:
    """Groups as sectors; from the middle outwards spines, leaves or switches, NICs."""
    groups = 1 + max(group_of(name) for name in names if "/" in name)
    at = switch_of_nic(links)
    radius = {"spine": 0.55, "leaf": 0.95, "switch": 0.75, "nic": 1.2}
    rows: dict[tuple, list[str]] = {}
    for name in names:
        rows.setdefault((group_of(at.get(name, name)), kind_of(name)), []).append(name)
    places = {}
    for (group, kind), row in rows.items():
        for place, name in enumerate(row):
            angle = 2 * math.pi * (group + 0.5 + 0.72 * ((place + 0.5) / len(row) - 0.5)) / groups
            # Switches that all have cables to each other must not lie on one line.
            bow = 0.16 * (place % 2) if kind == "switch" else 0
            places[name] = ((radius[kind] + bow) * math.sin(angle), (radius[kind] + bow) * math.cos(angle))
    return places


def in_grid(names: list[str], sizes: list[int]) -> dict:
    return {name: (number % sizes[0], number // sizes[0]) for number, name in enumerate(names)}


def lattice_of_switches(names: list[str], links: list[dict], sizes: list[int]) -> dict:
    """Switches at the points of a lattice of two dimensions, the NICs of each around it."""
    at = switch_of_nic(links)
    places = {}
    for name in sorted(set(at.values())):
        column, row = (int(coordinate) for coordinate in name.removeprefix("switch").split("."))
        places[name] = (float(column), float(row))
        nics = sorted((nic for nic in at if at[nic] == name), key=lambda nic: int(nic[3:]))
        for place, nic in enumerate(nics):
            angle = math.radians(225 + 40 * (place - (len(nics) - 1) / 2))
            places[nic] = (column + 0.24 * math.cos(angle), row + 0.24 * math.sin(angle))
    if len(places) != len(names) or any(column >= sizes[0] or row >= sizes[1] for column, row in places.values()):
        raise SystemExit("the links do not form the lattice of the example")
    return places


def draw_link(axis, ends: tuple, link: dict, bend: float) -> None:
    style = {"arrowstyle": "-", "color": COLOURS.get(link["class"], PURPLE), "lw": LONG if link["class"] == "global" else PLAIN,
             "connectionstyle": f"arc3,rad={bend}", "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", xy=ends[1], xytext=ends[0], arrowprops=style, zorder=1)


def draw(axis, generator: str, answer: dict, example: dict) -> None:
    links = [link for link in answer["link_list"] if link["id"] % 2 == 0]
    names = list(dict.fromkeys(name for link in links for name in (link["from"], link["to"])))
    if all(kind_of(name) == "nic" for name in names):
        places = in_grid(sorted(names, key=lambda name: int(name[3:])), example["dimensions"])
    elif "dimensions" in example:
        places = lattice_of_switches(names, links, example["dimensions"])
    elif generator.startswith("dragonfly"):
        places = on_circle(names, links)
    else:
        places = in_levels(names, links)
    for link in links:
        ends = places[link["from"]], places[link["to"]]
        passes_others = "dimensions" in example and max(abs(a - b) for a, b in zip(*ends, strict=True)) > 1
        draw_link(axis, ends, link, 0.22 if passes_others else 0)
    for name, (x, y) in places.items():
        nic = kind_of(name) == "nic"
        first_node = nic and answer["nics_per_node"] > 1 and int(name[3:]) < answer["nics_per_node"]
        fill = ORANGE if first_node else "white" if nic else "#333333"
        axis.plot(x, y, "o" if nic else "s", ms=5 if nic else 6, mfc=fill, mec="#333333", mew=0.9, zorder=2)
    axis.set_axis_off()
    axis.margins(0.12, 0.18 if generator == "torus" else 0.12)
    if not generator.startswith("dragonfly"):
        return
    axis.set_aspect("equal")


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(2, 4, figsize=(15, 8.2))
    figure.subplots_adjust(left=0.02, right=0.98, top=0.87, bottom=0.08, hspace=0.2, wspace=0.06)
    for axis, (generator, record) in zip(axes.flat, data.items()):
        answer = record["answer"]
        draw(axis, generator, answer, record["example"])
        cables = ", ".join(f"{link['cables']} {link['name']}" for link in answer["classes"])
        axis.set_title(f"{generator}\n{answer['endpoints']} NICs, {answer['switches']} switches\ncables: {cables}", fontsize=8.5)
    for axis in axes.flat[len(data):]:
        axis.set_axis_off()
    legend = [plt.Line2D([], [], ls="", marker="o", mfc="white", mec="#333333", label="NIC"),
              plt.Line2D([], [], ls="", marker="o", mfc=ORANGE, mec="#333333", label="NICs of node 0"),
              plt.Line2D([], [], ls="", marker="s", color="#333333", label="switch"),
              *(plt.Line2D([], [], color=colour, label=text) for colour, text in
                ((GREY, "to a NIC"), (BLUE, "local, above a leaf"), (GREEN, "to the core"), (ORANGE, "global"), (PURPLE, "along a dimension")))]
    figure.legend(handles=legend, loc="lower center", ncol=len(legend), fontsize=8, bbox_to_anchor=(0.5, 0.025))
    figure.suptitle("The generators of fabrics, one small example each", fontsize=11)
    return common.save(plt, figure, f"records: docs/fabrics/*.json with the node of {PLATFORM}; links as linkcast show --fabric "
                       "--json --links lists them", out)
