#!/usr/bin/env python3
"""Commands as people expect them: sizes of nccl-tests, formats, help, names that are nearly right, shells, standard input."""
import csv
import io
import json
import re
import shutil
import subprocess
import unittest

from program import PROGRAM, ROOT, InFolder, main, run

COLLECTIVE = ("predict", "collective", "--platform", "v100-dgx1", "--gpus", "0-3", "--op", "all_reduce")
COPY = ("predict", "p2p", "--platform", "v100-dgx1", "--src", "gpu0", "--dst", "gpu1")


def commands() -> list[list[str]]:
    """Every command, also those below others, as the completion of bash walks them."""
    script = run("completion", "bash").stdout
    patterns = re.search(r"in\n\s+('list'.*)\)\n", script).group(1)
    return [path.strip("' ").split() for path in patterns.split("|")]


def tables_of_terms(text: str) -> list[list[list[str]]]:
    """Tables of --explain as cells: label, time, share of time, share of spread, source."""
    tables: list[list[list[str]]] = []
    for line in text.splitlines():
        if line.startswith("terms"):
            tables.append([])
        elif tables and (cells := re.fullmatch(r"  (.{14}) *(\S+ \S+) +(-?\d+ %) +(-?\d+ %)  (.+)", line)):
            tables[-1].append([cell.strip() for cell in cells.groups()])
    return tables


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


class Sizes(unittest.TestCase):
    def test_a_curve_is_its_points(self):
        curve = json.loads(run(*COLLECTIVE, "-b", "8", "-e", "1G", "-f", "8", "--json").stdout)
        self.assertEqual([point["size_B"] for point in curve["points"]], [8**k for k in range(1, 11)])
        for point in curve["points"][::3]:
            alone = json.loads(run(*COLLECTIVE, "--size", f"{point['size_B']}B", "--json").stdout)
            self.assertEqual((point["time_s"], point["busbw_Bps"]), (alone["time_s"], alone["busbw_Bps"]))
        rates = [point["busbw_Bps"] for point in curve["points"]]
        self.assertAlmostEqual(curve["average_busbw_Bps"] / (sum(rates) / len(rates)), 1, places=12)

    def test_as_nccl_tests_prints(self):
        lines = run(*COLLECTIVE, "--size", "8,64K,1M").stdout.splitlines()
        self.assertEqual(lines[0].split()[:5], ["#", "size", "time", "algbw", "busbw"])
        self.assertEqual([line.split()[0] for line in lines if not line.startswith("#")], ["8", "65536", "1048576"])
        points = json.loads(run(*COLLECTIVE, "--size", "8,64K,1M", "--json").stdout)
        average = float(re.search(r"# Avg bus bandwidth    : (\S+)", "\n".join(lines)).group(1))
        self.assertAlmostEqual(average * 1e9 / points["average_busbw_Bps"], 1, places=5)

    def test_terms_of_each_answer(self):
        """--explain: a table for one answer, for each size of a curve, for both of a what-if; the same rows as CSV."""
        ways = {(*COLLECTIVE, "--size", "64K"): [{}],
                (*COLLECTIVE, "--size", "64K,64M"): [{"size_B": "65536"}, {"size_B": "67108864"}],
                ("whatif", *COLLECTIVE, "--size", "64K", "--slow", "gpu0:2"): [{"answer": "before"}, {"answer": "after"}],
                ("whatif", *COPY, "--size", "8,64M", "--slow", "gpu0:2"):
                    [{"size_B": size, "answer": answer} for size in ("8", "67108864") for answer in ("before", "after")]}
        for words, names in ways.items():
            with self.subTest(words=words):
                shown = run(*words, "--explain").stdout
                tables = tables_of_terms(shown)
                self.assertEqual(len(tables), len(names))
                self.assertTrue(all(len(line) <= 100 for line in shown.splitlines() if line.startswith("  ")))
                cells = rows_of(run(*words, "--explain", "--format", "csv").stdout)
                self.assertEqual([[row["label"] for row in cells if name.items() <= row.items()] for name in names],
                                 [[row[0] for row in table] for table in tables])
                for name in names:
                    shares = [float(row["time_share"]) for row in cells if name.items() <= row.items()]
                    self.assertAlmostEqual(sum(shares), 1, places=9)

    def test_steps(self):
        def sizes(*words: str) -> list[int]:
            return [point["size_B"] for point in json.loads(run(*COPY, *words, "--json").stdout)["points"]]
        self.assertEqual(sizes("-b", "1M", "-e", "3M"), [2**20, 2 * 2**20, 3 * 2**20])  # nccl-tests adds 1M unless told
        self.assertEqual(sizes("-b", "10", "-e", "25", "-i", "5"), [10, 15, 20, 25])
        self.assertEqual(sizes("--minbytes", "64K"), [65536])

    def test_letters_are_powers_of_1024(self):
        times = {run(*COPY, "--size", size, "--json").stdout.split('"time_s"')[1].split(",")[0] for size in ("64M", "64MiB", "67108864")}
        self.assertEqual(len(times), 1)

    def test_what_if(self):
        both = json.loads(run("whatif", *COLLECTIVE, "--size", "64K,64M", "--slow", "gpu0:2", "--json").stdout)
        for point in both["points"]:
            self.assertGreater(point["after"]["time_s"], point["before"]["time_s"])


