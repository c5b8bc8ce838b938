#!/usr/bin/env python3
"""Free GPUs as `scontrol show nodes --json` prints them, in the forms that versions 0.0.38 to 0.0.43 have."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import service
from service import Service, batch

JOB = ("--job", "all_reduce:64MiB")


def meta(version: int) -> dict:
    """Where each version says what it is."""
    if version <= 38:
        return {"plugin": {"type": f"openapi/v0.0.{version}", "name": f"Slurm OpenAPI v0.0.{version}"},
                "Slurm": {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}}
    if version == 39:
        return {"plugin": {"type": "openapi/v0.0.39", "name": "Slurm OpenAPI v0.0.39", "data_parser": "v0.0.39"}}
    return {"plugin": {"type": "", "name": "", "data_parser": f"data_parser/v0.0.{version}", "accounting_storage": ""},
            "client": {"source": "/dev/pts/0", "user": "root"}, "command": [], "slurm": {"release": "24.05.1", "cluster": "c"}}


def node(version: int, name: str, used: str = "", gres: str = "gpu:v100:8(S:0-1)", state=("IDLE",), features=()) -> dict:
    count = sum(1 for part in used.split(",") for _ in (range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1) if part else ()))
    record = {"name": name, "hostname": name, "gres": gres, "gres_drained": "N/A", "cpus": 96, "owner": "" if version > 38 else None,
              "gres_used": f"gpu:v100:{count}(IDX:{used or 'N/A'})"}
    if version <= 38:
        return {**record, "state": state[0].lower(), "state_flags": list(state[1:]), "features": ",".join(features)}
    last = {"set": True, "infinite": False, "number": 1700000000}
    return {**record, "state": list(state), "features": list(features), "last_busy": last}


def printed(version: int, *nodes: dict) -> dict:
    return {"meta": meta(version), "nodes": list(nodes), "errors": [], "warnings": [], "last_update": {"number": 1}}


class Nodes(unittest.TestCase):
    def place(self, record, *options, code=0, ranks="4"):
        text = record if isinstance(record, str) else json.dumps(record)
        done = subprocess.run([service.PROGRAM, "place", "--platform", "v100-dgx1", *JOB, "--ranks", ranks, "--free", "-", "--json",
                               *options], input=text, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def refused(self, part, record, *options):
        said = self.place(record, *options, code=2)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(part, said)

    def test_every_version_says_the_same(self):
        best = batch({"kind": "place", "platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4, "busy": [0, 1, 2]})
        worse = batch({"kind": "place", "platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4, "busy": [0, 4]})
        self.assertLess(best["time_s"], worse["time_s"])
        for version in range(38, 44):
            with self.subTest(version=version):
                answer = self.place(printed(version, node(version, "a", "0,4", state=("MIXED",)), node(version, "b", "0-2"),
                                            node(version, "c", "1-7"), node(version, "d", state=("IDLE", "DRAIN")),
                                            node(version, "e", features=("x", "linkcast=p100-dgx1")),
                                            node(version, "f", gres="gpu:v100:4", used="")))
                self.assertEqual((answer["node"], answer["gpus"], answer["time_s"]), ("b", best["gpus"], best["time_s"]))
                self.assertEqual(answer["candidates"], [
                    {"node": "a", "time_s": worse["time_s"]}, {"node": "b", "time_s": best["time_s"]},
                    {"node": "c", "refused": "1 GPUs are free"}, {"node": "d", "refused": "its state is DRAIN"},
                    {"node": "e", "refused": "it is a p100-dgx1, not a v100-dgx1"},
                    {"node": "f", "refused": "it has 4 GPUs, a v100-dgx1 has 8"}])

    def test_gres_in_all_shapes(self):
        def gpus(gres, used):
            return self.place(printed(40, {"name": "a", "gres": gres, "gres_used": used, "state": ["MIXED"]}), ranks="1")["placements"]
        for gres, used, free in (("gpu:8", "gpu:0", 8), ("gpu:8(S:0-1),nic:2", "gpu:3(IDX:0,2-3),nic:1(IDX:0)", 5),
                                 ("gpu:v100:4(S:0),gpu:v100x:4(S:1)", "gpu:v100:1(IDX:0),gpu:v100x:2(IDX:4-5)", 5),
                                 (",".join(f"gpu:g{i}:1" for i in range(8)), "gpu:g3:1(IDX:3),gpu:g4:0(IDX:N/A)", 7)):
            self.assertEqual(len(gpus(gres, used)), free, gres)

    def test_what_is_refused(self):
        good = node(40, "a")
        for change, part in (({"gres_used": "gpu:v100:2"}, "says that 2 GPUs are in use, and not by (IDX:...) which"),
                             ({"gres_used": "gpu:v100:2(IDX:7-8)"}, "GPU 8 of 8"), ({"gres_used": "gpu:v100:2(IDX:x)"}, "'x' is not like 0,2-3"),
                             ({"gres_used": "gpu:v100:-2"}, "is not like gpu:v100:8"), ({"gres": 8}, "/nodes/0/gres: must be"),
                             ({"state": []}, "/nodes/0/state: is missing"), ({"name": 3}, "/nodes/0/name"),
                             ({"features": ["linkcast=a", "linkcast=b"]}, "two of them begin with linkcast=")):
            self.refused(part, printed(40, {**good, **change}))
        self.refused("/nodes/0/gres_used: is missing", printed(40, {key: value for key, value in good.items() if key != "gres_used"}))
        self.refused("/nodes/1/name: 'a' is there twice", printed(40, good, good))
        self.refused("version 0.0.37 is older than 0.0.38", printed(37, node(37, "a")))
        self.refused("says no version", {"nodes": [good]})
        self.refused("says no version", {"meta": {"plugin": {}}, "nodes": [good]})
        self.refused("write 'scontrol show nodes --json'", {"meta": meta(41), "sinfo": []})
        self.refused("/nodes: is missing", {"meta": meta(41), "jobs": []})
        self.refused("has no node", printed(41))
        self.refused("Slurm reports an error: \"down\"", {**printed(41), "errors": [{"description": "down"}]})
        self.refused("not JSON", "NodeName=n1 Arch=x86_64")
        self.refused("none has 4 GPUs free: a: its state is DOWN", printed(40, node(40, "a", state=("DOWN",))))
        self.refused("a: its GPUs are shared by shard", printed(40, {**good, "gres_used": "gpu:v100:0(IDX:N/A),shard:4(0/8)"}))
        self.refused("excludes --", printed(40, good), "--busy", "0")

    def test_a_newer_version_is_read_and_said(self):
        self.assertIn("newer than 0.0.43", " ".join(self.place(printed(57, node(57, "a")))["warnings"]))


class Served(unittest.TestCase):
    def test_the_file_is_read_again_when_it_changes_and_posted_states_come_first(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "nodes.json")

            def write(*nodes):
                with open(file + ".new", "w", encoding="utf-8") as out:
                    json.dump(printed(40, *nodes), out)
                os.replace(file + ".new", file)

            v100 = ("linkcast=v100-dgx1",)
            write(node(40, "a", features=v100), node(40, "b", "0-4", features=v100), node(40, "c"), node(40, "d", features=("linkcast=dgx2",)))
            job = {"comment": "linkcast:job=all_reduce:64MiB", "tres_per_node": "gres/gpu:4"}
            with Service("--platform", "v100-dgx1", "--free", file) as server:
                status, rows = server.ask("GET", "/v1/slurm/nodes")
                self.assertEqual((status, [sorted(row) for row in rows]), (200, [["busy", "node", "platform"]] * 2 + [["node", "refused"]] * 2))
                self.assertIn("not served", rows[3]["refused"])
                self.assertEqual(server.post("/v1/slurm/place", job)[1]["node"], "a")
                time.sleep(0.01)
                write(node(40, "a", "0-6", features=v100), node(40, "b", "0-3", features=v100))
                self.assertEqual(server.post("/v1/slurm/place", job)[1]["node"], "b")
                self.assertIn("GPUs free", server.post("/v1/slurm/place", {**job, "nodes": "a,x[1-2]"})[1]["waits"])
                server.post("/v1/nodes/a", {"platform": "v100-dgx1", "busy": []})
                self.assertEqual(server.post("/v1/slurm/place", {**job, "nodes": ["a"]})[1]["node"], "a")
                for wrong in ({**job, "comment": "linkcast:job=README.md"}, {**job, "nodes": "a["}, {**job, "comment": "x"},
                              {**job, "nodes": [{"name": "z", "platform": "p100-dgx1"}]}):
                    status, answer = server.post("/v1/slurm/place", wrong)
                    self.assertEqual(status, 400, answer)
                os.remove(file)
                self.assertEqual(server.post("/v1/slurm/place", job)[0], 503)

    def test_a_file_that_cannot_be_read_at_the_start(self):
        with self.assertRaisesRegex(RuntimeError, "no such file"):
            Service("--platform", "v100-dgx1", "--free", "none.json")


if __name__ == "__main__":
    service.main()
