"""What linkcast is made of and built with: Debian packages as .ci/prepare lists them, with what dpkg and their copyright
files say of them, and Python packages as .ci/python/*.lock pin them."""
import functools
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What each package is for. In the program: its code is linked, or compiled in from headers and archives.
LINKED, COMPILED, COMMANDS, BUILD, TESTS = "linked", "compiled in", "run by commands", "to build", "for tests"
ROLES = {
    LINKED: "libsimgrid-dev libssl-dev libmuparser-dev libpugixml-dev libcpp-httplib-dev libsimdjson-dev libmimalloc-dev libprotobuf-dev "
            "zlib1g-dev libsqlite3-dev libfmt-dev",
    COMPILED: "libboost-dev libeigen3-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libre2-dev pybind11-dev "
              "node-d3-scale node-d3-shape node-d3-selection node-d3-scale-chromatic",
    COMMANDS: "python3 python3-matplotlib python3-jinja2 python3-dask python3-distributed python3-pandas",
    BUILD: "g++ ccache cmake ninja-build pkg-config git protobuf-compiler python3-venv python3-dev esbuild",
    TESTS: "catch2 libbenchmark-dev clang-format python3-jsonschema python3-nbclient python3-ipykernel mypy slurmctld slurmd slurm-client curl libfaketime "
           "node-typescript chromium chromium-driver fonts-dejavu-core valgrind python3-selenium python3-sphinx python3-myst-parser",
}
LOCK_ROLES = {"parquet": COMMANDS, "dask": COMMANDS, "build": BUILD}

# Where the copyright file is no machine-readable one, or is that of a package that only names others.
BY_HAND = {
    "g++": "GPL-3.0-or-later with GCC exception", "clang-format": "Apache-2.0 with LLVM exception", "libboost-dev": "BSL-1.0", "python3": "PSF-2.0",
    "fonts-dejavu-core": "Bitstream-Vera", "valgrind": "GPL-2.0-or-later", "python3-venv": "PSF-2.0", "python3-dev": "PSF-2.0", "python3-jinja2": "BSD-3-Clause", "python3-matplotlib": "PSF-like (matplotlib)",
}
# Debian's short names that SPDX writes otherwise.
SPDX = {"expat": "MIT", "mit": "MIT", "bsd-3-clause": "BSD-3-Clause", "bsd-3": "BSD-3-Clause", "bsd-3-google": "BSD-3-Clause", "bsd-3-clause~google": "BSD-3-Clause",
        "bsd-2-clause": "BSD-2-Clause", "boost-1.0": "BSL-1.0", "boost": "BSL-1.0", "zlib": "Zlib", "lgpl-2.1": "LGPL-2.1-only", "gpl-2": "GPL-2.0-only",
        "gpl-2+": "GPL-2.0-or-later", "gpl-3+": "GPL-3.0-or-later", "mpl-2": "MPL-2.0", "apache-2.0": "Apache-2.0", "public-domain": "public domain",
        "bsd-3-clause+cla": "BSD-3-Clause", "gpl-2+ with openssl exception": "GPL-2.0-or-later with OpenSSL exception",
        "expat with embedded exception": "MIT with embedded exception"}


@dataclass
class Part:
    name: str
    kind: str  # deb or pypi
    role: str
    version: str = ""
    licence: str = ""
    hashes: list[str] = field(default_factory=list)  # SHA-256 of each file that may be fetched


def listed_packages() -> list[str]:
    text = subprocess.run(["bash", str(ROOT / ".ci" / "prepare"), "list"], check=True, capture_output=True, text=True).stdout
    return [line.split()[1] for line in text.splitlines()]


def role_of(package: str) -> str:
    return next((role for role, names in ROLES.items() if package in names.split()), "")


def version_of(package: str) -> str:
    """Empty: not installed."""
    told = subprocess.run(["dpkg-query", "-W", "-f", "${Status}\t${Version}", package], capture_output=True, text=True, check=False).stdout
    status, _, version = told.partition("\t")
    return version if status == "install ok installed" else ""


def licence_of(package: str) -> str:
    """That of most files: of the first paragraph of the copyright file that speaks of all of them."""
    if package in BY_HAND:
        return BY_HAND[package]
    file = Path("/usr/share/doc") / package / "copyright"
    if not file.is_file():
        return ""
    for paragraph in re.split(r"\n\s*\n", file.read_text(encoding="utf-8", errors="replace")):
        files = re.search(r"^Files:\s*(.*)$", paragraph, re.M)
        licence = re.search(r"^License:\s*(.+)$", paragraph, re.M)
        if files and licence and "*" in files[1].split():
            return SPDX.get(licence[1].strip().lower(), licence[1].strip())
    return ""


def locked(lock: Path) -> list[Part]:
    parts = []
    for entry in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8").strip()):
        pinned = re.match(r"([A-Za-z0-9._-]+)==(\S+)", entry)
        if pinned:
            parts.append(Part(pinned[1], "pypi", LOCK_ROLES[lock.stem], pinned[2], "", re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)))
    return parts


def locks() -> list[Path]:
    return sorted((ROOT / ".ci" / "python").glob("*.lock"))


@functools.cache
def debian_parts() -> list[Part]:
    return [Part(name, "deb", role_of(name), version_of(name), licence_of(name)) for name in listed_packages()]


def python_parts() -> list[Part]:
    """Once each, though two locks may pin the same."""
    found: dict[tuple[str, str], Part] = {}
    for lock in locks():
        for part in locked(lock):
            found.setdefault((part.name, part.version), part)
    return sorted(found.values(), key=lambda part: part.name)


def loaded_by(binaries: Iterable[Path]) -> dict[str, str]:
    """Packages of the shared libraries that these load, by path."""
    paths = set()
    for binary in binaries:
        loads = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True).stdout
        paths |= {Path(path).resolve() for path in re.findall(r"=> (/\S+)", loads)}
    return owners(paths)


def owners(paths: set[Path]) -> dict[str, str]:
    """Package of each file that has one."""
    names = sorted({name for path in paths for name in (str(path), str(path).removeprefix("/usr"))})
    owned = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False).stdout
    return {path: package.split(":")[0].split(",")[0] for package, path in (line.rsplit(": ", 1) for line in owned.splitlines())}


def archives_in(build: Path) -> set[Path]:
    """Archives that CMake found for the program."""
    cache = build / "CMakeCache.txt"
    return {Path(path).resolve() for path in re.findall(r"_ARCHIVE:FILEPATH=(/\S+)", cache.read_text())} if cache.exists() else set()


@functools.cache
def libraries_of(program: Path) -> dict[str, str]:
    """Packages of the shared libraries that the program and its modules load, and of the archives in it, with their versions."""
    found = {**loaded_by([program, *program.parent.glob("liblinkcast_*.so")]), **owners(archives_in(program.parent))}
    return {package: version_of(package) for package in sorted(set(found.values()))}
