#!/usr/bin/env python3
"""Every JSON record of the tree is read by the program's own strict reader; topologies also against their schema."""
import argparse
import json
import subprocess

from tree import ROOT, files, finish

FOLDERS = ("topologies", "calibrate/data", "models/params", "validate/claims")
SCHEMAS = {"topology/1": "topologies/schema.json", "variant/1": "topologies/variant-schema.json"}


def of_schema(names: list) -> list[str]:
    try:
        import jsonschema  # of Debian's python3-jsonschema; without it only the program's reader looks
    except ImportError:
        print("records: python3-jsonschema is not installed, topologies/schema.json not applied")
        return []
    checkers = {}
    for record, file in SCHEMAS.items():
        schema = json.loads((ROOT / file).read_text())
        checker = jsonschema.validators.validator_for(schema)
        checker.check_schema(schema)
        checkers[record] = checker(schema)
    found = []
    for name in names:
        record = json.loads((ROOT / name).read_text())
        for error in checkers.get(record["schema"], checkers["topology/1"]).iter_errors(record):
            found.append(f"{name}:/{'/'.join(map(str, error.absolute_path))}: {error.message}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="linkcast")
    program = parser.parse_args().program
    names = [name for name in files(".json", under=FOLDERS) if str(name) not in SCHEMAS.values()]
    findings = []
    for name in names:
        run = subprocess.run([program, "check", str(name)], cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            findings.append(run.stderr.strip() or f"{name}: linkcast check left with {run.returncode}")
    findings += of_schema([name for name in names if name.parts[0] == "topologies"])
    finish("records", findings, len(names))


if __name__ == "__main__":
    main()
