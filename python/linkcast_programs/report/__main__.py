"""One HTML page of results: `linkcast report` calls this program."""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

try:
    from . import batches, comparisons, forecasts, replays, studies
    from .machine import add_machine
    from .page import Section, render
except ImportError as missing:
    sys.exit(f"error: the Python package {missing.name} is needed: pip install {missing.name}, or .ci/prepare in a checkout")
from ..records import InputError, Node, parse, read_text, write_atomically

ALLOWED = ("results of predict, replay, rings, routes, place, show, whatif, schedule, wiring, diagnose and validate with --json, answers of "
           "predict --batch, a sweep's table.csv or sweep.json, claims.json of validate --report")
ONE_CURVE = ("p2p", "flows", "collective")  # several results of one of these are drawn as one


def kind_of_answer(answer: Node) -> str:
    if answer.has("kind") and not answer.has("looked_at"):  # a wiring's kind is that of its cables
        return answer["kind"].text()
    words = {"replay": "makespan_s", "place": "placements", "wiring": "looked_at", "schedule": "policies"}
    return next((kind for kind, word in words.items() if answer.has(word)), "")


def of_answer(answer: Node, file: str) -> Section:
    if answer.has("error"):
        section = Section("A query without an answer", file)
        section.errors.append(answer["error"].text())
        return section
    kind = kind_of_answer(answer)
    if kind in ("p2p", "flows"):
        return forecasts.copies(kind, answer, file)
    if kind == "curve":
        return of_curve(answer, file)
    one = {"collective": forecasts.collective, "rings": forecasts.rings, "routes": forecasts.routes, "place": forecasts.placements,
           "replay": replays.replay, "wiring": studies.wiring, "schedule": studies.schedule, "show": studies.show}.get(kind)
    if not one:
        raise answer["kind"].fail(f"'{kind}' has no page") if kind else answer.fail(f"is none of: {ALLOWED}")
    return one(answer, file)


def of_curve(curve: Node, file: str) -> Section:
    points = curve["points"].items()
    if points and points[0].has("after"):
        return comparisons.what_if_curve(points, file)
    return batches.batch(points, file)


def of_lines(text: str, file: str) -> list[Node]:
    return [parse(line, f"{file} line {i}") for i, line in enumerate(text.splitlines(), 1) if line.strip()]


def is_json_lines(text: str) -> bool:
    """More than one value, a line each."""
    try:
        json.loads(text)
        return False
    except json.JSONDecodeError as error:
        first = text.lstrip().split("\n", 1)[0]
        return error.msg == "Extra data" and first.startswith("{") and first.rstrip().endswith("}")
    except (ValueError, RecursionError):  # parse() says what is wrong
        return False


def sections_of(result: Node, path: str) -> list[Section]:
    """Of one object."""
    if result.has("schema") and result["schema"].value == "linkcast/sweep/1":
        return [batches.sweep(result, path)]
    if result.has("scoreboard"):
        return [batches.claims(result, path)]
    if result.has("comparisons"):
        return comparisons.against(result, path)
    if result.has("files") and result.has("platform"):
        return comparisons.diagnosis(result, path)
    if result.has("before") and result.has("after"):
        return [comparisons.what_if(result, path)]
    return [of_answer(result, path)]


def answers_for_curve(result: Node) -> tuple[str, list[Node]]:
    """Kind and answers of a result that can be drawn with others."""
    kind = result["kind"].value if result.has("kind") else ""
    if kind == "curve" and result.has("of") and result.has("points") and not any(point.has("after") for point in result["points"].items()):
        return result["of"].value, result["points"].items()
    return (kind, [result]) if kind in ONE_CURVE else ("", [])


def all_sections(paths: list[str], program: str, data_dir: str) -> list[Section]:
    sections: list[tuple[int, Section]] = []
    alike: dict[str, list[tuple[int, str, Node]]] = {}
    for number, path in enumerate(paths):
        if path.endswith(".csv"):
            sections.append((number, batches.sweep_table(path)))
            continue
        text = read_text(path)
        if not text.strip():
            raise InputError(f"{path}: is empty")
        found = of_lines(text, path) if is_json_lines(text) else [parse(text, path)]
        if len(found) > 1:
            sections.append((number, batches.batch(found, path)))
        elif kind := answers_for_curve(found[0])[0]:
            alike.setdefault(kind, []).append((number, path, found[0]))
        else:
            made = sections_of(found[0], path)
            if len(made) == 1:
                add_machine(made[0], found[0], program, data_dir)
            sections += [(number, one) for one in made]
    for several in alike.values():
        number, path, first = several[0]
        if len(several) > 1:
            answers = [answer for _, _, result in several for answer in answers_for_curve(result)[1]]
            sections.append((number, batches.batch(answers, ", ".join(path for _, path, _ in several))))
            continue
        section = of_answer(first, path)
        add_machine(section, first, program, data_dir)
        sections.append((number, section))
    return [section for _, section in sorted(sections, key=lambda one: one[0])]


def refuse_inputs(out: Path, results: list[str]) -> None:
    if out.is_dir():
        raise InputError(f"--out: {out}: is a folder, not a file")
    for path in results:
        beside = [Path(path), Path(path).parent / "sweep.json", Path(path).parent / "table.csv"]
        if out.exists() and any(other.exists() and out.samefile(other) for other in beside):
            raise InputError(f"--out: {out}: is a file that is read")


def version_of(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--program", required=True)
    parser.add_argument("--data-dir", required=True)
    options = parser.parse_args()
    try:
        refuse_inputs(options.out, options.result)
        sections = all_sections(options.result, options.program, options.data_dir)
        title = options.title or (sections[0].title if len(sections) == 1 else f"{len(sections)} results")
        write_atomically(options.out, render(title, sections, version_of(options.program)))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps({"out": str(options.out), "sections": [section.title for section in sections],
                          "size_B": options.out.stat().st_size}, indent=2))
    else:
        print(f"{options.out}: {len(sections)} section{'s' if len(sections) > 1 else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
