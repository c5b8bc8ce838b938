#!/usr/bin/env python3
"""linkcast validate --paper --report: the page of a paper, and what its figures hold."""
import json
import re
import sys

from program import PROGRAM, ROOT, InFolder, answers, main, run

sys.path.insert(0, str(ROOT / "python"))
from linkcast_programs.gallery import __main__ as gallery  # noqa: E402  after its folder is known
from linkcast_programs.gallery import points  # noqa: E402

GALLERIES = sorted((ROOT / "validate" / "gallery").glob("*.json"))
PAPER = "003_on_node_interconnects_dl_2017"


class Page(InFolder):
    def test_one_paper(self):
        done = run("validate", "--paper", "003", "--report", "out", folder=self.folder)
        self.assertEqual(done.returncode, 4, done.stderr)  # some claims fail
        page = (self.folder / "out" / f"{PAPER}.html").read_text(encoding="utf-8")
        board = json.loads((self.folder / "out" / "claims.json").read_text(encoding="utf-8"))
        self.assertNotRegex(page, r'(src|href)="(?!#)(?!data:)')  # nothing is fetched when it is opened
        self.assertNotIn("<script", page)
        self.assertEqual({claim["paper"] for claim in board["claims"]}, {PAPER})
        for claim in board["claims"]:
            self.assertIn(f'id="{claim["id"]}"', page)
            self.assertIn(f'href="#{claim["id"]}"', page)
        targets = set(re.findall(r'\sid="([^"]+)"', page))
        self.assertLessEqual(set(re.findall(r'href="#([^"]+)"', page)), targets)
        for colour in re.findall(r"(?:stroke|fill): (#[0-9a-f]{6})", page):
            self.assertIn(colour, ("#000000", "#ffffff"))  # the rest follow light, dark and paper
        rate = board["scoreboard"][PAPER]["roles"]["predicted"]
        self.assertIn(f'<td>predicted</td><td class="pass">{rate["pass"]}</td>', page)

    def test_refused(self):
        for given, said in (("9", "start of no single paper"), ("00", "start of no single paper")):
            done = run("validate", "--paper", given, folder=self.folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        self.assertEqual(run("validate", "--paper", "003", "GX8-001", folder=self.folder).returncode, 2)


class Galleries(InFolder):
    def test_every_claim_has_its_figure(self):
        self.assertEqual(len(GALLERIES), 5)
        for path in GALLERIES:
            gallery = json.loads(path.read_text(encoding="utf-8"))
            rows = json.loads((ROOT / "validate" / "claims" / path.name).read_text(encoding="utf-8"))["claims"]
            linked = {name for figure in gallery["figures"] for name in figure["claims"]}
            self.assertEqual(linked, {row["id"] for row in rows}, path.name)
            for figure in gallery["figures"]:
                self.assertTrue(figure.get("panels") or figure.get("missing"), figure["id"])

    def test_points_ask_what_was_measured(self):
        series = {"name": "n", "role": "fitted", "file": "p100-dgx1/p2p-matrix.json", "select": {"transport": "peer", "size_B": 40000000},
                  "query": {"platform": "p100-dgx1", "kind": "p2p", "transport": "peer", "direction": "read"}}
        panel = {"title": "t", "x": "size_B", "y": "bandwidth_Bps", "series": [series]}
        (drawn,) = points.panel_series(panel, {}, ROOT, str(PROGRAM))
        (point,) = drawn.points
        (answer,) = answers([point.query])
        self.assertEqual(point.forecast, answer["bandwidth_Bps"])
        self.assertLess(abs(point.error), 0.02)
        self.assertLess(point.low, point.forecast)
        self.assertLess(point.forecast, point.high)

    def test_a_claim_as_a_point(self):
        claims = {"X": {"expected": {"value": [2, 3]}, "predicted": {"value": [4, 6]}}, "Y": {"expected": {"value": 1}, "predicted": None}}
        point = points.from_claim({"x": "a", "claim": "X", "index": 1, "scale": 2}, claims)
        self.assertEqual((point.measured, point.forecast, point.error), (6, 6, 0))
        self.assertIsNone(points.from_claim({"x": "a", "claim": "Y"}, claims))

    def test_sizes_in_words(self):
        self.assertEqual(gallery.number_text({"value": [1048576, 16384, 4], "unit": "B"}), "1 MiB, 16 KiB, 4 B")
        self.assertEqual(gallery.number_text({"value": [0.98765], "unit": "ratio"}), "0.9877 ratio")


if __name__ == "__main__":
    main("jinja2", "matplotlib")
