#!/usr/bin/env python3
"""Puts the copyright files of the packages whose code an unpacked wheel gets, and the licences that they name, among its
licences: of the libraries that its binaries load, and of what is compiled in.
    python3 tests/supply/notices.py FOLDER"""
import importlib.metadata
import re
import shutil
import sys
from pathlib import Path

import parts

LEFT_OUT = {"libc6", "libstdc++6", "libgcc-s1", "zlib1g", "zlib1g-dev",  # of every system: auditwheel copies none of them
            "libsimgrid-dev"}
BY_PIP = {"pybind11-dev": "pybind11"}  # what the wheel is built with, where Debian's is not installed


def notice_of(package: str) -> Path | None:
    file = Path("/usr/share/doc") / package / "copyright"
    if file.is_file():
        return file
    files = importlib.metadata.files(BY_PIP[package]) if package in BY_PIP else []
    return next((Path(one.locate()) for one in files if one.name.startswith("LICEN")), None)


def main() -> int:
    if len(sys.argv) != 2:
        print("error: one folder is wanted: an unpacked wheel", file=sys.stderr)
        return 2
    wheel = Path(sys.argv[1])
    binaries = [path for path in wheel.rglob("*") if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]
    into = next(wheel.glob("*.dist-info")) / "licenses"
    packages = sorted({*parts.loaded_by(binaries).values()} - LEFT_OUT)
    packages += sorted({*f"{parts.ROLES[parts.COMPILED]} {parts.ROLES[parts.LINKED]}".split()} - LEFT_OUT)
    written = set()
    for package in packages:
        notice = notice_of(package)
        if notice is None:
            print(f"error: no notice of {package} is installed", file=sys.stderr)
            return 1
        text = notice.read_text(encoding="utf-8", errors="replace")
        if text not in written:  # that of a library and of its headers is one
            written.add(text)
            (into / f"{package}.txt").write_text(text, encoding="utf-8")
    for licence in sorted({name for text in written for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text)}):
        shutil.copyfile(Path("/usr/share/common-licenses") / licence, into / f"{licence}.txt")
    print(f"{len(binaries)} binaries, {len(written)} notices", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
