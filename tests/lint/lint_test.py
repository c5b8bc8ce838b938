#!/usr/bin/env python3
"""The lints find what they are for: each rule has a text that breaks it and one that does not."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cable_kinds
import constants_source
import include_rules
import labels
import messages
import prose
import readings
import rooms
import tree
import tree_rules
import words
from tree import code_only

FORECAST = Path("sim/plan/x.cpp")


class Messages(unittest.TestCase):
    def found(self, text: str, name: str = "calibrate/import/x.cpp") -> int:
        return len(messages.findings(Path(name), text))

    def test_options_of_the_command_line(self):
        for text in ('fail("add --option pcie=4x16");', 'InputError("--out: " + path);', 'fail("it is needed: "\n     "give --gpus");'):
            self.assertEqual(self.found(text), 1, text)
            self.assertEqual(self.found(text, "calibrate/bench/x.cpp"), 0, text)

    def test_all_else(self):
        for text in ('{.name = "--no-nvls"}', '{.name = "-p,--platform"}', '// say --gpus', 'fail("set force: run \'nvidia-smi --list-gpus\'");',
                     'R"(exec bench --only x)"', 'fail("a -- b");', '"run \'nsys "\n"profile --trace=cuda\'"'):
            self.assertEqual(self.found(text), 0, text)


class Includes(unittest.TestCase):
    def found(self, name: str, *lines: str) -> int:
        return len(include_rules.forbidden(Path(name), "\n".join(f"#include {line}" for line in lines)))

    def test_arrows(self):
        self.assertEqual(self.found("sim/base/x.cpp", '"sim/records/measurement.hpp"'), 1)
        self.assertEqual(self.found("models/x/y.cpp", '"sim/engine/problem.hpp"'), 1)
        self.assertEqual(self.found("cli/x.cpp", '"models/libraries/ring_search.hpp"'), 1)
        self.assertEqual(self.found("sim/plan/x.cpp", '"sim/engine/problem.hpp"', '"sim/base/parse.hpp"'), 0)

    def test_files_must_exist(self):
        self.assertEqual(self.found("cli/x.cpp", '"sim/base/none.hpp"'), 1)
        self.assertEqual(self.found("cli/x.cpp", '"../units/parse.hpp"'), 1)

    def test_libraries(self):
        for header in ("<simgrid/s4u.hpp>", "<Eigen/Dense>", "<muParser.h>", "<CLI/CLI.hpp>",
                       "<pugixml.hpp>", "<boost/graph/adjacency_list.hpp>"):
            self.assertEqual(self.found("sim/plan/x.cpp", header, "<vector>"), 1, header)
        self.assertEqual(self.found("sim/base/x.cpp", "<fmt/format.h>"), 0)
        self.assertEqual(self.found("sim/machine/symmetry.cpp", "<boost/graph/adjacency_list.hpp>"), 0)
        self.assertEqual(self.found("sim/machine/platform.cpp", "<boost/graph/adjacency_list.hpp>"), 1)


class Rooms(unittest.TestCase):
    CHAIN = {"a": {"b", "c"}, "b": {"c"}, "c": set()}

    def test_floors(self):
        self.assertEqual(rooms.floors(self.CHAIN), [["c"], ["b"], ["a"]])
        self.assertEqual(rooms.direct(self.CHAIN), {"a": {"b"}, "b": {"c"}, "c": set()})

    def test_circle(self):
        with self.assertRaisesRegex(SystemExit, "a circle: a -> b -> a"):
            rooms.floors({"a": {"b"}, "b": {"a"}})

    def test_circles_of_sources(self):
        graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"f"}, "f": {"g"}, "g": {"e"}}
        found = rooms.circles(graph)
        self.assertEqual(found, [{"b", "c"}, {"e", "f", "g"}])
        self.assertEqual(rooms.circle_findings(found, ({"b", "c"}, {"e", "f", "g"})), [])
        self.assertEqual(len(rooms.circle_findings(found, ({"b", "c"},))), 1)  # a new one
        self.assertEqual(len(rooms.circle_findings(found, ({"b", "c"}, {"e", "f"}))), 1)  # one that grew
        self.assertEqual(len(rooms.circle_findings(found, ({"b", "c", "d"}, {"e", "f", "g"}))), 1)  # one that shrank, not told

    def test_stale(self):
        self.assertEqual(rooms.findings(rooms.arrows()), [])
        stale = rooms.arrows()
        stale["sim/base"].add("sim/attic")
        stale["sim/attic"] = set()
        self.assertEqual(len(rooms.findings(stale)), 2)


class Constants(unittest.TestCase):
    def found(self, text: str) -> int:
        return len(constants_source.unsourced(FORECAST, text))

    def test_free(self):
        self.assertEqual(self.found("x = 0.5 * y + 1e9 / 1e-6 - 2.0 * 1024.0;"), 0)
        self.assertEqual(self.found('print("3.7"); // 3.7 times\nint a = 37;'), 0)

    def test_source_needed(self):
        self.assertEqual(self.found("double x = 3.7;"), 1)
        self.assertEqual(self.found("double x = 0x1p-43;"), 1)
        self.assertEqual(self.found("double x = 4e-7;  // about right"), 1)
        self.assertEqual(self.found("double x = 3.7;  // source: paper 001"), 0)
        self.assertEqual(self.found("// source: paper 001\n// and a word\ndouble x = 3.7;"), 0)

    def test_block(self):
        block = "// source of all in this block: x\na = 1;\nb = 1;\nc = 1;\nd = 1;\n"
        self.assertEqual(self.found(block + "e = 3.7;"), 0)
        self.assertEqual(self.found(block + "\ne = 1;\nf = 1;\ng = 1;\nh = 3.7;"), 1)


class CableKinds(unittest.TestCase):
    def found(self, text: str, name: str = "sim/plan/x.cpp") -> int:
        return len(cable_kinds.named(Path(name), text, {kind for kind, _ in cable_kinds.kinds()}))

    def test_named(self):
        self.assertEqual(self.found('if (cable.kind == "xbus") f();'), 1)
        self.assertEqual(self.found('kind = "nvlink" + std::to_string(generation);'), 1)
        self.assertEqual(self.found('option("nvlink"); say("no xbus");  // "xbus"'), 0)
        self.assertEqual(self.found('return "c2c";', "topologies/formats/nccl_xml.cpp"), 0)

    def test_one_row_is_one_row(self):
        """A further generation needs no other file: neither the schema nor a list of kinds changes."""
        rows = cable_kinds.kinds()
        self.assertEqual(cable_kinds.pattern(rows), cable_kinds.pattern(rows + [("nvlink6", "Accelerator")]))
        self.assertIn("|new", cable_kinds.pattern(rows + [("new", "Accelerator")]))
        self.assertNotIn("|new", cable_kinds.pattern(rows + [("new", "Accelerator")], "Network"))

    def test_schema_follows_the_table(self):
        self.assertEqual(cable_kinds.schema_findings(cable_kinds.kinds(), update=False), [])
        self.assertEqual(len(cable_kinds.schema_findings([("apelink", "Network")], update=False)), 2)

    def test_the_schema_lists_every_generator_of_a_fabric(self):
        names = cable_kinds.generators()
        self.assertIn("hyperx", names)
        self.assertEqual(cable_kinds.generator_findings(names, update=False), [])
        self.assertEqual(len(cable_kinds.generator_findings([*names, "mesh"], update=False)), 1)


class Labels(unittest.TestCase):
    def found(self, *lines: str, tags: str = "[unit]", suite: str = "unit") -> list[str]:
        text = "\n".join([*(f'#include "{line}"' for line in lines), f'TEST_CASE("a \\"name\\", "\n          "in two", "{tags}") {{'])
        return labels.labels(suite, text)['a "name", in two']

    def test_rooms_and_tags(self):
        self.assertEqual(self.found("sim/engine/problem.hpp", "calibrate/fit/fit.hpp", tags="[unit][quick]"), ["unit", "engine", "fit", "quick"])
        self.assertEqual(self.found(tags="[unit][trace_import]"), ["unit", "apps-traces", "trace_import"])

    def test_vocabulary_counts_alone_only(self):
        self.assertEqual(self.found("sim/records/json.hpp", "sim/engine/problem.hpp"), ["unit", "engine"])
        self.assertEqual(self.found("sim/base/parse.hpp"), ["unit", "base"])

    def test_a_suite_by_its_tag(self):
        self.assertEqual(self.found("tests/unit/program.hpp", tags="[refit]"), ["refit", "cli"])

    def test_a_semicolon_would_hide_a_test(self):
        with self.assertRaisesRegex(SystemExit, "semicolon: one; two"):
            labels.labels("unit", 'TEST_CASE("one; two", "[unit]") {')

    def test_every_test_has_a_room(self):
        """And no test of physics has a label that `-L unit` would take for the suite."""
        known = {labels.label_of(room) for room in include_rules.ARROWS}
        for suite in labels.SUITES:
            for name, words in labels.of_suite(suite).items():
                self.assertTrue(known & set(words), name)
                self.assertFalse(suite != "unit" and [word for word in words if "unit" in word], name)


class Readings(unittest.TestCase):
    ROW = {"id": "X-1", "role": "predicted", "predicate": "a < tol", "expected": None, "tolerance": {"value": 0.1}}

    def found(self, *entries: dict, **changes: object) -> list[str]:
        row = self.ROW | changes | {"history": list(entries)}
        return readings.all_findings([row], {"X-1": readings.reading(self.ROW)})

    def test_a_change_needs_its_entry(self):
        wider = {"tolerance": {"value": 0.2}}
        self.assertEqual(self.found(), [])
        self.assertIn("changed without an entry", self.found(**wider)[0])
        self.assertEqual(self.found({"was": {"tolerance": 0.1}}, **wider), [])
        self.assertIn("was not what history says", self.found({"was": {"tolerance": 0.15}}, **wider)[0])
        self.assertIn("does not say what predicate was", self.found({"was": {"role": "fitted"}}, predicate="a < 1")[0])
        # Two steps: the first entry has what was recorded.
        self.assertEqual(self.found({"was": {"tolerance": 0.1}}, {"was": {"tolerance": 0.15}}, **wider), [])
        self.assertEqual(self.found({"was": {"quantities": "the median"}}, quantities={"a": {}}), [])

    def test_rows_come_and_go(self):
        self.assertEqual(readings.all_findings([self.ROW], {}), ["X-1: not recorded"])
        self.assertEqual(readings.all_findings([], {"X-1": readings.reading(self.ROW)}), ["X-1: recorded, but no row"])


class Words(unittest.TestCase):
    MOST = {("made", "a"): 3, ("made", "b"): 1, ("told", "a"): 2}

    def test_names_are_taken_apart(self):
        self.assertEqual(words.counted("made_channels = toldKeys(ToldTopology); remade, mades"), {"made": 1, "told": 2})
        self.assertEqual(words.counted("maker.tolds unmade"), {})

    def test_comments_begin_with_their_subject(self):
        text = "/// Of a copy.\n  // What it takes\n/// The same of two\n// That which\nint Of; // route: Of\n# What else\n"
        self.assertEqual(words.counted(text), {"Of ...": 1, "What ...": 2, "The same ...": 1, "That which ...": 1})
        self.assertEqual(words.counted("# What it does\n", code=False), {})

    def test_they_may_only_become_fewer(self):
        self.assertEqual(words.findings({("made", "a"): 3, ("made", "b"): 1}, self.MOST), [])
        self.assertEqual(words.findings({("made", "c"): 4}, self.MOST), [])  # code that moved
        found = words.findings({("made", "a"): 3, ("made", "b"): 2, ("dice", "a"): 1}, self.MOST)
        self.assertEqual(len(found), 2)
        self.assertIn("'made': 5, at most 4: b 2 instead of 1; write: the noun of the thing", found[1])

    def test_an_update_raises_no_total(self):
        self.assertEqual(words.lowered({("made", "b"): 2, ("told", "a"): 3}, self.MOST), {("made", "b"): 2, ("told", "a"): 2})

    def test_every_word_is_explained(self):
        """The glossary of CONTRIBUTING.md names each retired word."""
        page = words.text_of(Path("CONTRIBUTING.md"))
        glossary = set(page.partition("\n## Words\n")[2].partition("\n## ")[0].replace(",", " ").replace("|", " ").split())
        self.assertEqual(set(words.INSTEAD) - glossary, set())


class Prose(unittest.TestCase):
    """Words of pages by kind, a ceiling that only goes down, every page in one of the five parts."""

    def words(self, *lines: str, generated: bool = False) -> list[int]:
        return [prose.counted("\n".join(lines), generated).words[kind] for kind in prose.KINDS]

    def test_kinds(self):
        self.assertEqual(self.words("# One two", "", "three"), [4, 0, 0, 0])  # with the #, as wc counts
        self.assertEqual(self.words("a", "```console", "$ b c", "d", "```", "e"), [2, 0, 4, 0])
        self.assertEqual(self.words("a", "", "    b c", "    d", "", "e"), [2, 0, 3, 0])
        self.assertEqual(self.words("* a", "    b"), [3, 0, 0, 0])  # goes on with the item
        self.assertEqual(self.words("| a | b |"), [0, 5, 0, 0])
        self.assertEqual(self.words("a", "<!-- x -->", "| b |", "<!-- /x -->", "c"), [2, 0, 0, 3])
        self.assertEqual(self.words("a", "```", "b", "```", generated=True), [0, 0, 1, 1])

    def test_ceiling(self):
        self.assertEqual(prose.findings({"prose": 10, "tables": 5}, {"prose": 10, "tables": 5}), [])
        self.assertEqual(len(prose.findings({"prose": 11, "tables": 5}, {"prose": 10, "tables": 5})), 1)
        self.assertEqual(prose.lowered({"prose": 11, "tables": 4}, {"prose": 10, "tables": 5}), {"prose": 10, "tables": 4})

    def test_named_pages_are_there(self):
        text = "// see docs/one.md and docs/two.md\n[x](../docs/three.md)"
        self.assertEqual(prose.dangling(Path("a.cpp"), text, {"docs/one.md"}), ["a.cpp: names docs/two.md, which is not there"])

    def test_parts(self):
        index = "[x](x.md)\n## How-to\n| [a](a.md#b) |\n## Others\n[c](c.md)\n## Evidence\n[d](d.md), [e](../e/README.md)\n"
        self.assertEqual(prose.parts_of(index), {Path("docs/a.md"): "How-to", Path("docs/d.md"): "Evidence", Path("e/README.md"): "Evidence"})
        pages = [prose.INDEX, Path("docs/a.md"), Path("docs/c.md"), Path("e/README.md")]
        self.assertEqual([text.split(":")[0] for text in prose.unlisted(index, pages)], ["docs/c.md", "docs/README.md"])


class Format(unittest.TestCase):
    def code(self, program: str) -> int:
        script = Path(__file__).parent / "format_check.py"
        return subprocess.run([sys.executable, "-B", script, "--clang-format", program], capture_output=True, check=False).returncode

    def test_skips_where_it_cannot_check(self):
        """77 is a skip in ctest: neither red nor green."""
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder) / "clang-format"
            other.write_text("#!/bin/sh\necho clang-format version 18.1.3\n")
            other.chmod(0o755)
            self.assertEqual(self.code(str(other)), 77)
            self.assertEqual(self.code(str(Path(folder) / "none")), 77)


class Tree(unittest.TestCase):
    def body(self, head: str, lines: int) -> int:
        return len(tree_rules.too_long_cpp(FORECAST, "int a;\n" + head + " {\n" + "  a++;\n" * lines + "}\n"))

    def test_function_length(self):
        for head in ("int f(int x)", "X::X(int a) : b_(a)", 'TEST_CASE("t", "[unit]")', "auto f() const -> int",
                     "void f(struct S& s)", "template <class T, class U = X<T>>\nT f(T a)"):
            more = head.count("\n")
            self.assertEqual((self.body(head, 58 - more), self.body(head, 59 - more)), (0, 1), head)
        self.assertEqual(self.body("namespace x", 99), 0)
        self.assertEqual(self.body("class X : public Y<decltype(z)>", 99), 0)

    def test_nested(self):
        text = "class X {\n  int f() {\n    if (a) {\n" + "      b();\n" * 60 + "    }\n  }\n};\n"
        self.assertEqual(len(tree_rules.too_long_cpp(FORECAST, text)), 1)

    def test_literals_hide_braces(self):
        self.assertEqual(code_only('f("{"); // {\n').strip(), "f(   );")
        self.assertNotIn("{", code_only("c == '{' ? R\"x({)x\" : 1'000"))

    def test_copies_below_a_folder_of_ours_have_files(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "build" / "mutants"
            for name in ("tests/unit/a.cpp", "build/b.cpp"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            with mock.patch.object(tree, "ROOT", root):
                self.assertEqual(tree.files(".cpp"), [Path("tests/unit/a.cpp")])

    def test_edits_of_the_path(self):
        for text in ("sys.path.insert(0, x)", "sys.path[:0] = [x]", "sys.path += [x]", "sys.path = []"):
            self.assertTrue(tree_rules.PATH_EDIT.search(text), text)
        for text in ("for x in sys.path:", "x in sys.path", "sys.path[0]", "if sys.path == y:"):
            self.assertFalse(tree_rules.PATH_EDIT.search(text), text)

    def test_machine_paths(self):
        for path in ("ho" + "me/ann/x", "ro" + "ot/x"):
            self.assertTrue(tree_rules.MACHINE_PATH.search(f"cd /{path}"))
            self.assertFalse(tree_rules.MACHINE_PATH.search(f"cd build/{path}"))


if __name__ == "__main__":
    unittest.main()
