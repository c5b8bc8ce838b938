#!/usr/bin/env python3
"""Promises of a release (docs/stability.md), read from its docs/reference.md and python/linkcast/__init__.py:

    git archive TAG docs/reference.md python/linkcast/__init__.py | tar -x -C FOLDER
    python3 tests/release/interface.py FOLDER > tests/release/0.1.json

and in tests/release/0.1/ one small record of each schema. The test python.release holds today's tree against it."""
import ast
import json
import re
import sys
from pathlib import Path

CHOICES = re.compile(r"text: ((?:`[^`]+`(?:, )?)+)")


def keys_and_examples(part: str) -> tuple[dict[str, list[str]], list[str], list[dict]]:
    """Keys of the query with their choices, keys of the answer, examples."""
    query: dict[str, list[str]] = {}
    answered: list[str] = []
    table = ""
    for line in part.splitlines():
        if line.startswith("| key |"):
            table = "answer" if "| unit |" in line else "query"
        elif not line.startswith("|"):
            table = ""
        elif key := re.match(r"\| `([^`]+)` \| .*? \| ([^|]*) \|", line):
            choices = CHOICES.search(key[2])
            if table == "query":
                query[key[1]] = re.findall(r"`([^`]+)`", choices[1]) if choices else []
            elif table == "answer":
                answered.append(key[1])
    examples = [json.loads(line) for block in re.findall(r"```json\n(.*?)```", part, re.S) for line in block.splitlines() if line]
    return query, answered, examples


def interface(tree: Path) -> dict:
    """@param tree  holds the two files"""
    page = (tree / "docs/reference.md").read_text(encoding="utf-8")
    keys, answers, examples, options = {}, {}, [], {}
    for part in re.split(r"^### ", page, flags=re.M)[1:]:
        name, text = part.split("\n", 1)
        if name.startswith("linkcast"):
            options[name] = sorted(set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", text, re.M)))
        else:
            keys[name], answers[name], more = keys_and_examples(text)
            examples += more
    module = ast.parse((tree / "python/linkcast/__init__.py").read_text(encoding="utf-8"))
    names = next(ast.literal_eval(one.value) for one in module.body
                 if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id == "__all__")
    return {"keys": keys, "answers": answers, "options": options, "python": sorted(names), "examples": examples}


if __name__ == "__main__":
    json.dump(interface(Path(sys.argv[1])), sys.stdout, indent=1, sort_keys=True)
    print()
