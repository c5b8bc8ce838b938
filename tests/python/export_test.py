#!/usr/bin/env python3
"""What `export simgrid` writes runs on SimGrid alone and takes the time that the forecast says."""
import json
import re
import shutil
import subprocess
import unittest

from program import InFolder, answers, main, run

MIB = 1 << 20
QUERIES = {
    "copy": {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 64 * MIB},
    "contention": {"kind": "flows", "platform": "p100-dgx1", "flows": [["gpu0", "gpu1", 64 * MIB], ["gpu0", "gpu1", 16 * MIB], ["gpu1", "gpu0", 999]]},
    "host": {"kind": "p2p", "platform": "gx8", "src": "gpu0", "dst": "cpu0", "size_B": 8 * MIB},
    "broken weights": {"kind": "flows", "platform": "hgx-h200", "transport": "staged",
                       "flows": [["gpu2", "gpu7", 2116], ["gpu7", "gpu2", 1 << 30], ["gpu7", "gpu5", 240000000], ["gpu5", "gpu7", 4612043]]},
    "ring": {"kind": "collective", "platform": "p100-dgx1", "op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 64 * MIB},
    "ring between nodes": {"kind": "collective", "platform": "leonardo", "op": "all_reduce", "nodes": 2, "gpus_per_node": 4, "size_B": 256 * MIB},
    "alltoall": {"kind": "collective", "platform": "hgx-h200", "op": "alltoall", "gpus": [0, 1, 2, 3], "size_B": 16 * MIB},
    "alltoall between nodes": {"kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": 4, "gpus_per_node": 2, "size_B": 16 * MIB,
                               "engine": "direct"},
    "mpi": {"kind": "collective", "platform": "leonardo", "op": "all_reduce", "nodes": 2, "gpus_per_node": 2, "size_B": MIB, "library": "mpi-openmpi"},
    "dragonfly": {"kind": "flows", "platform": "alps", "flows": [["node0/gpu0", "node300/gpu1", 32 * MIB], ["node1/gpu0", "node300/gpu1", 8 * MIB],
                                                                 ["node0/gpu0", "node2/gpu0", MIB]]},
}
EXACT = ("copy", "contention", "host", "broken weights", "dragonfly")  # whose time is that of their plan
FLAGS = ("-std=c++17", "-O0", "-w")
SAME = 1e-9


def printed(text: str) -> dict[str, float]:
    """Seconds by what they are of: plan, by linkcast, left out."""
    return {what: float(seconds) for what, seconds in re.findall(r"(plan|by linkcast|left out) (\S+) s", text)}


@unittest.skipUnless(shutil.which("c++") and shutil.which("pkg-config"), "no compiler")
class Exported(InFolder):
    def exported(self, name: str, query: dict) -> str:
        done = run("export", "simgrid", self.write("query.json", query), "--out", self.folder / name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / name / "plan.cpp").read_text()

    def compiled(self, sources: list[str]) -> None:
        """All in one program, whose first word is the number of the one to run: each in a namespace of its own."""
        includes = sorted({line for source in sources for line in source.splitlines() if line.startswith("#include")})
        text = "\n".join(includes) + "\n"
        text += "".join(f"namespace plan{i} {{\n{source}}}\n" for i, source in enumerate(sources))
        runs = "".join(f"  if (argv[1] == std::string(\"{i}\")) return plan{i}::main(argc, argv);\n" for i in range(len(sources)))
        self.write("all.cpp", text + "int main(int argc, char** argv) {\n" + runs + "  return 9;\n}\n")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "simgrid"], capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["c++", *FLAGS, str(self.folder / "all.cpp"), "-o", str(self.folder / "all"), *flags], check=True)

    def test_ten_programs_take_the_forecast_time(self):
        chosen = [query | {key: forecast[key] for key in ("algorithm", "protocol") if forecast.get("library", "").startswith("nccl") and forecast["algorithm"] != "messages"}
                  for query, forecast in zip(QUERIES.values(), answers(list(QUERIES.values())))]
        forecasts = answers(chosen)  # of what the library most likely takes
        self.compiled([self.exported(name, query) for name, query in QUERIES.items()])
        for number, (name, forecast) in enumerate(zip(QUERIES, forecasts)):
            with self.subTest(name):
                done = subprocess.run([str(self.folder / "all"), str(number)], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                seconds = printed(done.stdout)
                self.assertEqual("left out" in seconds, name not in EXACT, done.stdout)
                self.assertAlmostEqual(seconds["plan"] / seconds["by linkcast"], 1, delta=SAME)
                self.assertAlmostEqual((seconds["plan"] + seconds.get("left out", 0)) / forecast["time_s"], 1, delta=SAME)

    def test_the_plan_is_that_of_the_choice_that_the_answer_names(self):
        def planned(query: dict) -> str:
            return re.search(r"double planned = (\S+);", self.exported("one", query))[1]

        queries = [{"kind": "collective", "platform": platform, "op": op, "nodes": 2, "gpus_per_node": 8, "size_B": size}
                   for platform in ("hgx-h200", "dgx-a100") for op in ("all_reduce", "all_gather") for size in (MIB, 64 * MIB)]
        for query, forecast in zip(queries, answers(queries)):
            with self.subTest(str(query)):
                forced = query | {"algorithm": forecast["algorithm"], "protocol": forecast["protocol"]}
                self.assertEqual(planned(query), planned(forced))
                self.assertLessEqual(float(planned(query)), answers([forced])[0]["time_s"] * (1 + SAME))

    def test_program_is_readable(self):
        text = self.exported("copy", QUERIES["copy"])
        self.assertIn("gpu0->gpu1", text)
        self.assertIn("bytes per second", text)
        self.assertIn(json.dumps(QUERIES["copy"]["size_B"]), text)


class Refused(InFolder):
    def refused(self, query: dict, what: str):
        self.assert_refused(run("export", "simgrid", self.write("query.json", query), "--out", self.folder / "out"), what)
        self.assertFalse((self.folder / "out").exists())

    def test_each_reason(self):
        for kind in ("show", "replay", "place"):
            self.refused({"kind": kind, "platform": "gx8"}, f"query.json:/kind: an answer of kind {kind}")
        self.refused({"kind": "p2p", "platform": "leonardo", "src": "node0/gpu0", "dst": "node9/gpu0", "size_B": 8, "noise": 1},
                     "query.json:/noise: ")
        self.refused({"kind": "p2p", "platform": "gx8", "src": "gpu0", "dst": "gpu99", "size_B": 8}, "gpu99")
        self.refused({"kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": 16, "gpus_per_node": 4, "size_B": MIB,
                      "engine": "direct"}, "steps, and 2000 can be exported")
        self.refused({"kind": "collective", "platform": "leonardo", "op": "alltoall", "nodes": 16, "gpus_per_node": 4, "size_B": MIB,
                      "engine": "reduced"}, "no plan of flows")


if __name__ == "__main__":
    main()
