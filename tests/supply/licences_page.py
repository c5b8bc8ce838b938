#!/usr/bin/env python3
"""docs/licences.md: the licence of every part, from the copyright files of the Debian packages of .ci/prepare and from the
metadata of the Python packages of .ci/python/*.lock.
    python3 tests/supply/licences_page.py --update    writes it; pip asks its index for the metadata
    python3 tests/supply/licences_page.py             is it in step? 77: not on the distribution that it was made on"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import parts

PAGE = parts.ROOT / "docs" / "licences.md"
MADE_ON = "Debian 12"
HEAD = f"""# Licences

linkcast is under Apache-2.0 ([LICENSE](../LICENSE)). Libraries are the distribution's; what is compiled in from their headers is
said below. Written by `python3 tests/supply/licences_page.py --update` on {MADE_ON} from each
package's copyright file (its licence for most files; packages hold files under others, which that file lists) and from pip's
metadata; a test keeps the list equal to what `.ci/prepare` and `.ci/python/*.lock` install. Versions and hashes:
`python3 tests/supply/sbom.py > build/sbom.json` writes them as CycloneDX.

Who passes a binary on: SimGrid is LGPL-2.1 and a shared library that is loaded when it is asked for; Debian's build of it brings
ns-3, which is under the GPL, so that a bundle with both is too. The .deb holds no library: `liblinkcast_simgrid.so` is linkcast's
own and takes any SimGrid of the soname that it was linked with (LGPL-2.1, section 6 b). The wheel holds neither SimGrid nor that
module, and copies of the other libraries; their notices, those of what is compiled in and this page are in its `licenses`
(`tests/supply/notices.py`), their versions in its `sboms`.

| part | for | licence |
| --- | --- | --- |
"""


def metadata_licence(metadata: dict) -> str:
    if metadata.get("license_expression"):
        return metadata["license_expression"]
    classified = [one.split(" :: ")[-1] for one in metadata.get("classifier", []) if one.startswith("License :: OSI Approved :: ")]
    said = metadata.get("license", "").strip().split("\n")[0]
    return said if said and len(said) < 60 else ", ".join(classified)


def python_licences() -> dict[str, str]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([f"{folder}/bin/python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade", "pip"],
                       check=True)  # older ones report no licence expression
        for lock in parts.locks():
            report = Path(folder) / "report.json"
            subprocess.run([f"{folder}/bin/python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--dry-run", "--report", str(report),
                            "--require-hashes", "-r", str(lock)], check=True)
            for one in json.loads(report.read_text(encoding="utf-8"))["install"]:
                found[one["metadata"]["name"].lower().replace("_", "-")] = metadata_licence(one["metadata"])
    return found


def listed() -> dict[str, str]:
    """Licence by part, as the page says."""
    if not PAGE.is_file():
        return {}
    return dict(re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.M))


def rows(of_python: dict[str, str]) -> list[str]:
    order = list(parts.ROLES)
    both = [*parts.debian_parts(), *parts.python_parts()]
    lines = []
    for part in sorted(both, key=lambda part: (order.index(part.role), part.kind, part.name)):
        licence = part.licence if part.kind == "deb" else of_python.get(part.name, "")
        lines.append(f"| `{part.name}` | {part.role}{'' if part.kind == 'deb' else ', by pip'} | {licence} |")
    return lines


def here() -> str:
    told = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines() if "=" in line)
    return f"{told['NAME'].strip(chr(34)).split()[0]} {told.get('VERSION_ID', '').strip(chr(34))}"


def findings() -> list[str]:
    page = listed()
    found = [f".ci/prepare installs {part.name}, of which tests/supply/parts.py does not say what it is for"
             for part in parts.debian_parts() if not part.role]
    if found:
        return found
    expected = {part.name for part in [*parts.debian_parts(), *parts.python_parts()]}
    found += [f"{PAGE.name} lacks {name}" for name in sorted(expected - set(page))]
    found += [f"{PAGE.name} lists {name}, which nothing installs" for name in sorted(set(page) - expected)]
    found += [f"{PAGE.name} knows no licence of {name}" for name, licence in page.items() if not licence.strip()]
    if not found and here() == MADE_ON:
        found += [f"{PAGE.name} says {page[part.name]} of {part.name}, its copyright file {part.licence}"
                  for part in parts.debian_parts() if part.version and part.licence != page[part.name]]
        if not found and PAGE.read_text(encoding="utf-8") != HEAD + "\n".join(rows(page)) + "\n":
            found.append(f"{PAGE.name} is not what --update writes")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    if parser.parse_args().update:
        PAGE.write_text(HEAD + "\n".join(rows(python_licences())) + "\n", encoding="utf-8")
    wrong = findings()
    print("\n".join(wrong) if wrong else f"{len(listed())} parts, all with their licences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
