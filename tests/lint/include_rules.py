#!/usr/bin/env python3
"""Who may include whom. A room is a folder; arrows that are not listed are forbidden."""
import re
from pathlib import Path

from tree import CPP, ROOT, files, finish, text_of

BASE = ["sim/units", "sim/records"]
MACHINE = [*BASE, "sim/platform", "sim/plugin"]
PLAN = [*MACHINE, "sim/work", "sim/log", "sim/engine", "sim/activities"]
FORECAST = [*PLAN, "sim/catalogue", "sim/uncertainty", "sim/congestion"]
ANSWER = [*FORECAST, "sim/bounds", "sim/launch", "sim/collective", "sim/copy", "sim/query"]

ARROWS = {  # room -> rooms whose headers it may include, besides its own; lower floors first
    "sim/units": [],
    "sim/log": [],
    "sim/records": ["sim/units"],
    "sim/work": BASE,
    "sim/platform": [*BASE, "sim/work"],
    "sim/plugin": [*BASE, "sim/platform"],
    "sim/engine": [*BASE, "sim/work", "sim/log"],
    "sim/activities": [*MACHINE, "sim/work", "sim/engine"],
    "sim/lending": MACHINE,
    "sim/catalogue": [*MACHINE, "sim/work", "sim/lending", "sim/log", "sim/engine"],
    "sim/bounds": [*MACHINE, "sim/work"],
    "sim/uncertainty": PLAN,
    "sim/congestion": PLAN,
    "sim/query": [*FORECAST, "sim/bounds"],
    "sim/launch": [*BASE, "sim/catalogue", "sim/uncertainty", "sim/query"],
    "sim/collective": [*FORECAST, "sim/query", "sim/launch"],
    "sim/copy": [*FORECAST, "sim/query", "sim/launch"],
    "sim/replay": ANSWER,
    "sim/placement": [*ANSWER, "sim/replay"],
    "sim/scheduling": [*ANSWER, "sim/placement"],
    "sim/serve": [*ANSWER, "sim/placement"],
    "sim/exporters": MACHINE,
    "apps-traces": [*BASE, "sim/plugin"],
    "models": MACHINE,
    "models/algorithms": [*FORECAST, "sim/launch", "sim/collective"],
    "calibrate/fit": [*BASE, "sim/work", "sim/log", "sim/platform", "sim/lending"],
    "calibrate/learn": [*BASE, "sim/log", "sim/platform", "sim/plugin", "sim/catalogue", "sim/query", "calibrate/fit", "validate"],
    "calibrate/pipelines": [*ANSWER, "sim/lending", "sim/replay", "calibrate/fit", "calibrate/learn", "calibrate/import"],
    "calibrate/import": [*MACHINE, "sim/work"],
    "calibrate/bench": BASE,
    "calibrate/choices": [],
    "validate": [*BASE, "sim/work", "sim/log", "sim/platform", "sim/catalogue", "sim/query"],
    "validate/diagnosis": [*BASE, "sim/work", "sim/log", "sim/platform", "sim/plugin", "sim/catalogue", "sim/query", "calibrate/import", "validate"],
    "validate/emulation": [*ANSWER, "sim/placement", "calibrate/import"],
    "cli": [*ANSWER, "sim/lending", "sim/exporters", "sim/replay", "sim/placement", "sim/scheduling", "sim/serve", "calibrate/fit",
            "calibrate/learn", "calibrate/pipelines", "calibrate/import", "validate", "validate/diagnosis", "validate/emulation"],
    "python": [*BASE, "sim/engine", "sim/catalogue", "sim/query", "calibrate/pipelines", "validate", "validate/diagnosis"],
    "tests": ["sim", "cli", "models", "calibrate", "validate", "apps-traces"],
}

