#!/usr/bin/env python3
"""Starts a program of the package linkcast_programs by its name:  python3 python/run.py plots.make --out reports

`linkcast sweep`, `report`, `wiring` and `validate --report` call this file. Python looks for modules in its folder, whatever folder it is called in."""
import runpy
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "linkcast_programs"


def programs() -> list[str]:
    """Names of the package's modules that are programs; a folder with a __main__.py is one."""
    found = (path for path in PACKAGE.rglob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8"))
    return sorted(".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__main__") for path in found)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in programs():
        wrong = f"no program is called '{name}'" if name else "which program?"
        print(f"run.py: {wrong}: one of {', '.join(programs())}", file=sys.stderr)
        sys.exit(2)
    sys.argv[0] = sys.argv.pop(1)
    runpy.run_module(f"linkcast_programs.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
