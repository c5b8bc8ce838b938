#!/usr/bin/env python3
"""Every name and warning that an answer prints has an explanation: of the sources that print them, and of answers."""
import json
import re
import sys
import unittest

from program import ROOT, InFolder, answers, main, run

sys.path.insert(0, str(ROOT / "tests/corpus"))
import queries  # pylint: disable=wrong-import-position,import-error

ROOMS = ("sim", "models")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
ADDED = re.compile(r"\b(?:\w+\.)?\w*(?:warnings|notes)_?(?:\(\))?\.(?:push_back|emplace_back|insert)\(")
SAYS = re.compile(r"^(?:std::string|std::vector<std::string>) [\w:]*(?:warning|warnings|why_ruled|left_to_library|meant_text|spelling_text)\(", re.M)
METHOD = re.compile(r"std::vector<std::string> warnings\(|std::string assumes\(")
CHOSEN = re.compile(r"\bchoice(?:->|\.)why = ")
CONSTANT = re.compile(r"constexpr const char\* k(?:SharedLate|StaysInNode) =")


def end_of(text: str, begin: int, opening: str, closing: str) -> int:
    """Where what opens first behind `begin` closes, strings left out."""
    depth, at = 0, begin
    while True:
        found = re.compile(r'"(?:[^"\\]|\\.)*"|' + re.escape(opening) + "|" + re.escape(closing)).search(text, at)
        at = found.end()
        depth += {opening: 1, closing: -1}.get(found[0], 0)
        if depth == 0:
            return at


def shown(expression: str) -> str:
    """The text that an expression makes: placeholders and what is added are X; empty: it has no text of its own."""
    expression = re.sub(r"//[^\n]*", "", expression)
    pieces = re.sub(r'"\s*"', "", expression)  # adjacent literals are one
    found = [re.sub(r"\{[^}]*\}", "X", one) for one in STRING.findall(pieces)]
    return re.sub(r"X+", "X", "X".join(found)) if any(" " in one for one in found) and "InputError" not in expression else ""


def texts_of(text: str) -> list[str]:
    """What a file can say in warnings: what is added to them, what functions that make one give back."""
    found = []
    for match in ADDED.finditer(text):
        found.append(shown(text[match.start():end_of(text, match.start(), "(", ")")]))
    for match in [*SAYS.finditer(text), *METHOD.finditer(text)]:
        brace = text.find("{", match.end())
        if ";" in text[match.end():brace] or brace < 0:
            continue  # a declaration
        body = text[brace:end_of(text, brace, "{", "}")]
        found += [shown(one) for one in re.findall(r"\breturn\b(.*?);", body, re.S)]
        found += [shown(one) for one in re.findall(r"std::vector<std::string> warnings(\{.*?\});", body, re.S)]
    for match in [*CONSTANT.finditer(text), *CHOSEN.finditer(text)]:
        found.append(shown(text[match.start():text.find(";", match.start())]))
    return [one for one in found if one]


def listed() -> list[dict]:
    return json.loads(run("explain", "--json").stdout)["explanations"]


class Sources(unittest.TestCase):
    def explained(self, names: list[str]) -> list[dict]:
        done = run("explain", "--json", "--", *names)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["explanations"]

    def test_every_warning_of_the_sources(self):
        files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.[ch]pp"))]
        texts = sorted({text for path in files for text in texts_of(path.read_text())})
        self.assertGreater(len(texts), 50)
        unknown = [text for text in texts if run("explain", "--json", "--", text).returncode != 0]
        self.assertEqual(unknown, [])
        for one in self.explained(texts):
            self.assertEqual(one["kind"], "warning", one)

    def test_every_term(self):
        header = (ROOT / "sim/forecast/terms.hpp").read_text()
        space = header[header.index("namespace term {"):header.index("}  // namespace term")]
        labels = STRING.findall(space)
        self.assertGreater(len(labels), 10)
        self.assertEqual({one["name"] for one in listed() if one["kind"] == "term"}, set(labels))

    def test_every_limit(self):
        values = {value for path in sorted((ROOT / "sim/forecast").glob("*.cpp"))
                  for line in re.findall(r"(?:limited_by = |return )(?:[^;\"]*\? )?(\"[^;]*\");", path.read_text())
                  for value in STRING.findall(line) if value in {"host", "start-up", "bandwidth", "thread blocks", "rates of single copies",
                                                         "rates of single messages"}}
        self.assertEqual(values, {one["name"] for one in listed() if one["kind"] == "limit"})

    def test_every_parameter_of_a_calibration(self):
        names = {name for path in (ROOT / "models/params").glob("*.json") for name in json.loads(path.read_text())["parameters"]}
        self.assertGreater(len(names), 500)
        some = sorted(names)
        for one in self.explained(some[::7]):
            self.assertIn(one["kind"], ("parameter",), one)
        rows = [one for one in listed() if one["kind"] == "parameter"]
        whats = {name.rsplit(".", 1)[-1] for name in names}
        self.assertLessEqual(whats, {row["name"] for row in rows})

    def test_set_of_a_parameter_is_what_the_program_takes(self):
        machine = json.loads((ROOT / "models/params/hgx-h200.json").read_text())["parameters"]
        edits = []
        for one, (name, parameter) in zip(self.explained(list(machine)), machine.items()):
            text = re.search(r"--set (\S+)=VALUE", one["text"])[1]
            self.assertEqual(text, name)
            unit = {"1": ""}.get(parameter["unit"], parameter["unit"])
            edits.append(f"set {text}={round(parameter['value']) if unit == 'B' else repr(parameter['value'])}{unit}")
        self.assertGreater(len(edits), 50)
        query = {"platform": "hgx-h200", "kind": "p2p", "src": "gpu0", "dst": "gpu1", "size_B": 1, "edits": edits}
        self.assertNotIn("error", answers([query])[0])
        # by the last part alone: a name of which words in capitals are to be filled in
        shapes = [re.sub("[A-Z][A-Z]+", "X", re.search(r"--set (\S+)=VALUE", row["text"])[1])
                  for row in listed() if row["kind"] == "parameter"]
        self.assertIn("transport.X.single_s", shapes)
        self.assertIn("transport.staged.chunk_B", shapes)
        self.assertIn("X.ring.X.base_s", shapes)
        self.assertTrue(all("." in shape for shape in shapes), shapes)

    def test_pages_and_their_headings_are_there(self):
        for one in listed():
            page, _, anchor = one["page"].partition("#")
            headings = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(), re.M)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            if anchor:
                self.assertIn(anchor, anchors, one["page"])


