#!/usr/bin/env python3
"""Kinds of cable are named in one table, sim/records/cable_kinds.hpp: nowhere else in C++, and the schema follows it.

Importers may say which kind a word of another program means (MEANT); files of other formats have words that look like
kinds (FOREIGN). The schema's list of generators is what models/fabrics registers. `--update` writes both into
topologies/schema.json.
"""
import argparse
import json
import re
from pathlib import Path

from tree import ROOT, files, finish, text_of

TABLE = Path("sim/records/cable_kinds.hpp")
SCHEMA = Path("topologies/schema.json")
ROOMS = ("sim", "cli", "models", "topologies", "calibrate", "validate", "apps-traces")
ROW = re.compile(r'CableKind\{\s*"([a-z0-9_]+\*?)",\s*"[a-z]*",\s*CableFamily::k(\w+)')
GENERATOR = re.compile(r'fabric_generators\(\)\s*\.add\(\s*\{\s*"(\w+)"')
BUILT = re.compile(r'"(nvlink|pcie|slingshot|ib_)"(?:\)|\s)*\+')

MEANT = {  # (file, kind): which word of which program
    ("calibrate/import/nccl_file_parts.cpp", "qpi"): "NCCL's CPU models before Skylake-SP",
    ("calibrate/import/topo_m.cpp", "c2c"): "what nvidia-smi topo -m leaves out, after the model of the GPU",
    ("calibrate/import/topo_m.cpp", "nvlink_cpu"): "between Graces, which nvidia-smi topo -m leaves out, too",
    ("calibrate/import/infragraph_links.cpp", "c2c"): "InfraGraph describes links in words",
    ("calibrate/import/infragraph_links.cpp", "qpi"): "the same",
    ("calibrate/import/infragraph_links.cpp", "infinity_fabric"): "the same",
    ("calibrate/import/infragraph_links.cpp", "infinity_fabric_host"): "the same",
}
FOREIGN = {
    ("calibrate/import/nccl_xml.cpp", "c2c"): "an element of NCCL's topology file",
    ("topologies/formats/nccl_xml.cpp", "c2c"): "the same element, written",
    ("calibrate/import/told_topology.cpp", "c2c"): "the same element, filled in as NCCL does",
}


def kinds() -> list[tuple[str, str]]:
    """(name, family) of every row."""
    return ROW.findall(text_of(TABLE))


def pattern(rows: list[tuple[str, str]], family: str = "") -> str:
    """Regular expression of what a topology may write: rows that another one's '*' covers are left out."""
    shown = [name for name, of in rows if (not family or of == family) and not any(
        other != name and other.endswith("*") and of_other == of and name.startswith(other[:-1])
        for other, of_other in rows)]
    return "^(" + "|".join(name.replace("*", ".*") for name in shown) + ")$"


def generators() -> list[str]:
    """Names that the rules of fabrics register, in the order of the alphabet."""
    return sorted(name for path in files(".cpp", under=("models",)) for name in GENERATOR.findall(text_of(path)))


def generator_findings(names: list[str], update: bool) -> list[str]:
    text = text_of(SCHEMA)
    now = json.loads(text)["properties"]["fabric"]["properties"]["generator"]["enum"]
    if sorted(now) == names:
        return []
    if not update:
        return [f"{SCHEMA}: generators {now} are not those of models/fabrics: {names}"]
    between = ",\n" + 6 * " "
    old, new = (between.join(map(json.dumps, some)) for some in (now, names))
    (ROOT / SCHEMA).write_text(text.replace(old, new), encoding="utf-8")
    return []


def schema_places(schema: dict) -> list[tuple[dict, str]]:
    definitions = schema["$defs"]
    return [(definitions["cable"]["properties"]["kind"], ""),
            (definitions["fabric_link"]["properties"]["cable"], "Network")]


def schema_findings(rows: list[tuple[str, str]], update: bool) -> list[str]:
    text = text_of(SCHEMA)
    found = []
    for place, family in schema_places(json.loads(text)):
        now, wanted = place["pattern"], pattern(rows, family)
        if now == wanted:
            continue
        found.append(f"{SCHEMA}: {now} is not what {TABLE} says: {wanted}")
        text = text.replace(json.dumps(now), json.dumps(wanted))
    if found and update:
        (ROOT / SCHEMA).write_text(text, encoding="utf-8")
        return []
    return found


def named(name: Path, text: str, known: set[str]) -> list[str]:
    """Literals that are a kind, or build one."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        code = re.sub(r"//.*", "", line)
        for literal in re.findall(r'"([^"\\]*)"', code):
            key = (str(name), literal)
            if literal in known and key not in MEANT and key not in FOREIGN:
                found.append(f'{name}:{number}: "{literal}" is a kind of cable: ask {TABLE} for it')
        if BUILT.search(code):
            found.append(f"{name}:{number}: builds a kind of cable: ask {TABLE} for it")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the patterns of the schema")
    rows = kinds()
    known = {name for name, _ in rows}
    update = parser.parse_args().update
    findings = schema_findings(rows, update) + generator_findings(generators(), update)
    names = [name for name in files(".cpp", ".hpp", ".cu", under=ROOMS) if name != TABLE]
    for name in names:
        findings += named(name, text_of(name), known)
    finish("cable kinds", findings, len(names) if rows else 0)


if __name__ == "__main__":
    main()
