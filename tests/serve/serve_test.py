#!/usr/bin/env python3
"""The HTTP service: the command line's answers, every refusal, its state and its end."""
import gzip
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import service
from service import Served, Service, batch

PLACE = {"platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4, "busy": [0, 5]}


class Answers(Served):
    OPTIONS = ("--platform", "p100-dgx1", "--platform", "v100-dgx1", "--platform", "summit")

    def refused(self, status, path, body, *parts, method="POST", headers=None):
        got, answer = self.server.ask(method, path, body, headers)
        self.assertEqual(got, status, answer)
        self.assertEqual(list(answer), ["error"])
        self.assertNotIn("\n", answer["error"])
        for part in parts:
            self.assertIn(part, answer["error"])

    def test_the_same_answers_as_the_command_line_to_the_last_digit(self):
        rng = random.Random(7)
        for round_ in range(2):  # the second time from memory
            rng.seed(7)
            for _ in range(12):
                busy = sorted(rng.sample(range(8), rng.randint(0, 4)))
                query = {"kind": "place", "platform": rng.choice(["p100-dgx1", "v100-dgx1"]),
                         "job": f"{rng.choice(['all_reduce', 'broadcast', 'alltoall'])}:{rng.randint(1, 10**8)}B",
                         "ranks": rng.randint(1, 8 - len(busy)), "busy": busy}
                if query["platform"] == "p100-dgx1" and "alltoall" in query["job"]:
                    query["library"] = "nccl-2.18"  # older ones have no messages
                with self.subTest(round=round_, query=query):
                    self.assertEqual(self.server.post("/v1/place", query), (200, batch(query)))

    def test_pages_of_other_sites_are_refused(self):
        query = {"kind": "show", "platform": "summit"}
        own = f"127.0.0.1:{self.server.port}"
        for headers in ({}, {"Origin": f"http://{own}"}, {"Host": f"localhost:{self.server.port}"}, {"Host": "[::1]"}):
            self.assertEqual(self.server.ask("POST", "/v1/query", query, headers)[0], 200, headers)
        self.refused(403, "/v1/query", query, "Origin", "http://else.example", headers={"Origin": "http://else.example"})
        self.refused(403, "/v1/query", query, "Origin", headers={"Origin": "null"})
        self.refused(403, "/v1/query", query, "Host", "else.example", headers={"Host": f"else.example:{self.server.port}"})
        self.refused(403, "/v1/query", query, "Host", headers={"Host": "127.else.example"})

    def test_the_page_takes_nothing_from_elsewhere(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            connection.request("GET", path)
            reply = connection.getresponse()
            text = reply.read().decode()
            self.assertEqual((reply.status, reply.getheader("Content-Type").split(";")[0], reply.getheader("X-Content-Type-Options")), (200, kind, "nosniff"))
            self.assertNotRegex(text, r"""(src|href)=["']?(https?:)?//""")
            if path == "/":
                self.assertIn("default-src 'none'", reply.getheader("Content-Security-Policy"))
        connection.close()
        self.assertIn("collective_query", self.server.ask("GET", "/v1/schema")[1]["$defs"])

    def test_answers_are_packed_by_gzip_alone(self):
        """Brotli as the HTTP library does it takes a second for the loads of 256 GPUs."""
        query = {"kind": "collective", "platform": "v100-dgx1", "op": "all_reduce", "size_B": 2**26, "gpus": "0-7", "utilisation": True}
        expected = self.server.post("/v1/query", query)[1]
        for accepted, packed in (("gzip, deflate, br", "gzip"), ("br, gzip;q=0.5", "gzip"), ("GZIP", "gzip"), ("x-gzip;Q=0.001", "gzip"),
                                 ("br", None), ("identity", None), ("gzip;q=0", None), ("br, gzip ; q=0.000", None), ("gzipped", None)):
            with self.subTest(accepted):
                connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
                connection.request("POST", "/v1/query", json.dumps(query), {"Accept-Encoding": accepted})
                reply = connection.getresponse()
                body = reply.read()
                connection.close()
                self.assertEqual(reply.getheader("Content-Encoding"), packed)
                self.assertEqual(json.loads(gzip.decompress(body) if packed else body), expected)

    def test_neighbours_edits_and_an_id(self):
        query = {"id": "a", "kind": "place", "platform": "v100-dgx1", "job": "all_reduce:1MiB", "ranks": 2,
                 "with": [{"job": "all_reduce:64MiB", "gpus": [4, 5]}], "objective": "both",
                 "edits": ["remove gpu0-gpu4"]}
        self.assertEqual(self.server.post("/v1/place", query), (200, batch(query)))

    def test_other_queries(self):
        query = {"kind": "p2p", "platform": "summit", "src": "gpu0", "dst": "gpu4", "size_B": 4096}
        self.assertEqual(self.server.post("/v1/query", query), (200, batch(query)))

    def test_kind_may_be_left_out_where_it_is_clear(self):
        status, answer = self.server.post("/v1/place", PLACE)
        self.assertEqual((status, answer["kind"], len(answer["gpus"])), (200, "place", 4))
        self.refused(400, "/v1/query", PLACE, "/kind")
        self.refused(400, "/v1/place", {**PLACE, "kind": "p2p"}, "/kind", "must be place")

    def test_what_is_wrong_is_said_in_one_line(self):
        self.refused(400, "/v1/place", "{", "not JSON")
        self.refused(400, "/v1/place", "", "not JSON")
        self.refused(400, "/v1/place", "[1]", "must be an object")
        self.refused(400, "/v1/place", '{"platform": "v100-dgx1", "platform": "x"}', "duplicate key")
        self.refused(400, "/v1/place", {**PLACE, "ranks": 7}, "7 GPUs are asked for, and 6 of the 8")
        self.refused(400, "/v1/place", {**PLACE, "rank": 7}, "/rank")
        self.refused(400, "/v1/place", {**PLACE, "job": "all_reduce"}, "needs a size")
        self.refused(400, "/v1/place", {**PLACE, "platform": "dgx2"}, "not served", "p100-dgx1, v100-dgx1, summit")
        self.refused(400, "/v1/place", {**PLACE, "solver": "native"}, "only fluid")
        self.refused(400, "/v1/place", {**PLACE, "job": "/etc/passwd"}, "files are not read")
        self.refused(400, "/v1/place", {**PLACE, "job": {"trace": "README.md"}}, "files are not read")
        self.refused(400, "/v1/place", {**PLACE, "job": "a" * 100000}, "files are not read")
        self.refused(400, "/v1/place", b'{"platform": "\xff"}', "not JSON")

    def test_nesting_without_end_is_refused(self):
        for bomb in ("[" * 1000000, '{"a":' * 200000):
            self.refused(400, "/v1/query", bomb, "nested deeper than 100 levels")
        self.assertEqual(self.server.ask("GET", "/healthz")[0], 200)

    def test_a_body_above_a_mebibyte_is_refused(self):
        fits = json.dumps(PLACE) + " " * (2**20 - len(json.dumps(PLACE)))
        self.assertEqual(self.server.post("/v1/place", fits)[0], 200)
        self.refused(413, "/v1/place", fits + " ", "1 MiB")

    def test_a_chunked_body_has_the_same_limit(self):
        def chunks(number):
            return (b" " * 65536 for _ in range(number))
        self.refused(413, "/v1/place", chunks(17), "1 MiB")
        status, answer = self.server.ask("POST", "/v1/place", iter([json.dumps(PLACE).encode()]))
        self.assertEqual(status, 200, answer)

    def test_paths_and_methods(self):
        self.refused(404, "/v1/places", PLACE, "no such path: GET /docs lists them")
        self.refused(404, "/none", None, "no such path", method="GET")
        self.refused(405, "/v1/place", None, "takes POST", method="GET")
        self.refused(405, "/metrics", "", "takes GET")
        self.refused(405, "/v1/nodes/a", "", method="PUT")

    def test_platforms_health_and_metrics(self):
        self.assertEqual(self.server.ask("GET", "/healthz"), (200, {"status": "ok"}))
        self.assertEqual(self.server.ask("GET", "/v1/platforms")[1],
                         [{"id": "p100-dgx1", "gpus": 8}, {"id": "v100-dgx1", "gpus": 8}, {"id": "summit", "gpus": 6}])

        def counted():
            text = self.server.ask("GET", "/metrics")[1]
            values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
            return {key: float(value) for key, value in values.items()}
        route = 'route="/v1/place"'
        before = counted()
        self.server.post("/v1/place", PLACE)
        self.server.post("/v1/place", "{")
        after = counted()
        for key, grown in ((f'linkcast_requests_total{{{route},status="200"}}', 1),
                           (f'linkcast_requests_total{{{route},status="400"}}', 1),
                           (f"linkcast_request_seconds_count{{{route}}}", 2),
                           (f'linkcast_request_seconds_bucket{{{route},le="+Inf"}}', 2)):
            self.assertEqual(after[key] - before.get(key, 0), grown, key)

    def test_many_at_once_get_their_own_answers(self):
        wanted = {ranks: self.server.post("/v1/place", {**PLACE, "ranks": ranks})[1] for ranks in range(1, 7)}
        wrong = []

        def client(ranks):
            for _ in range(10):
                if self.server.post("/v1/place", {**PLACE, "ranks": ranks})[1] != wanted[ranks]:
                    wrong.append(ranks)
        threads = [threading.Thread(target=client, args=(1 + i % 6,)) for i in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_what_is_no_http_is_refused(self):
        with socket.create_connection(("127.0.0.1", self.server.port)) as raw:
            raw.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
            self.assertIn(b" 400 ", raw.recv(4096).split(b"\r\n")[0])


class State(unittest.TestCase):
    def test_killed_after_the_answer_it_loses_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "nodes.json")
            options = ("--platform", "v100-dgx1", "--state", file)
            kept = {}
            for number in range(3):
                with Service(*options) as server:
                    self.assertEqual(server.ask("GET", "/v1/nodes"), (200, kept))
                    for busy in ([], [0, "gpu3"], [1, 2, 4 + number]):
                        name = f"n{number}-{len(busy)}"
                        status, kept[name] = server.post(f"/v1/nodes/{name}", {"platform": "v100-dgx1", "busy": busy})
                        self.assertEqual(status, 200)
                    server.process.send_signal(signal.SIGKILL)
                    server.process.wait()
            self.assertEqual(kept["n0-2"], {"platform": "v100-dgx1", "busy": [0, 3]})
            with Service(*options) as server:
                self.assertEqual(server.ask("GET", "/v1/nodes/n2-3")[1]["busy"], [1, 2, 6])
                self.assertEqual(server.ask("DELETE", "/v1/nodes/n2-3")[0], 200)
                self.assertEqual(server.ask("DELETE", "/v1/nodes/n2-3")[0], 404)
                self.assertEqual(server.ask("GET", "/v1/nodes/n2-3")[0], 404)

    def test_a_state_that_cannot_be_is_refused_and_changes_nothing(self):
        with Service("--platform", "v100-dgx1") as server:
            for name, state, part in (("a", {"platform": "v100-dgx1", "busy": [8]}, "/busy/0"),
                                      ("a", {"platform": "v100-dgx1", "free": []}, "/free"),
                                      ("a", {"busy": []}, "/platform"),
                                      ("a%20b", {"platform": "v100-dgx1"}, "name"),
                                      ("a", {"platform": "v100-dgx1", "with": [{"job": "x", "gpus": [9]}]}, "/with/0")):
                status, answer = server.post(f"/v1/nodes/{name}", state)
                self.assertEqual(status, 400)
                self.assertIn(part, answer["error"])
            self.assertEqual(server.ask("GET", "/v1/nodes"), (200, {}))

    def test_a_broken_file_is_refused_at_the_start(self):
        for text, part in (("{", "not JSON"), ('{"schema": "node-states/2", "nodes": {}}', "/schema"),
                           ('{"schema": "node-states/1", "nodes": {"a": {"platform": "v100-dgx1", "busy": [9]}}}', "node a")):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                run = subprocess.run([service.PROGRAM, "serve", "--port", "0", "--platform", "v100-dgx1", "--state",
                                      file.name], capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, 2)
                self.assertIn(file.name, run.stderr)
                self.assertIn(part, run.stderr)


    def test_a_file_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            away = os.path.join(folder, "states")
            run = subprocess.run([service.PROGRAM, "serve", "--port", "0", "--state", os.path.join(away, "nodes.json")],
                                 capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 2)
            self.assertIn("--state: ", run.stderr)
            os.mkdir(away)
            with Service("--platform", "v100-dgx1", "--state", os.path.join(away, "nodes.json")) as server:
                os.rename(away, away + "-not-there")
                status, answer = server.post("/v1/nodes/a", {"platform": "v100-dgx1"})
                self.assertEqual(status, 500)
                self.assertIn("cannot be written", answer["error"])
                self.assertEqual(server.ask("GET", "/v1/nodes"), (200, {}))


class Ends(unittest.TestCase):
    def test_an_idle_connection_does_not_keep_it(self):
        with Service("--platform", "v100-dgx1") as server:
            idle = http.client.HTTPConnection("127.0.0.1", server.port)
            idle.request("GET", "/healthz")
            idle.getresponse().read()
            begin = time.monotonic()
            self.assertEqual(server.end(), 0)
            self.assertLess(time.monotonic() - begin, 20)  # 5 s on a machine that is not busy
            idle.close()

    def test_both_signals_end_it_with_0(self):
        for which in (signal.SIGTERM, signal.SIGINT):
            with Service("--platform", "v100-dgx1") as server:
                self.assertEqual(server.end(which), 0)

    def test_what_is_in_flight_is_answered(self):
        with Service("--platform", "p100-dgx1") as server:
            slow = {"platform": "p100-dgx1", "job": "broadcast:64MiB", "ranks": 6}
            answers = []
            clients = [threading.Thread(target=lambda: answers.append(server.post("/v1/place", slow)[0]))
                       for _ in range(4)]
            self.assertEqual(server.ask("GET", "/healthz")[0], 200)  # it accepts: what waits for that is not in flight
            for client in clients:
                client.start()
            time.sleep(0.3)
            self.assertEqual(server.end(), 0)
            for client in clients:
                client.join()
            self.assertEqual(answers, [200] * 4)

    def test_a_taken_port_and_a_wrong_platform(self):
        with Service("--platform", "v100-dgx1") as server:
            for options, part in ((["--port", str(server.port)], "--port: 127.0.0.1:"),
                                  (["--platform", "dgx9"], "dgx9"), (["--port", "70000"], "--port")):
                run = subprocess.run([service.PROGRAM, "serve", *options], capture_output=True, text=True, timeout=60)
                self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
                self.assertIn(part, run.stderr)

    def test_warming_can_be_interrupted(self):
        process = subprocess.Popen([service.PROGRAM, "serve", "--port", "0", "--warm", "broadcast:64MiB"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 0)
        process.stdout.close()
        process.stderr.close()


class Load(unittest.TestCase):
    def test_requests_of_the_hour_are_answered(self):
        run = subprocess.run([sys.executable, "-B", "tests/bench/serve_hold.py", "--program", service.PROGRAM, "--minutes", "0.02",
                              "--rate", "20"], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    service.main()
