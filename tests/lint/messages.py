#!/usr/bin/env python3
"""No message of a library room names an option of the command line: it may reach Python or HTTP. Messages name keys."""
import re
from pathlib import Path

from tree import CPP, files, finish, text_of

ROOMS = ("sim", "models", "topologies", "calibrate", "validate", "apps-traces")
PROGRAMS = (Path("calibrate/bench"), Path("calibrate/choices"))  # programs of their own
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf'(?P<raw>R"\((?:.|\n)*?\)")|(?P<text>{LITERAL}(?:\s*{LITERAL})*)|(?P<comment>//[^\n]*)|\'(?:[^\'\\\n]|\\.)\'')
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
ROW = re.compile(r"(-[a-z],)?--[a-z][a-z0-9-]*|show --fabric")  # the option of a key (sim/query/key.hpp), a kind's command
OTHERS = re.compile(r"\b(linkcast-bench|nvidia-smi|rocm-smi|numactl|nsys|dcgmi|scontrol|sinfo|lstopo|mpirun)\b|--(useMean|sm_copy|numElems)\b")


def findings(name: Path, text: str) -> list[str]:
    if any(name.is_relative_to(program) for program in PROGRAMS):
        return []
    found = []
    for match in TOKEN.finditer(text):
        if not match["text"]:
            continue
        literal = "".join(re.findall(LITERAL, match["text"])).replace('""', "").strip('"')
        option = OPTION.search(literal)
        if option and not ROW.fullmatch(literal) and not OTHERS.search(literal):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: a message names {option[0]}: name the key, the command line writes the option (cli/option_names.cpp)")
    return found


def main() -> None:
    names = files(*CPP, under=ROOMS)
    finish("messages", [finding for name in names for finding in findings(name, text_of(name))], len(names))


if __name__ == "__main__":
    main()
