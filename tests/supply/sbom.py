#!/usr/bin/env python3
"""What is in linkcast and what it is built with, as CycloneDX 1.5: the packages of .ci/prepare in the versions that are
installed, the shared libraries that the program loads, the Python packages of .ci/python/*.lock with their hashes.
    python3 tests/supply/sbom.py --program build/linkcast > build/sbom.json"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

import licences_page
import parts

SCOPES = {parts.LINKED: "required", parts.COMPILED: "required", parts.COMMANDS: "optional", parts.BUILD: "excluded", parts.TESTS: "excluded"}


def system() -> tuple[str, str]:
    """As package URLs name them: debian and debian-12."""
    told = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines() if "=" in line)
    name = told["ID"].strip('"')
    return name, f"{name}-{told.get('VERSION_ID', '').strip(chr(34))}"


def component(part: parts.Part) -> dict:
    vendor, distro = system()
    purl = f"pkg:deb/{vendor}/{part.name}@{part.version}?distro={distro}" if part.kind == "deb" else f"pkg:pypi/{part.name}@{part.version}"
    made = {"type": "library", "bom-ref": purl, "name": part.name, "version": part.version, "purl": purl, "scope": SCOPES[part.role],
            "properties": [{"name": "linkcast:role", "value": part.role}]}
    if part.licence:
        made["licenses"] = [{"license": {"name": part.licence}}]
    made["properties"] += [{"name": "linkcast:sha256", "value": value} for value in part.hashes]  # of the files any one of which may be fetched
    return made


def sbom(program: Path) -> dict:
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    licences = licences_page.listed()
    listed = [part for part in [*parts.debian_parts(), *parts.python_parts()] if part.version]
    for part in listed:
        part.licence = part.licence or licences.get(part.name, "")
    named = {part.name for part in listed}
    for package, library_version in parts.libraries_of(program).items():
        if package not in named:
            listed.append(parts.Part(package, "deb", parts.LINKED, library_version, parts.licence_of(package)))
    components = [component(part) for part in sorted(listed, key=lambda part: (part.kind, part.name))]
    own = {"type": "application", "bom-ref": "linkcast", "name": "linkcast", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own}, "components": components,
            "dependencies": [{"ref": "linkcast", "dependsOn": [one["bom-ref"] for one in components if one["scope"] == "required"]}]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=parts.ROOT / "build" / "linkcast")
    json.dump(sbom(parser.parse_args().program.resolve()), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