class Formats(unittest.TestCase):
    def test_rows_are_those_of_the_json(self):
        for words, key, figure in ((("routes", *COPY[2:]), "routes", "time_s"),
                                   (("place", "--platform", "p100-dgx1", "--job", "all_reduce:64M", "--ranks", "3"), "placements", "regret"),
                                   ((*COLLECTIVE, "--size", "1M,2M"), "points", "busbw_Bps"),
                                   (("replay", "data_parallel", "--option", "ranks=2", "--platform", "gx8"), "ranks", "compute_s")):
            rows = rows_of(run(*words, "--format", "csv").stdout)
            whole = json.loads(run(*words, "--format", "json").stdout)
            self.assertEqual([float(row[figure]) for row in rows], [row[figure] for row in whole[key]], words)

    def test_cells(self):
        rows = rows_of(run("list", "fabrics", "--format", "csv").stdout)  # sources hold commas
        self.assertEqual(rows, json.loads(run("list", "fabrics", "--json").stdout)["fabrics"])
        rings = rows_of(run("rings", "--platform", "p100-dgx1", "--gpus", "0-7", "--format", "csv").stdout)
        self.assertEqual(len(rings[0]["channels"].split()), 8)

    def test_two_formats(self):
        done = run(*COPY, "--size", "1M", "--json", "--format", "csv")
        self.assertEqual((done.returncode, done.stderr), (2, "error: --json: excludes --format csv\n"))

    def test_checked_files(self):
        done = json.loads(run("check", "topologies/gx8.json", "--json").stdout)
        self.assertEqual(done, {"files": [{"file": "topologies/gx8.json", "schema": "topology/1"}]})


class Help(unittest.TestCase):
    def test_every_command(self):
        self.assertGreater(len(commands()), 35)
        for words in [[], *commands()]:
            shown = run(*words, "--help").stdout
            self.assertEqual(shown, run("help", *words).stdout, words)
            self.assertLessEqual(len(shown.splitlines()), 60, words)
            for page in (shown, run(*words, "--help-all").stdout):
                self.assertLessEqual(max(map(len, page.splitlines())), 80, words)

    def test_nothing_is_lost(self):
        every = run("predict", "collective", "--help-all").stdout
        for name in re.findall(r"--[a-z0-9-]+", run("predict", "collective", "--help").stdout):
            self.assertRegex(every, rf"{name}\b")

    def test_pages(self):
        for option in ("--disable", "--remove", "--swap", "--add", "--set", "--scale", "--slow", "--flaky", "--fabric", "--edit"):
            self.assertIn(f"  {option} ", run("help", "edits").stdout)
            self.assertNotIn(f"  {option} ", run("predict", "p2p", "--help").stdout)
        self.assertIn("NCCL_ALGO", run("help", "import", "nccl-tests").stdout)
        self.assertIn("    ranks ", run("help", "trace", "data_parallel").stdout)
        self.assertIn("data_parallel\n", run("help", "applications").stdout)

    def test_lists_fit(self):
        for what in ("platforms", "collectives", "libraries", "algorithms", "fabrics", "traces", "kinds", "claims"):
            self.assertLessEqual(max(map(len, run("list", what, env={"COLUMNS": "80"}).stdout.splitlines())), 80, what)

    def test_tables_fit(self):
        for words in (("show", "v100-dgx1"), ("show", "lumi", "--fabric"), ("wiring", "--platform", "v100-dgx1", "--steps", "2"),
                      ("whatif", "replay", "data_parallel", "--option", "ranks=8", "--platform", "p100-dgx1", "--remove", "gpu0-gpu1"),
                      ("whatif", "predict", "p2p", "--platform", "v100-dgx1", "--src", "gpu0", "--dst", "gpu5", "--size", "1M", "--slow", "gpu0:2")):
            lines = run(*words, env={"COLUMNS": "80"}).stdout.splitlines()
            self.assertLessEqual(max(map(len, lines)), 86, words)  # names, values and machines of some parameters take more than 80

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^linkcast \d+\.\d+\.\d+.*\n\w+ build by \w+ [\d.]+, SimGrid \d+\.\d+\.\d+\n$")


