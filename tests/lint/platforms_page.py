#!/usr/bin/env python3
"""docs/platforms.md and its drawings are what `linkcast show` says today. --update writes them."""
import argparse
import json
import subprocess
from pathlib import Path

from tree import ROOT, finish

PAGE, DRAWINGS = Path("docs/platforms.md"), Path("docs/platforms")
HEAD = """# Platforms

What is shipped, drawn from `topologies/*.json` by `linkcast show NAME --svg`: GPUs green, CPUs blue, adapters orange, switches
white, NVSwitches grey. The key below each drawing names number, kind and nominal rate of one link in one direction. Which
cables are assumed: `linkcast show NAME --json` gives the source of each; the sources in full: [SOURCES.md](../topologies/SOURCES.md).
This page is written by `python3 tests/lint/platforms_page.py --update`.
"""


def linkcast(program: str, *arguments: str) -> str:
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def models(shown: dict, kind: str) -> str:
    """"8 x Tesla P100, 2 x ...": models of a kind of device with their numbers."""
    found: dict[str, int] = {}
    for device in shown["devices"]:
        if device["kind"] == kind:
            found[device.get("model", kind)] = found.get(device.get("model", kind), 0) + 1
    return ", ".join(f"{count} x {model}" for model, count in found.items())


def evidence(shown: dict) -> str:
    names = [source["path"] for source in shown["from"]]
    measured = [name.removeprefix("calibrate/data/") for name in names if name.startswith("calibrate/data/")]
    lent = [Path(name).stem for name in names if not name.startswith("calibrate/data/")]
    return "fitted to " + ", ".join(f"`{name}`" for name in measured) + (f"; the rest from {', '.join(lent)}" if lent else "")


def section(program: str, name: str) -> str:
    shown = json.loads(linkcast(program, "show", name, "--json"))
    facts = "; ".join(text for text in (models(shown, kind) for kind in ("gpu", "nvswitch", "cpu", "pcie_switch", "nic")) if text)
    assumed = sum("assumed:" in cable["source"] for cable in shown["cables"])
    return (f"\n## {name}\n\n{shown['title']}\n\n![{name}](platforms/{name}.svg)\n\n"
            f"* Devices: {facts}.\n* Wiring: {shown['source'].removesuffix(' See SOURCES.md')}\n"
            f"* Cables: {len(shown['cables'])}, of which {assumed} with something assumed. Parameters: {evidence(shown)}.\n")


def wanted(program: str) -> dict[Path, str]:
    names = [row["name"] for row in json.loads(linkcast(program, "list", "platforms", "--json"))["platforms"]]
    texts = {DRAWINGS / f"{name}.svg": linkcast(program, "show", name, "--svg") for name in names}
    texts[PAGE] = HEAD + "".join(section(program, name) for name in names)
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    texts = wanted(str(Path(options.program).resolve()))
    findings = [f"{path}: no platform" for path in (ROOT / DRAWINGS).glob("*") if DRAWINGS / path.name not in texts]
    for path, text in texts.items():
        if options.update:
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_text(text)
        elif not (ROOT / path).is_file() or (ROOT / path).read_text() != text:
            findings.append(f"{path}: not what linkcast shows today; to accept: python3 tests/lint/platforms_page.py --update")
    finish("platforms", findings, len(texts))


if __name__ == "__main__":
    main()
