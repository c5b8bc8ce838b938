#!/usr/bin/env python3
"""The question of a claims' row changes only with an entry in the row's history: a day, what it was, why.

tests/paper/readings.json holds a digest of what each row asks. A row that differs from it needs a new entry in `history`
that gives each part that changed as it was; --record then takes the new state.
"""
import argparse
import hashlib
import json
from pathlib import Path

from tree import ROOT, finish

CLAIMS = ROOT / "validate" / "claims"
RECORDED = ROOT / "tests" / "paper" / "readings.json"


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def part_of(name: str, value: object) -> object:
    """Short values as they are; a predicate and the queries by their digest."""
    return digest(value) if name in ("predicate", "quantities") and value is not None else value


def reading(row: dict) -> dict:
    tolerance = row.get("tolerance", {}).get("value")
    parts = {"role": row["role"], "predicate": row.get("predicate"), "tolerance": tolerance, "expected": row.get("expected"),
             "quantities": row.get("quantities")}
    return {name: part_of(name, value) for name, value in parts.items()} | {"history": len(row.get("history", []))}


def findings(row: dict, recorded: dict) -> list[str]:
    now = reading(row)
    changed = [name for name in now if name != "history" and now[name] != recorded[name]]
    if now["history"] < recorded["history"]:
        return [f"{row['id']}: its history is shorter than recorded"]
    if not changed:
        return []
    if now["history"] == recorded["history"]:
        return [f"{row['id']}: {', '.join(changed)} changed without an entry in history"]
    # The oldest of the new entries that names a part has it as it was recorded.
    was = {}
    for entry in row["history"][recorded["history"]:]:
        was = entry["was"] | was
    found = [f"{row['id']}: history does not say what {name} was" for name in changed if name not in was]
    # In words, as queries are long.
    return found + [f"{row['id']}: {name} was not what history says" for name in changed
                    if name in was and name != "quantities" and part_of(name, was[name]) != recorded[name]]


def all_findings(rows: list[dict], recorded: dict) -> list[str]:
    found = [f"{row['id']}: not recorded" for row in rows if row["id"] not in recorded]
    found += [f"{name}: recorded, but no row" for name in recorded if name not in {row["id"] for row in rows}]
    return found + [line for row in rows if row["id"] in recorded for line in findings(row, recorded[row["id"]])]


def listed(rows: list[dict]) -> list[str]:
    return [f"{row['id']} {entry['date']} {', '.join(entry['was'])} changed after {entry['verdict']}: {entry['why']}"
            for row in rows for entry in row.get("history", [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="take the present state, once every change has its entry")
    parser.add_argument("--list", action="store_true", help="every change of every row")
    options = parser.parse_args()
    rows = [row for path in sorted(CLAIMS.glob("*.json")) for row in json.loads(path.read_text())["claims"]]
    if options.list:
        print(*listed(rows), sep="\n")
        return
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    found = all_findings(rows, recorded)
    if options.record:
        found = [line for line in found if not line.endswith(": not recorded")]
        if not found:
            lines = [f' "{row["id"]}": {json.dumps(reading(row))}' for row in rows]
            RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    elif not found:
        found = [f"{row['id']}: differs from what is recorded: --record" for row in rows if reading(row) != recorded[row["id"]]]
    finish("readings", found, len(rows))


if __name__ == "__main__":
    main()
