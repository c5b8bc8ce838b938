#!/usr/bin/env python3
"""Who may include whom. A room is a folder; arrows that are not listed are forbidden."""
import re
from pathlib import Path

from tree import CPP, ROOT, files, finish, text_of

RECORDS = ["sim/base", "sim/records"]
MACHINE = [*RECORDS, "sim/engine", "sim/machine"]
QUERY = [*MACHINE, "sim/query"]
FORECAST = [*QUERY, "sim/plan", "sim/forecast"]

ARROWS = {  # room -> rooms whose headers it may include, besides its own; lower floors first
    "sim/base": [],
    "sim/records": ["sim/base"],
    "sim/engine": ["sim/base"],
    "sim/machine": [*RECORDS, "sim/engine"],
    "sim/query": MACHINE,
    "sim/plan": MACHINE,
    "sim/forecast": [*QUERY, "sim/plan"],
    "sim/replay": FORECAST,
    "sim/place": [*FORECAST, "sim/replay"],
    "topologies/formats": MACHINE,
    "apps-traces": [*RECORDS, "sim/machine"],
    "models": [*RECORDS, "sim/machine"],
    "models/algorithms": FORECAST,
    "calibrate/fit": [*RECORDS, "sim/machine"],
    "calibrate/learn": [*QUERY, "calibrate/fit", "validate"],
    "calibrate/pipelines": [*FORECAST, "sim/replay", "calibrate/fit", "calibrate/learn", "calibrate/import"],
    "calibrate/import": [*RECORDS, "sim/machine"],
    "calibrate/bench": RECORDS,
    "calibrate/choices": ["sim/records"],
    "validate": QUERY,
    "validate/diagnosis": [*QUERY, "calibrate/import", "validate"],
    "validate/emulation": [*QUERY, "sim/place", "calibrate/import"],
    "cli/serve": [*QUERY, "sim/place", "validate/diagnosis"],
    "cli": [*FORECAST, "sim/replay", "sim/place", "topologies/formats", "calibrate/fit", "calibrate/pipelines", "calibrate/import",
            "validate", "validate/diagnosis", "validate/emulation", "cli/serve"],
    "python": [*QUERY, "calibrate/pipelines", "validate", "validate/diagnosis"],
    "tests": ["sim", "cli", "models", "topologies", "calibrate", "validate", "apps-traces"],
}

LIBRARIES = [  # header, who may include it besides the tests: rooms or single files
    (r"simgrid/|xbt/|smpi/", ["sim/engine"]),
    (r"boost/graph/", ["sim/machine/fabric_facts.cpp", "sim/machine/symmetry.cpp"]),
    (r"boost/functional/hash\.hpp$", ["sim/place/node_search.cpp"]),
    (r"boost/math/statistics/", ["apps-traces/import/recorded_trace.cpp"]),
    (r"boost/math/distributions/", ["validate/diagnosis/noise.cpp"]),
    (r"CLI/", ["cli", "calibrate/bench", "calibrate/choices"]),
    (r"Eigen/", ["calibrate/fit", "validate/diagnosis"]),
    (r"pybind11/", ["python"]),
    (r"spdlog/", ["sim/base/log.hpp", "sim/base/log.cpp", "sim/base/spdlog.cpp", "cli/console.hpp", "cli/console.cpp"]),
    (r"fmt/", [room for room in ARROWS if room not in ("calibrate/bench", "calibrate/choices")]),
    (r"muParser", ["validate"]),
    (r"pugixml", ["calibrate/import", "calibrate/choices", "models/algorithms/msccl_xml.cpp"]),
    (r"httplib\.h$", ["cli/serve/http_module.cpp"]),
    (r"page_files\.hpp$", ["cli/serve/page.cpp"]),  # written by cli/serve/page/embed.py
    (r"re2/", ["sim/base/regex.cpp"]),
    (r"^regex$", []),  # recurses with the length of its input: sim/base/regex.hpp instead
    (r"openssl/", ["sim/base"]),
    (r"zlib\.h$", ["sim/base/packed_file.cpp", "cli/sweep_table.cpp"]),
    (r"sqlite3\.h$", ["apps-traces/import/nsys_database.cpp"]),
    (r"simdjson", ["sim/records/trace.cpp", "sim/base/object_reader.cpp", "cli/sweep_table.cpp"]),
    (r"google/protobuf/|chakra_et\.pb\.h$", ["apps-traces/import"]),
    (r"nlohmann/", ["sim/base", "calibrate/bench"]),
    (r"cuda|nccl|nvml|cooperative_groups|mpi\.h$", ["calibrate/bench"]),
    (r"catch2/|benchmark/", []),
    # sim/engine: the native solver runs in a child process, since SimGrid allows one engine a process; fsync and nothing else in atomic_file, isatty and the width of the terminal in console, exec in python_program, signals held back in cmd_serve
    (r"(sys|netinet|arpa)/|(unistd|fcntl|sched|dlfcn|pthread|poll|numa|signal|spawn)\.h$", ["sim/engine", "sim/base/atomic_file.hpp", "sim/base/limits.cpp", "sim/base/in_order.cpp", "cli/serve/http_module.cpp", "cli/serve/http_server.cpp", "cli/serve/service.cpp", "cli/serve/log_diagnosis.cpp", "cli/serve/process_metrics.cpp", "cli/console.cpp", "cli/python_program.cpp", "cli/sweep_table.cpp", "cli/files.cpp", "cli/cmd_predict.cpp", "cli/cmd_serve.cpp", "calibrate/bench", "calibrate/choices"]),
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
    names = files(*CPP, under=("sim", "cli", "python", "models", "topologies", "calibrate", "validate", "apps-traces", "tests"))
    finish("include rules", [finding for name in names for finding in forbidden(name, text_of(name))], len(names))


if __name__ == "__main__":
    main()
