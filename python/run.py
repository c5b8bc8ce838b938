#!/usr/bin/env python3
"""Starts a program of the package linkcast_programs by its name:  python3 python/run.py plots.make --out reports

`linkcast sweep`, `report`, `wiring` and `validate --report` call this file. Python looks for modules in its folder, whatever folder it is called in."""
import runpy
import sys

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.argv[0] = sys.argv.pop(1)
    runpy.run_module(f"linkcast_programs.{sys.argv[0]}", run_name="__main__")
