#!/usr/bin/env python3
"""Logs sent to the service: what `linkcast diagnose` says of the same file, and nothing of other files."""
import json
import subprocess
import unittest
from pathlib import Path

import service
from service import Served

LOG = Path("tests/input/pasted/rtx-4090-4.txt")
FAULTY = Path("tests/input/import/p2p-p100-cuda8.txt")


class Logs(Served):
    OPTIONS = ("--platform", "rtx-4090", "--platform", "p100-dgx1", "--deadline", "100s")

    def sent(self, **body):
        return self.server.post("/v1/diagnose", body)

    def test_answers_of_the_command_line(self):
        for path, platform, edits in ((LOG, "rtx-4090", []), (FAULTY, "p100-dgx1", ["scale gpu0-gpu1:2"])):
            with self.subTest(path):
                words = [service.PROGRAM, "diagnose", "--platform", platform, str(path)]
                for edit in edits:
                    words += ["--edit", edit]
                said = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
                text = subprocess.run(words, capture_output=True, text=True, check=False)
                self.assertIn(said.returncode, (0, 4, 5), said.stderr)
                status, answer = self.sent(platform=platform, log=path.read_text(), edits=edits)
                self.assertEqual(status, 200, answer)
                self.assertEqual(answer.pop("text").replace("log against", f"{path} against"), text.stdout)
                expected = json.loads(said.stdout)
                for file in expected["files"]:
                    self.assertEqual(file.pop("file"), str(path))
                for file in answer["files"]:
                    self.assertEqual(file.pop("file"), "log")
                self.assertEqual(answer["files"], expected["files"])

    def test_what_is_wrong_is_said_without_a_path(self):
        for body, part in (({"log": "nothing"}, "platform"), ({"platform": "rtx-4090"}, "log"),
                           ({"platform": "hgx-h100", "log": LOG.read_text()}, "not served"),
                           ({"platform": "/etc/passwd", "log": LOG.read_text()}, "not served"),
                           ({"platform": "rtx-4090", "log": LOG.read_text(), "files": ["/etc/passwd"]}, "files"),
                           ({"platform": "rtx-4090", "log": "/etc/passwd"}, "log"), ({"platform": "rtx-4090", "log": ""}, "log"),
                           ({"platform": "p100-dgx1", "log": LOG.read_text()}, "NVIDIA GeForce RTX 4090"),
                           ({"platform": "rtx-4090", "log": LOG.read_text(), "edits": ["remove gpu0-gpu9"]}, "gpu9")):
            with self.subTest(part):
                status, answer = self.sent(**body)
                self.assertEqual((status, list(answer)), (400, ["error"]), answer)
                self.assertIn(part, answer["error"])
                self.assertNotIn("/proc/", answer["error"])
                self.assertNotIn("root:", answer["error"])

    def test_logs_leave_nothing_open(self):
        files = Path(f"/proc/{self.server.process.pid}/fd")
        self.sent(platform="rtx-4090", log=LOG.read_text())
        self.sent(platform="rtx-4090", log="nothing")
        self.assertEqual([str(one) for one in files.iterdir() if "memfd:log" in str(one.resolve())], [])


if __name__ == "__main__":
    service.main()