class Planes(unittest.TestCase):
    """Bottlenecks name planes of switches: show and edits know them."""

    def time(self, *edits: str) -> float:
        return json.loads(run("predict", "collective", "--platform", "dgx2", "--gpus", "0-7", "--op", "all_reduce", "--size", "1G", "--json", *edits).stdout)["time_s"]

    def test_an_edit_is_that_of_the_switches(self):
        self.assertIn("  board0   nvs0 nvs1 nvs2 nvs3 nvs4 nvs5\n", run("show", "dgx2").stdout)
        one_by_one = [word for i in range(6) for word in ("--scale", f"gpu0-nvs{i}:0.5")]
        self.assertEqual(self.time("--scale", "gpu0-board0:0.5"), self.time(*one_by_one))
        self.assertEqual(self.time("--slow", "board0:2"), self.time(*(word for i in range(6) for word in ("--slow", f"nvs{i}:2"))))
        self.assertEqual(self.time("--remove", "gpu0-board0:2"), self.time("--remove", "gpu0-nvs0", "--remove", "gpu0-nvs1"))
        self.assertEqual(self.time("--slow", "board1:2"), self.time())  # no GPU of these is there

    def test_too_many(self):
        done = run("show", "dgx2", "--remove", "gpu0-board0:7")
        self.assertEqual((done.returncode, done.stderr), (2, "error: edit 'remove gpu0-board0:7': gpu0 has 6 links to board0 only\n"))


def broadcast_chain(ranks: int) -> str:
    """A schedule in MSCCL's XML: each rank passes the root's chunk on to the next."""
    gpus = []
    for rank in range(ranks):
        kind = "s" if rank == 0 else "r" if rank == ranks - 1 else "rcs"
        gpus.append(f'<gpu id="{rank}" i_chunks="1" o_chunks="0" s_chunks="0"><tb id="0" send="{-1 if kind == "r" else rank + 1}" recv="{rank - 1}" '
                    f'chan="0"><step s="0" type="{kind}" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1"/></tb></gpu>')
    return f'<algo name="chain" nchunksperloop="1" nchannels="1" ngpus="{ranks}" coll="broadcast" inplace="1">\n' + "\n".join(gpus) + "</algo>\n"


class Schedules(InFolder):
    """--algorithm-file: refused before it is drawn or forecast, with what does not fit."""

    def show(self, ranks: int, *words: str) -> str:
        (self.folder / "chain.xml").write_text(broadcast_chain(ranks))
        done = run("show", *words, "--svg", "--algorithm-file", str(self.folder / "chain.xml"))
        self.assertEqual(done.returncode, 2 if done.stderr else 0)
        return done.stderr

    def test_gpus_that_are_not_there(self):
        self.assertEqual(self.show(4, "v100-dgx1"), "")
        self.assertEqual(self.show(4, "v100-dgx1", "--gpus", "0-3"), "")
        self.assertEqual(self.show(2, "v100-dgx1", "--gpus", "0,0"), "error: --gpus: 0 is given twice\n")
        for ranks, words, why in ((2, ("v100-dgx1", "--gpus", "0-3"), "is for broadcast of 2 GPUs, and 4 GPUs are named"),
                                  (3, ("v100-dgx1", "--gpus", "0-1"), "is for broadcast of 3 GPUs: not as many on each node of 2 GPUs"),
                                  (16, ("gx8",), "is for broadcast of 16 GPUs: 2 nodes of 8 GPUs, and gx8 has no network between nodes"),
                                  (8, ("leonardo", "--gpus", "0"), "")):
            self.assertEqual(self.show(ranks, *words), f"error: {self.folder}/chain.xml:1: {why}\n" if why else "")

    def test_a_name_of_no_file(self):
        for words in (("show", "v100-dgx1", "--svg"), (*COLLECTIVE, "--size", "1M"),
                      ("place", "--platform", "v100-dgx1", "--job", "all_reduce:1MiB", "--ranks", "4")):
            done = run(*words, "--algorithm-file", "")
            self.assertEqual((done.returncode, done.stderr), (2, "error: --algorithm-file: names no file\n"), words)


