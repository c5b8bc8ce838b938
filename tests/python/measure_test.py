#!/usr/bin/env python3
"""linkcast measure, with a bench that replays what two H100 said: what it runs, keeps, resumes and refuses, and how it judges forecasts."""
import json
import os
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path

from program import PROGRAM, ROOT, InFolder, main, run, start

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from linkcast_programs.measure.held_back import CONCURRENT, COPIES, ENGINE, GRAPH, Forecast, Point, seconds_of  # noqa: E402
from linkcast_programs.measure.table import class_of, groups_of, sentence, table_text, worse_lines  # noqa: E402

INPUT = ROOT / "tests/input/measure"
H100 = ROOT / "calibrate/data/h100-pair"
ALL = ["discovery", "p2p_copy", "nccl_base", "nccl_ops", "host_copy", "p2p_copy_single", "concurrency", "launch", "launch_ops", "remote_load"]
NVCC = """#!/bin/sh
# Leaves a program that is the fake bench; every object says that it was compiled.
for word; do last=$word; done
case "$*" in
*" -c "*) test -n "$FAKE_ERROR" && { echo "copy.cpp(3): error: $FAKE_ERROR" >&2; exit 1; }; echo compiled >"$last" ;;
*) cp "$FAKE_BENCH" "$last" ;;
esac
"""


