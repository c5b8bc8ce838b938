"""Starts the real program for a test and talks HTTP to it."""
import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

PROGRAM = "build/linkcast"


class Service:
    """linkcast serve on a free port, or a given one."""

    def __init__(self, *options: str, port: int = 0):
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", str(port), *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on http://127.0.0.1:"):
            raise RuntimeError(f"said '{line}' and '{self.process.stderr.read()}'")
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, method: str, path: str, body=None, headers=None):
        """Status and answer; the body may be text or what becomes JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        text = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, text, {"Connection": "close", **(headers or {})})
        response = connection.getresponse()
        answer = response.read().decode()
        connection.close()
        return response.status, json.loads(answer) if response.getheader("Content-Type") == "application/json" else answer

    def post(self, path: str, body):
        return self.ask("POST", path, body)

    def end(self, which=signal.SIGTERM) -> int:
        self.process.send_signal(which)
        return self.process.wait(timeout=60)


class Served(unittest.TestCase):
    """Tests of one service, which ends well after the last."""
    OPTIONS: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Service(*cls.OPTIONS)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.end() == 0
        cls.server.__exit__()


def batch(query: dict) -> dict:
    """The answer of the command line to the same query."""
    run = subprocess.run([PROGRAM, "predict", "--batch", "/dev/stdin"], input=json.dumps(query) + "\n",
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main() -> None:
    global PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=PROGRAM)
    args, rest = parser.parse_known_args()
    sys.modules["service"].PROGRAM = PROGRAM = args.program
    unittest.main(module="__main__", argv=[sys.argv[0], *rest])