class NearlyRight(InFolder):
    def test_did_you_mean(self):
        for words, meant in (((*COPY, "--szie", "1M"), "--size"), (("shwo", "gx8"), "show"), (("predict", "colective"), "collective"),
                             (("show", "v100"), "v100-dgx1"), (("show", "DGX_2"), "dgx2"), (("list", "platfroms"), "platforms"),
                             ((*COLLECTIVE[:-1], "allreduce", "--size", "1M"), "all_reduce"),
                             ((*COLLECTIVE, "--size", "1M", "--library", "ncl-2.12"), "nccl-2.12"),
                             ((*COPY, "--size", "1M", "--transport", "stagd"), "staged"), (("help", "edit"), "edits"),
                             (("replay", "alexnt", "--platform", "gx8"), "alexnet"), (("import", "kinetto", "x"), "kineto")):
            self.assert_refused(run(*words), "(did you mean '")
            self.assertIn(f"'{meant}'", run(*words).stderr.split("?)")[0])

    def test_nothing_near(self):
        self.assertNotIn("did you mean", run("show", "atari").stderr)


class StandardInput(InFolder):
    def test_a_dash_is_a_file(self):
        measured = ROOT / "calibrate/data/p100-dgx1/p2p-matrix.json"
        trace = ROOT / "apps-traces/samples/h200x4-alexnet.jsonl"
        jobs = ROOT / "apps-traces/jobs/day-dgx1.jsonl"
        for path, *words in ((measured, "diagnose", "--platform", "p100-dgx1"), (measured, "validate", "--against"), (measured, "check"),
                             (trace, "replay", "--platform", "hgx-h200"), (trace, "replay", "--json", "--platform", "hgx-h200"),
                             (jobs, "schedule", "--policy", "packed", "--platform", "v100-dgx1")):
            named = run(*words, path)
            piped = run(*words, "-", stdin=path.read_text())
            self.assertEqual((piped.returncode, piped.stdout.replace("standard input", str(path))), (named.returncode, named.stdout), words)
            self.assertNotIn("/proc/", piped.stdout + piped.stderr)

    def test_errors_name_it(self):
        self.assert_refused(run("check", "-", stdin="{"), "error: standard input: not JSON")
        self.assert_refused(run("import", "nccl-tests", "-", "--machine", "m", "--topology", "t"), "error: standard input: ")

    def test_sweep_and_report(self):
        done = run("sweep", "-", "--dry-run", stdin=(ROOT / "docs/sweep/dgx1-subsets.json").read_text())
        self.assertEqual(done.stdout, run("sweep", "docs/sweep/dgx1-subsets.json", "--dry-run").stdout)
        self.assertGreater(len(done.stdout), 0)


class ExitCodes(InFolder):
    GOOD = '{"id": 1, "kind": "rings", "platform": "dgx2", "gpus": [0, 1]}\n'
    BAD = '{"id": 2, "kind": "rings", "platform": "dgx2", "gpus": [99]}\n'

    def test_batch(self):
        self.assertEqual(run("predict", "--batch", "-", stdin=self.GOOD).returncode, 0)
        done = run("predict", "--batch", "-", stdin=self.BAD + self.GOOD)
        self.assertEqual((done.returncode, len(done.stdout.splitlines()), done.stderr), (1, 2, ""))


class Shells(InFolder):
    def test_bash(self):
        script = self.write("linkcast.bash", run("completion", "bash").stdout)
        asks = {("predict", ""): {"p2p", "flows", "collective"}, ("predict", "collective", "--pla"): {"--platform"},
                ("predict", "collective", "--library", "nccl-2.2"): {"nccl-2.20", "nccl-2.22", "nccl-2.23", "nccl-2.27"},
                ("whatif", "predict", "collective", "--op", "all_r"): {"all_reduce"}, ("place", "--format", "c"): {"csv", "cuda"},
                ("predict", "collective", "--protocol", "LL"): {"LL", "LL128"}, ("import", "kin"): {"kineto"}, ("check", ""): set()}
        for words, expected in asks.items():
            typed = " ".join(f"'{word}'" for word in (str(PROGRAM), *words))
            done = subprocess.run(["bash", "-c", f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _linkcast; printf '%s\\n' "
                                   "\"${COMPREPLY[@]}\""], capture_output=True, text=True, check=True)
            self.assertEqual(set(done.stdout.split()), expected, words)
            self.assertEqual(done.stderr, "")

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        script = self.write("_linkcast", run("completion", "zsh").stdout)
        self.assertEqual(subprocess.run(["zsh", "-n", script], capture_output=True, text=True, check=False).stderr, "")

    def test_man(self):
        page = run("help", "--man").stdout
        for words in commands():
            if words[0] != "whatif":
                self.assertIn(f".SH linkcast {' '.join(words)}\n".replace("-", "\\-"), page)
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings", "-l", self.write("linkcast.1", page)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
