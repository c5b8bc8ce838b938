#!/usr/bin/env python3
"""linkcast report: every kind of result, what the page holds, what it refuses."""
import html
import json
import re

from program import InFolder, answers, main, run

QUESTIONS = {
    "p2p": {"platform": "p100-dgx1", "src": "gpu0", "dst": "gpu5", "size_B": 2**26},
    "flows": {"platform": "v100-dgx1", "flows": [["gpu0", "gpu1", 2**26], ["gpu0", "gpu2", 2**26]]},
    "collective": {"platform": "p100-dgx1", "op": "all_reduce", "gpus": [0, 1, 2, 3, 4], "size_B": 10**9},
    "rings": {"platform": "hgx-h200", "gpus": [0, 1, 2, 3], "op": "all_reduce", "size_B": 2**20},
    "routes": {"platform": "v100-dgx1", "src": "gpu0", "dst": "gpu7", "size_B": 2**26},
    "replay": {"platform": "gx8", "trace": "alexnet", "options": {"gpus": 2}},
}


def figures(page: str) -> list[dict]:
    return [json.loads(html.unescape(text)) for text in re.findall(r"data-figure='(.*?)'></div>", page, re.S)]


class Report(InFolder):
    def report(self, *paths: object):
        return run("report", *paths, "--out", "page.html", folder=self.folder)

    def page(self, *paths: object) -> str:
        """Without the text of Plotly."""
        done = self.report(*paths)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.folder / "page.html").read_text(encoding="utf-8")
        scripts = re.findall(r"<script>.*?</script>", text, re.S)
        self.assertEqual(len(scripts), 2)  # Plotly, and what calls it
        self.assertGreater(len(scripts[0]), 10**6)
        return text.replace(scripts[0], "")


class Pages(Report):
    def test_every_kind(self):
        results = answers([{"kind": kind, **query} for kind, query in QUESTIONS.items()])
        paths = [self.write(f"{result['kind']}.json", result) for result in results]
        page = self.page(*paths)
        self.assertEqual(page.count("<section"), len(QUESTIONS))
        for path, result in zip(paths, results):
            self.assertIn(f'<p class="file">{path}</p>', page)
            self.assertIn(result["inputs"]["topology_sha256"], page)
            for warning in result["warnings"]:
                self.assertIn(html.escape(warning, quote=False).replace("'", "&#39;"), page)
        self.assertNotRegex(page, r'(src|href)="(?!#)')  # nothing is fetched when it is opened
        drawn = [trace["x"] for figure in figures(page) for trace in figure["data"]]
        self.assertIn([way["time_s"] for way in results[4]["routes"]], drawn)

    def test_replay_over_time(self):
        done = run("replay", "data_parallel", "--option", "ranks=2", "--platform", "hgx-h200", "--json", "--utilisation")
        result = json.loads(done.stdout)
        drawn = figures(self.page(self.write("run.json", result)))
        heats = [figure["data"][0] for figure in drawn if figure["data"][0]["type"] == "heatmap"]
        self.assertEqual([heat["z"] for heat in heats[:2]],
                         [[rank[part] for rank in result["utilisation"]["ranks"]] for part in ("compute", "exposed")])
        self.assertEqual({link: bins for link, bins in zip(heats[2]["y"], heats[2]["z"])}, result["utilisation"]["links"])

    def test_replay_beside_recorded(self):
        """AlexNet's recorded step and its all_reduce beside the forecast, as `replay` prints them."""
        done = run("replay", "h200x4-alexnet", "--platform", "hgx-h200", "--json")
        page = re.sub(r"<[^>]+>", " ", self.page(self.write("run.json", json.loads(done.stdout))))
        cells = " ".join(html.unescape(page).split())
        self.assertIn("step recorded forecast difference median 19.94 ms 5.53 ms -72.3%", cells)
        self.assertRegex(cells, r"operation calls bytes forecast exposed recorded difference all_reduce 4 .* 1\.192 ms")
        done = run("replay", "data_parallel", "--option", "ranks=2", "--platform", "hgx-h200", "--json")
        self.assertNotIn("recorded and forecast", self.page(self.write("run.json", json.loads(done.stdout))))

    def test_batch(self):
        """A line for each set of GPUs, with its 90 % interval, and the errors."""
        sizes = [2**10, 2**20, 2**26]
        queries = [{"kind": "collective", "platform": "dgx2", "op": "all_reduce", "gpus": gpus, "size_B": size}
                   for gpus in ([0, 1], [0, 1, 2]) for size in sizes]
        results = answers(queries + [{"kind": "collective", "platform": "dgx2", "op": "all_reduce", "gpus": [99, 0], "size_B": 1}])
        page = self.page(self.write("answers.jsonl", "".join(json.dumps(result) + "\n" for result in results)))
        self.assertIn("99 is no GPU of dgx2", page)
        times = next(figure for figure in figures(page) if figure["layout"]["yaxis"]["title"]["text"] == "time")
        shown = [trace for trace in times["data"] if trace.get("name")]
        self.assertEqual([(trace["name"], trace["x"]) for trace in shown], [("0 1", sizes), ("0 1 2", sizes)])
        self.assertEqual([y for trace in shown for y in trace["y"]], [result["time_s"] for result in results[:-1]])
        band = times["data"][0]
        self.assertEqual(band["y"], [result["time_high_s"] for result in results[:3]] + [result["time_low_s"] for result in results[2::-1]])

    def test_claims_and_placements(self):
        run("validate", "TPDS-029", "TPDS-001", "--report", self.folder)
        placed = json.loads(run("place", "--platform", "p100-dgx1", "--job", "all_reduce:64MiB", "--ranks", "5", "--json").stdout)
        page = self.page(self.folder / "claims.json", self.write("place.json", placed))
        self.assertIn("<td>TPDS-029</td>", page)
        times = figures(page)[1]["data"][0]
        self.assertEqual(times["x"][:-2], [one["time_s"] for one in placed["placements"]])
        self.assertEqual(times["x"][-2:], [placed[key]["time_s"] for key in ("first_free", "worst")])
        self.assertEqual(times["y"][-1], f"worst: {' '.join(map(str, placed['worst']['gpus']))}")

    def test_text_is_escaped_and_pages_repeat(self):
        result = answers([{"kind": "p2p", **QUESTIONS["p2p"]}])[0]
        result["warnings"] = ["<script>alert('x')</script>"]
        path = self.write("run.json", result)
        first = self.page(path)
        self.assertNotIn("<script>alert", first)
        self.assertIn("&lt;script&gt;alert(&#39;x&#39;)", first)
        self.assertEqual(first, self.page(path))

    def test_interval_of_a_rate(self):
        """Bytes over the ends of the time's interval."""
        size = [2**20, 2**26]
        results = answers([{"kind": "p2p", **QUESTIONS["p2p"], "size_B": one} for one in size])
        drawn = figures(self.page(self.write("answers.jsonl", "\n".join(map(json.dumps, results)))))
        band = next(figure for figure in drawn if figure["layout"]["yaxis"]["title"]["text"] == "bandwidth")["data"][0]["y"]
        expected = [size[i] / results[i][f"time_{end}_s"] for end, i in (("low", 0), ("low", 1), ("high", 1), ("high", 0))]
        for shown, rate in zip(band, expected, strict=True):
            self.assertAlmostEqual(shown / rate, 1, places=12)


