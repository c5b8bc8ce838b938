#!/usr/bin/env python3
"""The shape of the tree: what may lie at the top, how large files and functions may grow, no traces of one machine."""
import ast
import re
from pathlib import Path

from tree import CPP, ROOT, code_only, files, finish, text_of

TOP = {"CMakeLists.txt", "CMakePresets.json", "sim", "cli", "python", "calibrate", "topologies", "models", "validate", "apps-traces",
       "tests", "README.md", "SECURITY.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml", "docs",
       "setup"}
LARGEST_B = 1_000_000
MOST_FILE_LINES = 600
MOST_FUNCTION_LINES = 60
SOURCES = (*CPP, ".py", ".sh")
TEXT = (*SOURCES, ".json", ".jsonl", ".md", ".txt", ".cmake", ".toml", ".yml", "")

# Absolute paths that only one machine has: home folders, mounts, a checkout at the root.
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:home|root|Users|work|mnt|scratch)/[\w.]|\b[A-Z]:\\\\?Users\b")
TEMPLATE = re.compile(r"template\s*<[^{};]*?>\s*(?=\w)")
# Modules that are found by an edited path have no package, and names that any other module may have.
PATH_EDIT = re.compile(r"\bsys\.path(?:\[[^\]]*\]\s*=|\.(?:append|insert|extend)\b|\s*\+?=[^=])")
EDITS_PATH = Path("apps-traces/record/inject/sitecustomize.py")  # runs in a user's Python, as its first module
NO_FUNCTION = re.compile(r"\b(?:namespace|class|struct|union|enum)\b")


def too_long_python(name: Path, text: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if length > MOST_FUNCTION_LINES:
                found.append(f"{name}:{node.lineno}: {node.name} has {length} lines, at most {MOST_FUNCTION_LINES}")
    return found


def is_function(head: str) -> bool:
    """What stands between the last ; { } and a {: a parameter list, and no class or initialiser."""
    before, bracket, _ = TEMPLATE.sub("", head).partition("(")
    return bool(bracket) and not NO_FUNCTION.search(before) and not head.rstrip().endswith("=")


def too_long_cpp(name: Path, text: str) -> list[str]:
    """Outermost blocks behind a parameter list: functions, methods, TEST_CASEs; lambdas count with their function."""
    code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", lambda line: re.sub(r"[^\n]", " ", line[0]), code_only(text), flags=re.M)
    found, opened, head, function = [], [], 0, None
    for at, char in enumerate(code):
        if char == "{":
            if function is None and is_function(code[head:at]):
                function = (len(opened), at - len(code[head:at].lstrip()))
            opened.append(at)
        elif char == "}" and opened:
            opened.pop()
            if function is not None and function[0] == len(opened):
                first = code.count("\n", 0, function[1]) + 1
                length = code.count("\n", function[1], at) + 1
                if length > MOST_FUNCTION_LINES:
                    found.append(f"{name}:{first}: a function of {length} lines, at most {MOST_FUNCTION_LINES}: "
                                 + text.split("\n")[first - 1].strip())
                function = None
        if char in "{};":
            head = at + 1
    return found


def of_text(name: Path) -> list[str]:
    text = text_of(name)
    found = [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: a path of one machine: {match[0]}..."
             for match in MACHINE_PATH.finditer(text)]
    if name.suffix not in SOURCES:
        return found
    lines = text.count("\n")
    if lines > MOST_FILE_LINES:
        found.append(f"{name}: {lines} lines, at most {MOST_FILE_LINES}")
    if name.suffix == ".hpp" and "#pragma once" not in text:
        found.append(f"{name}: no #pragma once")
    if name.suffix == ".hpp" and re.search(r"\busing\s+namespace\b", code_only(text)):
        found.append(f"{name}: using namespace in a header")
    return found + (too_long_cpp(name, text) if name.suffix in CPP else [])


def main() -> None:
    findings = []
    names = files()
    for top in sorted({name.parts[0] for name in names}):
        if top not in TOP and not top.startswith("."):
            findings.append(f"{top}: not at the top level: one of {', '.join(sorted(TOP))}, or a dot-file")
    for name in names:
        size = (ROOT / name).stat().st_size
        if size > LARGEST_B:
            findings.append(f"{name}: {size} bytes, at most {LARGEST_B}")
        if name.suffix in TEXT:
            findings += of_text(name)
        if name.suffix == ".py" and name.parts[0] != "tests" and name != EDITS_PATH and PATH_EDIT.search(text_of(name)):
            findings.append(f"{name}: edits sys.path: make it a module of python/linkcast_programs")
        if name.suffix == ".py":
            findings += too_long_python(name, text_of(name))
    finish("tree", findings, len(names))


if __name__ == "__main__":
    main()
