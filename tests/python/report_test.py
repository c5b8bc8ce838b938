#!/usr/bin/env python3
"""linkcast report: every kind of result, what the page holds, what it refuses."""
import html
import json
import re

from program import ROOT, InFolder, answers, main, run

QUESTIONS = {
    "p2p": {"platform": "p100-dgx1", "src": "gpu0", "dst": "gpu5", "size_B": 2**26},
    "flows": {"platform": "v100-dgx1", "flows": [["gpu0", "gpu1", 2**26], ["gpu0", "gpu2", 2**26]]},
    "collective": {"platform": "p100-dgx1", "op": "all_reduce", "gpus": [0, 1, 2, 3, 4], "size_B": 10**9},
    "rings": {"platform": "hgx-h200", "gpus": [0, 1, 2, 3], "op": "all_reduce", "size_B": 2**20},
    "routes": {"platform": "v100-dgx1", "src": "gpu0", "dst": "gpu7", "size_B": 2**26},
    "replay": {"platform": "gx8", "trace": "alexnet", "options": {"gpus": 2}},
}


MOST_B = 1500000


def figures(page: str) -> list[dict]:
    """What the charts show."""
    return [json.loads(text) for text in re.findall(r'<script type="application/json" class="figure">(.*?)</script>', page, re.S)]