LIBRARIES = [  # header, who may include it besides the tests: rooms or single files
    (r"simgrid/|xbt/|smpi/", ["sim/engine"]),
    (r"boost/graph/", ["sim/platform/routing.cpp", "sim/platform/bisection.cpp", "sim/platform/symmetry.cpp"]),
    (r"boost/functional/hash\.hpp$", ["sim/placement/gpu_sets.cpp"]),
    (r"boost/math/statistics/", ["apps-traces/import/recorded_trace.cpp"]),
    (r"boost/math/distributions/", ["validate/diagnosis/healthy_noise.cpp"]),
    (r"CLI/", ["cli", "calibrate/bench", "calibrate/choices"]),
    (r"Eigen/", ["calibrate/fit", "validate/diagnosis"]),
    (r"pybind11/", ["python"]),
    (r"spdlog/", ["sim/log", "cli/console.hpp", "cli/console.cpp"]),
    (r"fmt/", [room for room in ARROWS if room not in ("calibrate/bench", "calibrate/choices")]),
    (r"muParser", ["validate"]),
    (r"pugixml", ["calibrate/import", "calibrate/choices", "models/algorithms/msccl_xml.cpp"]),
    (r"httplib\.h$", ["sim/serve/connection.hpp", "sim/serve/http_server.cpp"]),
    (r"re2/", ["sim/units/regex.cpp"]),
    (r"^regex$", []),  # recurses with the length of its input: sim/units/regex.hpp instead
    (r"openssl/", ["sim/records"]),
    (r"zlib\.h$", ["sim/records/packed_file.cpp"]),
    (r"sqlite3\.h$", ["apps-traces/import/nsys_database.cpp"]),
    (r"simdjson", ["sim/records/trace.cpp", "sim/records/quick_json.cpp"]),
    (r"google/protobuf/|chakra_et\.pb\.h$", ["apps-traces/import"]),
    (r"nlohmann/", ["sim/records", "calibrate/bench"]),
    (r"cuda|nccl|nvml|cooperative_groups|mpi\.h$", ["calibrate/bench"]),
    (r"catch2/|benchmark/", []),
    # sim/engine: the native solver runs in a child process, since SimGrid allows one engine a process; fsync and nothing else in atomic_file, isatty and the width of the terminal in console, exec in python_program, signals held back in cmd_serve
    (r"(sys|netinet|arpa)/|(unistd|fcntl|sched|dlfcn|pthread|poll|numa|signal|spawn)\.h$", ["sim/engine", "sim/records/atomic_file.hpp", "sim/work/stop.cpp", "sim/work/in_order.cpp", "sim/serve/connection.hpp", "sim/serve/http_server.cpp", "sim/serve/request_log.cpp", "cli/console.cpp", "cli/python_program.cpp", "cli/stdin_file.cpp", "cli/lines.cpp", "cli/cmd_serve.cpp", "calibrate/bench", "calibrate/choices"]),
    (r"(elf|link|strings)\.h$", ["calibrate/choices"]),
    (r"[a-z_0-9]+$", list(ARROWS)),  # the standard library
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def room_of(name: Path) -> str | None:
    return next((room for room in sorted(ARROWS, key=len, reverse=True) if name.is_relative_to(room)), None)


def wrong_header(room: str, header: str) -> str | None:
    if not (ROOT / header).is_file():
        return f'"{header}" is no file of this tree: write the path from the root'
    target = Path(header)
    allowed = [room, *ARROWS[room]]
    if any(target.is_relative_to(folder) for folder in allowed):
        return None
    return f'"{header}": {room} may include only {", ".join(allowed)}'


def wrong_library(name: Path, header: str) -> str | None:
    for pattern, users in LIBRARIES:
        if re.match(pattern, header):
            if any(name.is_relative_to(user) for user in (*users, "tests")):
                return None
            return f"<{header}>: only in {', '.join((*users, 'tests'))}"
    return f"<{header}>: a library that tests/lint/include_rules.py does not know"


def forbidden(name: Path, text: str) -> list[str]:
    room = room_of(name)
    if room is None:
        return [f"{name}: lies in no room: {', '.join(ARROWS)}"]
    found = []
    for match in INCLUDE.finditer(text):
        own, library = match.groups()
        problem = wrong_header(room, own) if own else wrong_library(name, library)
        if problem:
            found.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {problem}")
    return found


def main() -> None:
    names = files(*CPP, under=("sim", "cli", "python", "models", "calibrate", "validate", "apps-traces", "tests"))
    finish("include rules", [finding for name in names for finding in forbidden(name, text_of(name))], len(names))


if __name__ == "__main__":
    main()