class Answers(unittest.TestCase):
    """What the corpus is answered."""

    @classmethod
    def setUpClass(cls):
        some = [line for line in queries.lines() if line.startswith("{")]
        parsed = []
        for line in some:
            try:
                query = json.loads(line)
            except json.JSONDecodeError:
                continue
            if query.get("kind") in ("p2p", "flows", "collective"):
                query["explain"] = True
            parsed.append(query)
        cls.warnings, cls.bottlenecks, cls.limits, cls.terms = set(), set(), set(), set()
        for answer in answers(parsed):
            cls.collect(answer)

    @classmethod
    def collect(cls, value: object):
        if isinstance(value, list):
            for one in value:
                cls.collect(one)
        if not isinstance(value, dict):
            return
        cls.warnings.update(value.get("warnings", []))
        cls.bottlenecks.update(value.get("bottleneck", []) if isinstance(value.get("bottleneck"), list) else [])
        cls.limits.update([value["limited_by"]] if "limited_by" in value else [])
        cls.terms.update(term["label"] for term in value.get("terms", []) if "label" in term)
        for one in value.values():
            cls.collect(one)

    def assert_explained(self, names: set[str], kind: str):
        done = run("explain", "--json", "--", *sorted(names))
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = [one["kind"] for one in json.loads(done.stdout)["explanations"] if one["kind"] in ("warning", "term", "bottleneck", "limit")]
        self.assertEqual(set(kinds), {kind})

    def test_warnings(self):
        self.assertGreater(len(self.warnings), 20)
        self.assert_explained(self.warnings, "warning")

    def test_bottlenecks(self):
        self.assertGreater(len(self.bottlenecks), 1000)
        self.assertTrue(any(name.endswith(" process") for name in self.bottlenecks))
        self.assert_explained(self.bottlenecks, "bottleneck")

    def test_terms_and_limits(self):
        self.assertGreater(len(self.terms), 3)
        self.assert_explained(self.terms, "term")
        self.assert_explained(self.limits, "limit")


class Command(InFolder):
    def test_a_paragraph(self):
        lines = run("explain", "hops").stdout.splitlines()
        self.assertEqual((lines[0], lines[-1]), ("term hops", "See docs/answers.md"))
        self.assertEqual(len(lines), 3)

    def test_the_text_of_a_warning(self):
        text = run("explain", "the rate of gpu0->cpu0 is nominal, not calibrated").stdout
        self.assertTrue(text.startswith("warning nominal-rate\n"))
        self.assertEqual(text, run("explain", "nominal-rate").stdout)
        self.assertEqual(text, run("explain", "warning: the rate of gpu0->cpu0 is nominal, not calibrated").stdout)
        self.assertTrue(run("explain", "7 more of what was assumed: -v shows them").stdout.startswith("warning more-warnings\n"))

    def test_a_link_and_a_parameter(self):
        self.assertTrue(run("explain", "node0/gpu0->gpu1").stdout.startswith("bottleneck A->B\n"))
        self.assertTrue(run("explain", "cpu0 memory").stdout.startswith("bottleneck CPU memory\n"))
        self.assertTrue(run("explain", "node1/gpu0 process").stdout.startswith("bottleneck GPU process\n"))
        text = run("explain", "cable.nvlink2.bandwidth_Bps").stdout
        self.assertTrue(text.startswith("parameter bandwidth_Bps\n"), text)
        self.assertIn("--set", text)

    def test_no_bottleneck_is_empty_text(self):
        slow = ("--platform", "rtx-4090", "--src", "gpu0", "--dst", "gpu1", "--size", "64MiB")
        for command in (("predict", "p2p", *slow), ("routes", *slow), ("whatif", "predict", "p2p", *slow, "--slow", "gpu1:2"),
                        ("predict", "flows", "--platform", "rtx-4090", "--flow", "gpu0:gpu1:64MiB")):
            lines = [line for line in run(*command).stdout.splitlines() if line.startswith(("bottleneck", "staged"))]
            self.assertEqual(len(lines), 1, command)
            self.assertIn("rates of single copies", lines[0])

    def test_all_are_listed(self):
        names = {line.split()[1] for line in run("explain").stdout.splitlines()}
        self.assertLessEqual({"nothing-measured", "hops", "A->B", "host", "bandwidth_Bps"}, names)

    def test_unknown(self):
        self.assert_refused(run("explain", "hopps"), "'hopps' is no warning, term, bottleneck or parameter (did you mean 'hops'")


if __name__ == "__main__":
    main()