class Refused(Report):
    def refuse(self, value: object, what: str):
        path = self.write("run.json", value)
        self.assert_refused(self.report(path), f"{path}{what}")
        self.assertFalse((self.folder / "page.html").exists())

    def test_wrong_results(self):
        good = answers([{"kind": "p2p", **QUESTIONS["p2p"]}])[0]
        self.refuse("", ": is empty")
        self.refuse("{", ": line 1, column 2: not JSON")
        self.refuse("[1]", ":/: must be an object, not array")
        self.refuse({}, ":/: is none of: results of predict")
        self.refuse({"kind": "show"}, ":/kind: 'show' has no page")
        self.refuse({**good, "time_s": "1"}, ":/time_s: must be a number, not string")
        self.refuse({key: value for key, value in good.items() if key != "time_low_s"}, ":/time_low_s: missing key")
        self.refuse({**good, "bottleneck": [1]}, ":/bottleneck/0: must be a string")
        self.refuse(json.dumps(good) + "\n" + json.dumps({**good, "time_s": []}), " line 2:/time_s: must be a number")
        self.refuse({"schema": "linkcast/sweep/1", "name": "x"}, ":/table: missing key")

    def test_wrong_files(self):
        self.assert_refused(self.report(self.folder / "none.json"), "none.json: no such file")
        self.assert_refused(self.report(self.folder), "is a folder")
        self.assert_refused(self.report(self.write("x.csv", "a,b\n")), "sweep.json: no such file")
        self.assert_refused(run("report", self.write("run.json", "{}")), "--out")

    def test_inputs_stay(self):
        result = json.dumps(answers([{"kind": "p2p", **QUESTIONS["p2p"]}])[0])
        path = self.write("page.html", result)
        self.assert_refused(self.report(path), "page.html: is a file that is read")
        self.assertEqual(path.read_text(), result)
        self.assert_refused(self.report(path, self.folder / "none.json"), "--out")
        self.assert_refused(run("report", path, "--out", self.folder), "is a folder, not a file")
        self.assert_refused(run("report", path, "--out", self.folder / "none" / "page.html"), "cannot be written")


if __name__ == "__main__":
    main("jinja2", "plotly")