class Box(InFolder):
    """A folder where nvidia-smi lists two H100, and a bench that replays them."""

    def setUp(self):
        super().setUp()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        shutil.copy(INPUT / "nvidia-smi", self.tools)
        self.log = self.folder / "log"
        self.env = {"PATH": f"{self.tools}{os.pathsep}/usr/bin{os.pathsep}/bin", "FAKE_LOG": str(self.log), "FAKE_RECORDS": str(H100),
                    "CUDA_HOME": str(self.tools), "CPATH": ""}

    def measure(self, *words: object, bench: bool = True, **env: str):
        """@param bench  False: no bench is named, and none lies beside the program"""
        given = ("--bench", INPUT / "fake_bench.py") if bench else ()
        program = PROGRAM if bench else self.folder / "linkcast"
        if not program.exists():
            shutil.copy(PROGRAM, program)
        return run("measure", "--out", "box", "--machine", "mine", *given, *words, folder=self.folder, program=program,
                   env={"LINKCAST_DATA_DIR": str(ROOT), **self.env, **env})

    def started(self) -> list[str]:
        """"bench kept" of each start of the bench."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def points(self, bench: str) -> int:
        path = next((self.folder / "box").glob(f"mine-*-{bench}.json"))
        return len(json.loads(path.read_text())["points"])


class Measured(Box):
    def test_a_box_is_measured_fitted_and_compared(self):
        done = self.measure("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.started(), [f"{bench} 0" for bench in ALL])  # no relay: it needs three GPUs
        result = json.loads(done.stdout)
        self.assertEqual({row["status"] for row in result["benches"]}, {"complete"})
        self.assertEqual(result["held_out_benches"], ["nccl_ops", "concurrency", "launch_ops"])
        self.assertFalse(set(result["fitted"]) & set(result["held_out"]))
        platform = json.loads((self.folder / result["platform"]).read_text())
        self.assertFalse({Path(path).name for path in result["held_out"]} & {Path(source["path"]).name for source in platform["from"]})
        copies = sum(row["points"] for row in result["groups"] if row["issued"] == COPIES)
        self.assertEqual(copies, len(json.loads((H100 / "20261126a-concurrency.json").read_text())["points"]))
        hosts = sum(row["points"] for row in result["groups"] if row["issued"] not in (GRAPH, COPIES))
        launches = json.loads((H100 / "20261126a-launch_ops.json").read_text())["points"]
        self.assertEqual(hosts, sum(point["launch"] != "graph" for point in launches))
        self.assertTrue(result["sentence"].startswith("forecasts of this box: "))
        worse = {(row["op"], row["sizes"]) for row in result["groups"] if row["issued"] == GRAPH and row["worse_than_inherited"]}
        named = [line for line in result["worse_than_inherited"] if "in CUDA graphs: " in line]
        self.assertEqual(len(worse), sum(line.count(" instead of ") for line in named))
        asked = run("predict", "collective", "-p", result["platform"], "--gpus", "0-1", "--op", "all_reduce", "--size", "1GB", folder=self.folder)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.log.unlink()
        again = self.measure()
        self.assertEqual((again.returncode, self.started()), (0, []), again.stderr)
        self.assertTrue(again.stdout.splitlines()[-1] == result["sentence"])
        self.measure("--occasion", "another", "--dry-run")
        self.assertEqual(self.started(), [])

    def test_what_would_run(self):
        done = self.measure("--dry-run")
        self.assertEqual((done.returncode, self.started()), (0, []), done.stderr)
        self.assertIn("mine: 2 x NVIDIA H100 80GB HBM3\n", done.stdout)
        self.assertFalse((self.folder / "box").exists())
        plan = json.loads(self.measure("--dry-run", "--json").stdout)
        self.assertEqual([row["bench"] for row in plan["benches"]], ALL)
        self.assertAlmostEqual(plan["estimate_s"], sum(row["estimate_s"] for row in plan["benches"]))
        self.assertLess(plan["estimate_s"], plan["most_s"])

    def test_minutes(self):
        done = self.measure("--minutes", "0.05", FAKE_PAUSE="0.15")  # 3 s: discovery, p2p_copy, a part of what follows
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not measured: nccl_base (costs of NCCL by protocol and channels): incomplete, ", done.stdout)
        self.assertIn("not measured: launch (what the host pays for calls, kernels and copies): not begun: the minutes were over", done.stdout)
        self.assertTrue(done.stdout.splitlines()[-1].endswith("nothing was kept back to compare them with"))
        kept = self.points("nccl_base")
        self.assertLess(kept, len(json.loads((H100 / "20261126a-nccl_base.json").read_text())["points"][::4]))  # as the bench has them
        self.log.unlink()
        again = self.measure()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.started(), [f"nccl_base {kept}", *(f"{bench} 0" for bench in ALL[3:])])

    def test_interrupted(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                shutil.rmtree(self.folder / "box", ignore_errors=True)
                self.log.unlink(missing_ok=True)
                words = ("--data-dir", ROOT, "measure", "--out", self.folder / "box", "--machine", "mine", "--bench", INPUT / "fake_bench.py")
                os.environ.update({**self.env, "FAKE_PAUSE": "0.3"})
                process = start(*words, folder=self.folder)
                while process.poll() is None and not any(line.startswith("nccl_base") for line in self.started()):
                    time.sleep(0.05)
                time.sleep(0.5)
                process.send_signal(number)
                out, said = process.communicate()
                self.assertEqual((process.returncode, out), (code, ""), said)
                self.assertTrue(said.endswith("stopped: the records are complete, the same command goes on\n"), said)
                kept = self.points("nccl_base")  # a complete file
                self.assertGreater(kept, 0)
        self.log.unlink()
        again = self.measure(FAKE_PAUSE="0")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.started()[0], f"nccl_base {kept}")

    def test_records_only(self):
        done = self.measure("--records-only")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("next: linkcast measure --from-records box\n"), done.stdout)
        self.assertEqual(self.started(), [f"{bench} 0" for bench in ALL])
        self.assertFalse((self.folder / "box/mine.json").exists())
        later = run("measure", "--from-records", "box", "--out", "elsewhere", folder=self.folder)
        self.assertEqual(later.returncode, 0, later.stderr)
        self.assertTrue((self.folder / "elsewhere/mine.json").exists())

    def test_a_bench_fails(self):
        done = self.measure(FAKE_FAIL="host_copy")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("not measured: host_copy (copies between host memory and GPUs): failed", done.stdout)
        self.assertIn("device lost", done.stdout)
        self.assertTrue((self.folder / "box/mine.json").exists())
        without_copies = self.measure("--occasion", "b", FAKE_FAIL="discovery")
        self.assertEqual(without_copies.returncode, 2, without_copies.stderr)


class Built(Box):
    def compiler(self, **env: str):
        nvcc = self.tools / "bin" / "nvcc"
        nvcc.parent.mkdir(exist_ok=True)
        nvcc.write_text(NVCC)
        nvcc.chmod(0o755)
        headers = self.folder / "headers"
        for name in ("nlohmann/json.hpp", "CLI/CLI.hpp"):
            (headers / name).parent.mkdir(parents=True, exist_ok=True)
            (headers / name).write_text("")
        return self.measure("--include", headers, *("--minutes", "0.01"), bench=False, FAKE_BENCH=str(INPUT / "fake_bench.py"), **env)

    def test_the_bench_is_built(self):
        done = self.compiler()
        self.assertIn("measure: built box/bench/linkcast-bench in ", done.stderr)
        self.assertEqual(self.started()[0], "discovery 0")
        self.assertEqual([path.name for path in (self.folder / "box/bench").iterdir()], ["linkcast-bench"])
        self.log.unlink()
        self.assertNotIn("built", self.compiler().stderr)

    def test_the_compiler_fails(self):
        done = self.compiler(FAKE_ERROR="no such thing")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("cannot build linkcast-bench: copy.cpp(3): error: no such thing", done.stderr.splitlines()[-1])

    def test_what_is_missing(self):
        self.assert_refused(self.measure(bench=False), f"no linkcast-bench and no nvcc to build it in {self.tools}: install CUDA 12")
        self.assert_refused(self.measure("--bench", "nowhere", bench=False), "--bench: nowhere: no such program")
        self.assert_refused(run("measure", "--machine", "My Box", folder=self.folder, env=self.env), "--machine: 'My Box': small letters")
        self.assert_refused(run("measure", folder=self.folder, env={"PATH": str(self.folder)}), "no GPUs here: nvidia-smi is not on the PATH")
        (self.tools / "nvidia-smi").write_text("#!/bin/sh\necho NVIDIA-SMI has failed because it could not communicate with the driver\nexit 9\n")
        self.assert_refused(self.measure(), "no GPUs here: nvidia-smi -L: NVIDIA-SMI has failed")
        self.assert_refused(run("measure", "--from-records", self.tools, folder=self.folder), "no records of linkcast-bench")
        self.assert_refused(run("measure", "--from-records", "x", "--minutes", "1", folder=self.folder), "")


class Judged(InFolder):
    def point(self, measured: float, own: float, inherited: float, op: str = "all_reduce", size_B: int = 8, issued: str = GRAPH,
              gpus: int = 2) -> Point:
        return Point(issued, op, gpus, size_B, measured, Forecast(own, own / 1.2, own * 1.2), Forecast(inherited, inherited / 2, inherited * 2))

    def test_calls_in_graphs_are_judged_by_the_time_of_the_gpus_alone(self):
        """From 1 MiB on `steady` is one graph, which waits for its launch."""
        def measured(launch: str, size_B: int, **times: float) -> float | None:
            return seconds_of({"launch": launch, "size_B": size_B, "times_s": {name: [0, 0, time, 0, 0] for name, time in times.items()}})

        self.assertEqual(measured(GRAPH, 2**20 - 4, steady=5e-6, device=4e-6), 5e-6)
        self.assertEqual(measured(GRAPH, 2**20, steady=12e-6, device=10e-6), 10e-6)
        self.assertEqual(measured(GRAPH, 2**26, steady=250e-6), 250e-6)
        self.assertEqual(measured("process", 2**20, short=20e-6, device=10e-6), 20e-6)
        self.assertIsNone(measured("process", 2**20, device=10e-6))

    def test_classes_of_sizes(self):
        self.assertEqual([class_of(size) for size in (8, 2**16 - 1, 2**16, 2**20, 2**26 - 4, 2**26)],
                         ["below 64 KiB", "below 64 KiB", "to 1 MiB", "to 64 MiB", "to 64 MiB", "above"])

    def test_groups(self):
        points = [self.point(1.0, own, 1.05) for own in (1.01, 1.02, 1.3)] + [self.point(1.0, 1.1, 1.05, "broadcast", 2**20)]
        points.append(self.point(1.0, 0.5, 0.4, issued="process, threads"))
        groups = {(group.issued, group.op, group.sizes): group for group in groups_of(points)}
        small = groups[GRAPH, "all_reduce", "below 64 KiB"]
        self.assertAlmostEqual(small.median, statistics.median((0.01, 0.02, 0.3)))
        self.assertAlmostEqual(small.inherited, 0.05)
        self.assertAlmostEqual(small.inside, 2 / 3)  # 1.3 / 1.2 is above 1
        self.assertAlmostEqual(small.width, 1.44)
        self.assertAlmostEqual(small.inherited_width, 4)
        self.assertEqual([key for key, group in groups.items() if group.is_worse],
                         [(GRAPH, "broadcast", "to 64 MiB"), (GRAPH, "", "to 64 MiB")])
        self.assertEqual(groups["process, threads", "", "below 64 KiB"].points, 1)
        self.assertEqual(worse_lines(list(groups.values())), ["broadcast in CUDA graphs: to 64 MiB (10 % instead of 5.0 %)",
                                                              "all operations in CUDA graphs: to 64 MiB (10 % instead of 5.0 %)"])
        self.assertEqual(len(table_text(list(groups.values())).splitlines()), 1 + len(groups))

    def test_numbers_of_gpus_and_neighbours_have_groups_of_their_own(self):
        points = [self.point(1.0, 1.0 + gpus / 100, 1.0, gpus=gpus) for gpus in (2, 4)]
        points += [self.point(1.0, 1.2, 1.0, issued=issued) for issued in (CONCURRENT, ENGINE)]
        groups = {(group.issued, group.op, group.gpus): group for group in groups_of(points)}
        self.assertEqual(set(groups), {(GRAPH, "all_reduce", 0), (GRAPH, "", 2), (GRAPH, "", 4), (GRAPH, "", 0), (CONCURRENT, "all_reduce", 0),
                                       (ENGINE, "", 0)})
        self.assertAlmostEqual(groups[GRAPH, "", 4].median, 0.04)
        self.assertIn("all operations, 4 GPUs in CUDA graphs: below 64 KiB (4.0 % instead of 0.0 %)", worse_lines(list(groups.values())))
        self.assertIn("all, 2 GPUs", table_text(list(groups.values())))
        self.assertIn("3.0 % below in CUDA graphs; ", sentence(points))  # neighbours and engines are none of them

    def test_one_sentence(self):
        points = [self.point(1.0, 1.03, 2.0, size_B=2**21), self.point(1.0, 1.08, 2.0), self.point(1.0, 1.5, 2.0, issued="single_process")]
        self.assertEqual(sentence(points), "forecasts of this box: 3.0 % from 1 MiB, 8.0 % below in CUDA graphs; 50 % where the host issues each "
                         "call; 67 % of 3 inside their 90 % intervals")
        self.assertIn("nothing was kept back", sentence([]))


if __name__ == "__main__":
    main()
