#!/usr/bin/env python3
"""linkcast wiring: wirings keep their numbers of cables, mixes are placed best, and what is refused."""
import itertools
import json
import random
import sys
from pathlib import Path

from program import InFolder, main, run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from linkcast_programs.wiring import (  # noqa: E402
    best_of_mix, degrees, edits_of, neighbours, pairs_of, parse_mix, random_wiring)


class Wirings(InFolder):
    def test_every_change_keeps_the_cables_of_each_gpu(self):
        for seed in range(5):
            wiring = random_wiring(8, 4, random.Random(seed))
            self.assertEqual(degrees(wiring, 8), [4] * 8)
            others = neighbours(wiring, 8)
            self.assertGreater(len(others), 10)
            for other in others:
                self.assertEqual(degrees(other, 8), [4] * 8)
                self.assertLessEqual(sum(abs(a - b) for a, b in zip(wiring, other, strict=True)), 4)

    def test_edits_name_each_pair_once(self):
        wiring = (2,) + (0,) * 4 + (1,)  # four GPUs: 0-1 twice, 2-3 once
        self.assertEqual(pairs_of(4)[0], (0, 1))
        self.assertEqual(edits_of(wiring, 4, "nvlink1"), ["add gpu0-gpu1:nvlink1:2", "add gpu2-gpu3:nvlink1:1"])


class Mixes(InFolder):
    def test_best_of_mix_is_the_best_of_all_partitions(self):
        chance = random.Random(3)
        gpus = tuple(range(6))
        times = {chosen: chance.random() for size in (2, 3, 4) for chosen in itertools.combinations(gpus, size)}
        ideal = {2: 1.0, 3: 0.5, 4: 2.0}
        for mix in ((2, 2, 2), (3, 3), (4, 2), (3, 2)):
            found, sets = best_of_mix(mix, gpus, times, ideal)
            self.assertEqual(sorted(map(len, sets), reverse=True), sorted(mix, reverse=True))
            self.assertEqual(len(set(itertools.chain(*sets))), sum(mix))
            self.assertAlmostEqual(found, max(times[one] / ideal[len(one)] for one in sets))
            every = []
            for order in itertools.permutations(gpus):
                at, worst = 0, 0.0
                for size in mix:
                    worst = max(worst, times[tuple(sorted(order[at:at + size]))] / ideal[size])
                    at += size
                every.append(worst)
            self.assertAlmostEqual(found, min(every))

    def test_mixes_are_read_or_refused(self):
        self.assertEqual(parse_mix("3+5", 8), (5, 3))
        for wrong in ("9", "1+7", "4+5", "four", ""):
            with self.assertRaises(ValueError):
                parse_mix(wrong, 8)


class Command(InFolder):
    def test_finds_a_wiring_that_serves_five_and_three_better(self):
        done = run("wiring", "--platform", "v100-dgx1", "--mix", "5+3", "--mix", "8", "--steps", "25", "--json", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["own"]["worst"], 1)
        self.assertLess(result["best"][0]["mean"], 0.9)
        self.assertLessEqual(result["best"][0]["worst"], 1)
        # what it names as edits is that wiring: asked again, five GPUs are as fast as it says
        ask = {"kind": "place", "platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 8, "edits": result["best"][0]["edits"]}
        answer = run("predict", "--batch", self.write("q.jsonl", ask), folder=self.folder)
        own = {**ask, "edits": []}
        before = run("predict", "--batch", self.write("q.jsonl", own), folder=self.folder)
        ratio = json.loads(answer.stdout)["time_s"] / json.loads(before.stdout)["time_s"]
        self.assertAlmostEqual(ratio, result["best"][0]["mixes"]["8"])

    def test_refusals(self):
        for arguments, what in ((["--platform", "v100-dgx1", "--mix", "9"], "--mix: '9' is no mix"),
                                (["--platform", "hgx-h200"], "--platform: hgx-h200 has 0 kinds of cables"),
                                (["--platform", "nothing"], "unknown platform"),
                                (["--platform", "v100-dgx1", "--job", "all_sum:1MiB"], "all_sum")):
            done = run("wiring", *arguments, "--steps", "1", folder=self.folder)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(what, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    main()
