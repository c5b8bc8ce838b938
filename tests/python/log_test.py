#!/usr/bin/env python3
"""What the program says on standard error: levels, progress, interrupts. Standard output has results alone."""
import json
import os
import pty
import re
import signal
import time
import unittest

import program
from program import run, start

COPY = ("predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size", "1MiB")
ALL_REDUCE = ("predict", "collective", "--platform", "v100-dgx1", "--gpus", "0-3", "--op", "all_reduce", "--size", "1MiB", "--json")
WARNED = ALL_REDUCE[:-1]  # its latencies were not measured
LONG = ("predict", "collective", "--platform", "leonardo", "--nodes", "32", "--gpus-per-node", "4", "--op", "all_reduce",
        "--size", "1MiB", "--noise", "1", "--samples", "1000000")
LINE = re.compile(r"noise: \d+ of 1000000 samples, [\d.]+ (s|min|h) left")
MOST_S = 60  # until something is shown that takes two seconds


class Levels(unittest.TestCase):
    def test_no_word_by_default(self):
        self.assertEqual(run(*COPY).stderr, "")

    def test_output_is_that_of_no_option_whatever_the_level(self):
        expected = run(*ALL_REDUCE).stdout
        json.loads(expected)
        for words in (("-v", *ALL_REDUCE), ("-vv", *ALL_REDUCE), (*ALL_REDUCE, "-v"), ("--quiet", *ALL_REDUCE), (*ALL_REDUCE, "--quiet")):
            self.assertEqual(run(*words).stdout, expected, words)
        for level in ("trace", "debug", "info", "warn", "error", "off"):
            self.assertEqual(run(*ALL_REDUCE, env={"LINKCAST_LOG": level}).stdout, expected, level)

    def test_verbose_names_files_and_choices(self):
        for words in (("-v", *ALL_REDUCE), ("predict", "-v", *ALL_REDUCE[1:]), (*ALL_REDUCE, "--verbose")):
            said = run(*words).stderr
            for part in ("models/params/v100-dgx1.json", "topologies/v100-dgx1.json", "builds a communicator of 4 GPUs", "algorithm ring",
                         "protocol Simple", "answered in", "solver fluid: "):
                self.assertIn(part, said, words)
            for line in said.splitlines():
                self.assertRegex(line, r"^\[\d+\.\d{3} s\] (cli|catalogue|query|engine): ", said)
        self.assertIn("transport peer", run("-v", *COPY).stderr)

    def test_two_give_details(self):
        one, two = run("-v", *ALL_REDUCE).stderr, run("-vv", *ALL_REDUCE).stderr
        for part in ("fluid: ", "asked for"):
            self.assertNotRegex(one, rf"(engine|catalogue): .*{part}\d+ activities, ")
            self.assertIn(part, two)
        self.assertGreater(len(two.splitlines()), len(one.splitlines()))
        self.assertEqual(len(run(*ALL_REDUCE, "-v", "-v").stderr.splitlines()), len(two.splitlines()))

    def test_environment_by_room(self):
        said = run(*ALL_REDUCE, env={"LINKCAST_LOG": "catalogue=debug"}).stderr
        self.assertIn("catalogue: platform v100-dgx1", said)
        self.assertNotIn("query: ", said)
        self.assertIn("query: ", run(*ALL_REDUCE, env={"LINKCAST_LOG": "debug"}).stderr)
        self.assertNotIn("query: ", run(*ALL_REDUCE, env={"LINKCAST_LOG": "debug,query=off"}).stderr)

    def test_wrong_level_is_refused(self):
        done = run(*COPY, env={"LINKCAST_LOG": "loud"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "error: LINKCAST_LOG: 'loud' is no level: one of trace, debug, info, warn, error, off\n")

    def test_quiet_leaves_errors_alone(self):
        self.assertIn("warning: ", run(*WARNED).stderr)
        done = run(*WARNED, "--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for env in ({}, {"LINKCAST_LOG": "off"}):
            wrong = run("--quiet", "show", "atari", env=env)
            self.assertEqual(wrong.returncode, 2)
            self.assertTrue(wrong.stderr.startswith("error: unknown platform 'atari'"), wrong.stderr)


class Shown(program.InFolder):
    def begin(self, *words, **options):
        process = start("--max-time", "none", *words, **options)
        self.addCleanup(lambda: [pipe.close() for pipe in (process.stdout, process.stderr) if pipe])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_lines_on_a_pipe(self):
        before = time.monotonic()
        process = self.begin(*LONG)
        lines = [process.stderr.readline(), process.stderr.readline()]
        self.assertGreater(time.monotonic() - before, 3)  # the first after two seconds, then one every two
        for line in lines:
            self.assertRegex(line, f"^{LINE.pattern}\n$")

    def test_bar_on_a_terminal(self):
        shown, slave = pty.openpty()
        process = self.begin(*LONG, stderr=slave)
        os.close(slave)
        self.addCleanup(os.close, shown)
        text, before = "", time.monotonic()
        while not LINE.search(text) and time.monotonic() - before < MOST_S:
            text += os.read(shown, 4096).decode()
        self.assertRegex(text, r"\[#*-+\] +\d+ % noise: ")
        self.assertTrue(text.startswith("\r\x1b[K"), text)
        self.assertNotIn("\n", text)
        process.kill()

    def test_what_has_no_steps_shows_its_time(self):
        pipe = self.folder / "record.json"
        os.mkfifo(pipe)  # a file that takes its time
        shown, slave = pty.openpty()
        process = self.begin("check", pipe, stderr=slave)
        os.close(slave)
        self.addCleanup(os.close, shown)
        self.assertEqual(os.read(shown, 4096).decode(), f"\r\x1b[Kcheck {pipe}: 2 s")
        process.kill()

    def test_quiet_shows_none(self):
        for words in ((*LONG, "--quiet"),):
            process = self.begin(*words)
            time.sleep(4)
            process.kill()
            self.assertEqual(process.communicate(), ("", ""))

    def test_batch_names_queries_and_what_lies_inside(self):
        query = {"kind": "collective", "platform": "leonardo", "nodes": 32, "gpus_per_node": 4, "op": "all_reduce",
                 "size_B": 1048576, "noise": 1, "samples": 1000000}
        holder = program.InFolder()
        holder.setUp()
        self.addCleanup(holder.doCleanups)
        path = holder.write("batch.jsonl", (json.dumps(query) + "\n") * 3)
        line = self.begin("predict", "--batch", path).stderr.readline()
        self.assertRegex(line, r"^batch: 0 of 3 queries; noise: \d+ of 1000000 samples\n$")


class Interrupts(program.InFolder):
    def test_a_replay_leaves_no_half_file(self):
        out = self.folder / "timeline.json"
        process = start("--max-time", "none", "replay", "data_parallel", "--option", "ranks=4", "--platform", "hgx-h200", "--repeat", "100000000", "--timeline", out)
        line = process.stderr.readline()
        self.assertRegex(line, r"^replay: \d+ events, simulated [\d.]+ \w+\n$")
        self.assertEqual(list(self.folder.iterdir()), [])  # it has no name yet: a kill leaves nothing either
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(MOST_S), 130)
        self.assertEqual(process.stdout.read(), "")
        self.assertEqual(list(self.folder.iterdir()), [])
        process.stdout.close()
        process.stderr.close()

    def test_a_forecast_ends_at_once(self):
        process = start("--max-time", "none", *LONG)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(process.wait(MOST_S), 0)
        process.stdout.close()
        process.stderr.close()


if __name__ == "__main__":
    program.main()