class Report(InFolder):
    def report(self, *paths: object):
        return run("report", *paths, "--out", "page.html", folder=self.folder)

    def page(self, *paths: object) -> str:
        done = self.report(*paths)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.folder / "page.html").read_text(encoding="utf-8")
        self.assertEqual(len(re.findall("<script>", text)), 1)  # sorts tables
        self.assertLess(len(text.encode()), MOST_B)
        drawn = re.findall(r'<svg role="img" aria-label="[^"]*" class="(wide|narrow)"', text)
        self.assertEqual(drawn, ["wide", "narrow"] * len(figures(text)))
        return text


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
        drawn = [series["y"] for figure in figures(page) for series in figure.get("series", [])]
        self.assertIn([way["time_s"] for way in results[4]["routes"]], drawn)

    def test_replay_over_time(self):
        done = run("replay", "data_parallel", "--option", "ranks=2", "--platform", "hgx-h200", "--json", "--utilisation")
        result = json.loads(done.stdout)
        drawn = figures(self.page(self.write("run.json", result)))
        heats = [figure for figure in drawn if figure["kind"] == "heat"]
        self.assertEqual([heat["cells"] for heat in heats[:2]],
                         [[rank[part] for rank in result["utilisation"]["ranks"]] for part in ("compute", "exposed")])
        self.assertEqual(dict(zip(heats[2]["rows"], heats[2]["cells"])), result["utilisation"]["links"])

    def test_replay_beside_recorded(self):
        """AlexNet's recorded step and its all_reduce beside the forecast, as `replay` prints them."""
        done = run("replay", "h200x4-alexnet", "--platform", "hgx-h200", "--json")
        page = re.sub(r"<[^>]+>", " ", self.page(self.write("run.json", json.loads(done.stdout))))
        cells = " ".join(html.unescape(page).split())
        self.assertIn("step recorded forecast difference median 19.94 ms 5.529 ms -72.3%", cells)
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
        times = next(figure for figure in figures(page) if figure["y"] == "time_s")["series"]
        self.assertEqual([(one["name"], one["x"]) for one in times], [("0 1", sizes), ("0 1 2", sizes)])
        self.assertEqual([y for one in times for y in one["y"]], [result["time_s"] for result in results[:-1]])
        self.assertEqual([times[0]["low"], times[0]["high"]], [[result[f"time_{end}_s"] for result in results[:3]] for end in ("low", "high")])

    def test_claims_and_placements(self):
        run("validate", "TPDS-029", "TPDS-001", "--report", self.folder)
        placed = json.loads(run("place", "--platform", "p100-dgx1", "--job", "all_reduce:64MiB", "--ranks", "5", "--json").stdout)
        page = self.page(self.folder / "claims.json", self.write("place.json", placed))
        self.assertIn("<td>TPDS-029</td>", page)
        times = figures(page)[1]["series"][0]
        self.assertEqual(times["y"][:-2], [one["time_s"] for one in placed["placements"]])
        self.assertEqual(times["y"][-2:], [placed[key]["time_s"] for key in ("first_free", "worst")])
        self.assertEqual(times["x"][-1], f"worst: {' '.join(map(str, placed['worst']['gpus']))}")

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
        shown = next(figure for figure in drawn if figure["y"] == "bandwidth_Bps")["series"][0]
        for end, other in (("low", "high"), ("high", "low")):
            for i, rate in enumerate(shown[end]):
                self.assertAlmostEqual(rate / (size[i] / results[i][f"time_{other}_s"]), 1, places=12)

    def one(self, *words: object) -> tuple[dict, str]:
        """A result and its page."""
        result = json.loads(run(*words, "--json").stdout)
        return result, self.page(self.write("run.json", result))

    def test_what_if(self):
        both, page = self.one("whatif", "predict", "collective", "--platform", "p100-dgx1", "--gpus", "0-7", "--op", "all_reduce",
                              "--size", "64MiB", "--remove", "gpu0-gpu4")
        self.assertEqual(figures(page)[0]["series"][0]["y"], [both[side]["time_s"] for side in ("before", "after")])
        self.assertIn("What if remove gpu0-gpu4", page)
        for words in (("replay", "alexnet", "--option", "gpus=2"), ("show",), ("rings", "--gpus", "0-3"), ("routes", "--src", "gpu0", "--dst", "gpu1")):
            platform = ("gx8",) if words == ("show",) else ("--platform", "gx8")
            self.assertIn("slow gpu0:2", self.one("whatif", *words, *platform, "--slow", "gpu0:2")[1])

    def test_what_if_over_sizes(self):
        both, page = self.one("whatif", "predict", "p2p", "--platform", "dgx2", "--src", "gpu0", "--dst", "gpu9", "--size", "1K,1M,64M",
                              "--slow", "gpu0:2")
        for side, series in zip(("before", "after"), figures(page)[0]["series"]):
            self.assertEqual(series["y"], [point[side]["time_s"] for point in both["points"]])

    def test_several_results_are_one_curve(self):
        results = answers([{"kind": "p2p", **QUESTIONS["p2p"], "size_B": size} for size in (2**12, 2**20, 2**26)])
        page = self.page(*(self.write(f"{i}.json", result) for i, result in enumerate(results)))
        self.assertEqual(page.count("<section"), 1)
        self.assertEqual(figures(page)[0]["series"][0]["y"], [result["time_s"] for result in results])
        curve = self.write("curve.json", run("predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu5", "--size", "1G,2G", "--json").stdout)
        page = self.page(curve, *(self.folder / f"{i}.json" for i in range(3)))
        self.assertEqual(figures(page)[0]["series"][0]["x"], [2**12, 2**20, 2**26, 2**30, 2**31])

    def test_all_pairs_are_a_heat_map(self):
        gpus = [f"gpu{i}" for i in range(4)]
        results = answers([{"kind": "p2p", "platform": "p100-dgx1", "src": a, "dst": b, "size_B": 2**26, "transport": "staged"}
                           for a in gpus for b in gpus if a != b])
        drawn = figures(self.page(self.write("pairs.jsonl", "\n".join(map(json.dumps, results)))))[0]
        rates = iter(result["bandwidth_Bps"] for result in results)
        self.assertEqual((drawn["kind"], drawn["rows"]), ("cells", gpus))
        self.assertEqual(drawn["cells"], [[None if a == b else next(rates) for b in gpus] for a in gpus])

    def test_measurements(self):
        path = ROOT / "calibrate/data/p100-dgx1/p2p-matrix.json"
        compared, page = self.one("validate", "--against", path)
        worst = compared["comparisons"][0]["worst"][0]["ends"]
        self.assertIn(html.escape(worst), page)
        self.assertIn("cells", [figure["kind"] for figure in figures(page)])
        found, page = self.one("diagnose", "--platform", "p100-dgx1", path, "--disable", "nvlink")
        self.assertIn("verdict", page)
        self.assertEqual(figures(page)[0]["series"][0]["y"], [row["factor"] for row in found["files"][0]["off"]][:30])

    def test_schedules_and_wirings(self):
        found, page = self.one("schedule", "apps-traces/jobs/day-dgx1.jsonl", "--platform", "v100-dgx1", "--policy", "packed", "--policy", "spread")
        self.assertEqual(figures(page)[0]["series"][0]["y"], [found["policies"][name]["slowdown"]["mean"] for name in ("packed", "spread")])
        found, page = self.one("wiring", "--platform", "v100-dgx1", "--steps", "3")
        matrix = figures(page)[1]["cells"]
        self.assertEqual((matrix[0][1], matrix[0][3], matrix[3][0], matrix[0][5]), (1, 2, 2, None))  # 0-1, 0-3x2

    def test_the_machine_has_the_loads(self):
        _, page = self.one("predict", "collective", "--platform", "dgx2", "--gpus", "0-7", "--op", "all_reduce", "--size", "1GiB")
        self.assertEqual(len(re.findall(r'stroke="#b2182b"[^>]*><title>100% gpu0-nvs\d', page)), 6)  # of gpu0->board0
        run_, page = self.one("replay", "alexnet", "--option", "gpus=2", "--platform", "gx8")
        busy = max(one["utilisation"] for one in run_["links"] if "gpu0" in one["id"])
        self.assertIn(f"<title>{busy:.0%} gpu0-sr0: ", page)
        _, page = self.one("show", "gx8")
        self.assertIn("<title>gpu0-sr0: ", page)

    def test_follows_the_reader(self):
        _, page = self.one("predict", "p2p", "--platform", "gx8", "--src", "gpu0", "--dst", "gpu1", "--size", "1K,1M")
        self.assertIn("prefers-color-scheme: dark", page)
        self.assertIn("var(--series-0)", page)
        self.assertNotIn("#010203", page)  # stands for the page's own colours
        self.assertIn("<th scope=\"col\"", page)
        self.assertIn("<button>", page)


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
        self.refuse({"kind": "fabric"}, ":/kind: 'fabric' has no page")
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

    def test_endless_deep_and_large(self):
        """Input that is no result ends with one line: a device, levels beyond count, numbers of thousands of digits."""
        self.assert_refused(self.report("/dev/zero"), "/dev/zero: is longer than 512 MiB")
        (self.folder / "endless.csv").symlink_to("/dev/zero")
        summary = {"schema": "linkcast/sweep/1", "name": "x", "about": "", "scenarios": 1, "errors": 0, "axes": [], "plots": [], "table": "endless.csv"}
        self.write("sweep.json", summary)
        self.assert_refused(self.report(self.folder / "endless.csv"), "endless.csv: has a line of more than 64 MiB")
        for deep in ("[" * 5000, '{"a":' * 5000, "[" * 100000, "[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101):
            self.refuse(deep, ": nested deeper than 100 levels")
        self.refuse("[" * 100 + "]" * 100, ":/: must be an object, not array")
        self.refuse("9" * 6000, ": '9999999999999999999999999999999999999999...' has 6000 digits, at most 400")
        self.refuse("1" * 300 + "e300", ": '" + "1" * 40 + "...' is no finite number")

    def test_inputs_stay(self):
        result = json.dumps(answers([{"kind": "p2p", **QUESTIONS["p2p"]}])[0])
        path = self.write("page.html", result)
        self.assert_refused(self.report(path), "page.html: is a file that is read")
        self.assertEqual(path.read_text(), result)
        self.assert_refused(self.report(path, self.folder / "none.json"), "--out")
        self.assert_refused(run("report", path, "--out", self.folder), "is a folder, not a file")
        self.assert_refused(run("report", path, "--out", self.folder / "none" / "page.html"), "cannot be written")


if __name__ == "__main__":
    main("jinja2", "matplotlib")
