#!/usr/bin/env python3
"""The service against slow senders, requests without end, impossible questions, clients that go, and strangers."""
import http.client
import json
import os
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest
import zlib
from pathlib import Path

import service
from service import Service

PLACE = {"platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 3}
# Of so many events that no machine plays them in the deadlines here, and so few that the usual limits allow it.
LONG = {"kind": "replay", "platform": "v100-dgx1", "trace": "data_parallel", "options": {"ranks": 8, "steps": 8000}}
TOKEN = "0123456789abcdef0123456789abcdef"


def raw(port: int, text: bytes, wait_s: float = 30) -> tuple[bytes, float]:
    """What comes back until the connection ends, and how long that took."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=wait_s) as connection:
        connection.sendall(text)
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
    return answer, time.monotonic() - begin


class Deadlines(unittest.TestCase):
    def test_impossible_requests_are_refused_at_once(self):
        impossible = [{**LONG, "options": {"ranks": 8, "steps": 10**9}}, {**LONG, "options": {"ranks": 10**9}}, {**LONG, "repeat": 10**9},
                      {**LONG, "trace": "transformer", "options": {"layers": 100000, "steps": 100000}}]
        with Service("--platform", "v100-dgx1") as server:
            for query in impossible:
                begin = time.monotonic()
                status, answer = server.post("/v1/query", query)
                self.assertEqual(status, 400, answer)
                self.assertRegex(answer["error"], "more than (the limit|1000000 ranks)")
                self.assertLess(time.monotonic() - begin, 5)

    def test_estimate_above_the_deadline(self):
        with Service("--platform", "v100-dgx1", "--deadline", "2s") as server:
            status, answer = server.post("/v1/query", LONG)
            self.assertEqual(status, 400)
            self.assertIn("left for this request", answer["error"])

    def test_a_slow_question_ends_at_its_deadline_and_holds_up_nobody(self):
        slow = {"kind": "place", "platform": "v100-dgx1", "job": "transformer", "options": {"tp": 4, "layers": 2000, "steps": 1}, "ranks": 4}
        with Service("--platform", "v100-dgx1", "--deadline", "3s", "--workers", "2") as server:
            found = []
            one = threading.Thread(target=lambda: found.append((server.post("/v1/query", slow), time.monotonic())))
            begin = time.monotonic()
            one.start()
            times = []
            for _ in range(20):
                asked = time.monotonic()
                self.assertEqual(server.post("/v1/place", PLACE)[0], 200)
                times.append(time.monotonic() - asked)
            one.join()
            (status, answer), ended = found[0]
            self.assertIn(status, (400, 504), answer)
            self.assertLess(ended - begin, 6)
            self.assertLess(sorted(times)[10], 1)
            self.assertEqual(server.post("/v1/place", PLACE)[0], 200)

    def test_a_client_that_goes_frees_its_worker(self):
        with Service("--platform", "v100-dgx1", "--deadline", "300s", "--workers", "1") as server:
            body = json.dumps(LONG).encode()
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                time.sleep(1)
            begin = time.monotonic()
            self.assertEqual(server.post("/v1/place", PLACE)[0], 200)
            self.assertLess(time.monotonic() - begin, 4)


def places(schema: dict, path=()):
    """Where the schema lets a request have a key: ("with", 0, "job"), ..."""
    for key, row in schema.get("properties", {}).items():
        yield (*path, key)
        yield from places(row, (*path, key))
        yield from places(row.get("items", {}), (*path, key, 0))


def put(query, path, value):
    """The query with a value at that place; levels that are missing are added."""
    if not path:
        return value
    if isinstance(path[0], int):
        return [put(query[0] if isinstance(query, list) and query else {}, path[1:], value)]
    query = dict(query) if isinstance(query, dict) else {}
    return {**query, path[0]: put(query.get(path[0]), path[1:], value)}


def cpu_s(server: Service) -> float:
    """What the service has worked: seconds that do not depend on what else the machine does."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # proc(5): utime and stime


class Ends(unittest.TestCase):
    """A request past its deadline frees its worker at once, whatever it was at."""

    def test_long_requests_end_at_their_deadline(self):
        # each works longer than its deadline on any machine: 20, 7 and 2 s of a core here
        place = {"kind": "place", "platform": "alps", "nodes": 2000, "job": "all_reduce:64MiB", "ranks": 4000}
        trivial = {"kind": "p2p", "platform": "v100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 1000000}
        for deadline, queries in (("2s", (place, {**place, "job": "alltoall:64MiB"})), ("300ms", ({"kind": "fabric", "platform": "summit"},))):
            with Service("--platform", "alps", "--platform", "summit", "--platform", "v100-dgx1", "--deadline", deadline, "--workers", "1") as server:
                for query in queries:
                    server.post("/v1/query", trivial)
                    begin = time.monotonic()
                    status, answer = server.post("/v1/query", query)
                    self.assertEqual(status, 504, answer)
                    self.assertLess(time.monotonic() - begin, 8)
                    before_s = cpu_s(server)
                    while server.post("/v1/query", trivial)[0] != 200:  # waits for the one worker
                        self.assertLess(time.monotonic() - begin, 20)
                    self.assertLess(cpu_s(server) - before_s, 1, query)

    def test_what_is_prepared_while_idle_holds_up_no_question(self):
        question = {"kind": "p2p", "platform": "v100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 1000000}
        for workers in ("1", "2"):
            with Service("--platform", "gb200-nvl72", "--platform", "v100-dgx1", "--workers", workers) as server:
                time.sleep(0.3)  # it has begun with the first one: seconds of a core
                before_s = cpu_s(server)
                self.assertEqual(server.post("/v1/query", question)[0], 200)
                self.assertLess(cpu_s(server) - before_s, 1, workers)


    def test_not_ready_while_no_thread_is_free(self):
        slow = {"kind": "place", "platform": "alps", "nodes": 2000, "job": "all_reduce:64MiB", "ranks": 4000}  # 20 s of a core here
        with Service("--platform", "alps", "--platform", "v100-dgx1", "--deadline", "6s", "--workers", "2") as server:
            self.assertEqual(server.ask("GET", "/readyz")[0], 200)
            askers = [threading.Thread(target=lambda: server.post("/v1/query", slow)) for _ in range(2)]
            for asker in askers:
                asker.start()
            found = []
            while any(asker.is_alive() for asker in askers):
                found.append(server.ask("GET", "/readyz")[0])
                time.sleep(0.2)
            self.assertEqual(found[0], 200, found)  # not for what is short
            self.assertIn(503, found)
            self.assertEqual(server.post("/v1/place", PLACE)[0], 200)
            self.assertEqual(server.ask("GET", "/readyz")[0], 200)


class Files(unittest.TestCase):
    """No key of any kind opens a file: one that is there, a pipe that nobody writes to and one that is missing are answered alike."""

    def test_no_key_names_a_file(self):
        schemas = json.loads(subprocess.run([service.PROGRAM, "schema"], capture_output=True, text=True, check=True).stdout)["$defs"]
        with tempfile.TemporaryDirectory() as folder, Service("--workers", "2", "--deadline", "3s") as server:
            names = [os.path.join(folder, name) for name in ("file", "pipe", "none")]
            Path(names[0]).write_text('<system version="1"><cpu numaid="0"/></system>', encoding="ascii")
            os.mkfifo(names[1])
            requests = 0
            for kind in [name for name in schemas if name.endswith("_query")]:
                example = schemas[kind]["examples"][0]
                for path in places(schemas[kind]):
                    for make in (lambda name: name, lambda name: [name], lambda name: {"trace": name}):
                        begin = time.monotonic()
                        found = [server.post("/v1/query", put(example, path, make(name))) for name in names]
                        self.assertLess(time.monotonic() - begin, 3, (kind, path))
                        texts = {json.dumps(answer["error"] if "error" in answer else answer.get("time_s")).replace(name, "FILE") for (_, answer), name in zip(found, names)}
                        self.assertEqual(len(texts), 1, (kind, path, texts))
                        self.assertIn(found[0][0], (200, 400), (kind, path, found))
                        self.assertNotIn("may name a file", str(found), "the key's row does not say Files")
                        requests += 1
            self.assertGreater(requests, 300)

    def test_what_names_files_says_so(self):
        ring = {"kind": "rings", "platform": "v100-dgx1", "gpus": [0, 1], "library_topology": "/etc/hostname"}
        other = {"kind": "replay", "platform": "v100-dgx1", "trace": "data_parallel", "also": [{"trace": "/etc/hostname"}]}
        with Service("--platform", "v100-dgx1") as server:
            self.assertEqual(server.post("/v1/query", ring), (400, {"error": "query:/library_topology: names a file, and files are not read here"}))
            status, answer = server.post("/v1/query", other)
            self.assertEqual((status, "/also/0/trace" in answer["error"], "files are not read here" in answer["error"]), (400, True, True), answer)
            for path, body in (("/v1/place", {**PLACE, "job": "/etc/hostname"}), ("/v1/nodes/a", {"platform": "v100-dgx1", "with": [{"job": "/etc/hostname", "gpus": [0, 1]}]})):
                status, answer = server.post(path, body)
                self.assertEqual((status, "files are not read here" in answer["error"]), (400, True), answer)


class SlowClients:
    """Connections of four kinds in turn."""
    SENT = (b"", b"GET /healthz HT", b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
            b"GET /v1/schema HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)

    def __init__(self, port: int, count: int):
        self.port, self.ending = port, False
        self.clients = [self.new(i) for i in range(count)]

    def new(self, i: int) -> socket.socket:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(5)
        client.connect(("127.0.0.1", self.port))
        client.setblocking(False)
        try:
            client.send(self.SENT[i % 4])
        except BlockingIOError:
            pass
        return client

    def drip(self):
        while not self.ending:
            time.sleep(0.1)
            for i, client in enumerate(self.clients):
                try:
                    if i % 4 == 3:
                        client.send(self.SENT[3])
                        continue
                    if i % 4 > 0:
                        client.send(b" ")
                    if client.recv(4096):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                client.close()
                self.clients[i] = self.new(i)

    def end(self):
        for client in self.clients:
            client.close()


class Senders(unittest.TestCase):
    def test_a_form_is_refused_and_ends_its_connection(self):
        body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
        head = b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n" % len(body)
        with Service("--platform", "v100-dgx1") as server:
            answer, took = raw(server.port, head + body + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 415"), answer)
            self.assertEqual(answer.count(b"HTTP/1.1"), 1, answer)
            self.assertNotIn(b"EXCEPTION", answer)
            self.assertLess(took, 4)
            self.assertEqual(server.post("/v1/place", PLACE)[0], 200)

    def test_a_compressed_body_is_refused_before_it_is_unpacked(self):
        packed = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(packed.compress(bytes(2**20)) for _ in range(900)) + packed.flush()
        self.assertLess(len(bomb), 2**20)
        with Service("--platform", "v100-dgx1") as server:
            for encoding, body in (("gzip", bomb), ("br", b"\x0b\x02\x80" + json.dumps(PLACE).encode() + b"\x03"), ("deflate", b"x"), ("identity, gzip", bomb)):
                head = f"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                answer, took = raw(server.port, head + body)
                self.assertTrue(answer.startswith(b"HTTP/1.1 415"), answer)
                self.assertIn(b"without Content-Encoding", answer)
                self.assertLess(took, 4)
            self.assertEqual(server.ask("POST", "/v1/place", PLACE, {"Content-Encoding": "identity"})[0], 200)
            self.assertIn('route="/v1/place",status="415"} 4', server.ask("GET", "/metrics")[1])

    def test_a_body_without_a_length(self):
        with Service("--platform", "v100-dgx1") as server:
            for sent in (b"", b"{}"):
                answer, took = raw(server.port, b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\n\r\n" + sent)
                self.assertTrue(answer.startswith(b"HTTP/1.1 411"), answer)
                self.assertIn(b"Content-Length", answer)
                self.assertLess(took, 4)
            answer, _ = raw(server.port, b"DELETE /v1/nodes/none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 404"), answer)  # no such node; it needs no body
            answer, _ = raw(server.port, b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 400"), answer)

    def test_the_token_comes_before_the_body(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "token")
            Path(path).write_text(TOKEN + "\n", encoding="ascii")
            with Service("--platform", "v100-dgx1", "--token-file", path) as server:
                head = b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
                answer, took = raw(server.port, head + b"\r\n")  # nothing of the body is sent
                self.assertTrue(answer.startswith(b"HTTP/1.1 401"), answer)
                self.assertLess(took, 4)
                answer, took = raw(server.port, head + b"\r\n" + b" " * 1000000)
                self.assertTrue(answer.startswith(b"HTTP/1.1 401"), answer)
                self.assertEqual(answer.count(b"HTTP/1.1"), 1, answer)

    def test_a_body_of_get_is_no_request(self):
        inner = b'POST /v1/nodes/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 38\r\n\r\n{"platform":"v100-dgx1","busy":[0,1]} '
        with Service("--platform", "v100-dgx1") as server:
            answer, _ = raw(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(inner), inner))
            self.assertEqual(answer.count(b"HTTP/1.1"), 1, answer)
            self.assertEqual(server.ask("GET", "/v1/nodes"), (200, {}))

    def test_a_request_whose_end_is_ambiguous_is_the_last_one(self):
        """A request that a proxy may see end elsewhere is refused, counted and logged; so is what is no request at all."""
        after = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        heads = {"two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n", "two alike": b"Content-Length: 2\r\nContent-Length: 2\r\n",
                 "length and chunks": b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "a list": b"Content-Length: 2, 2\r\n",
                 "signed": b"Content-Length: +2\r\n", "hidden chunks": b"Transfer-Encoding: identity, chunked\r\n",
                 "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "requests.jsonl")
            with Service("--platform", "v100-dgx1", "--log", log) as server:
                for name, head in heads.items():
                    for method in (b"POST /v1/query", b"GET /healthz"):
                        answer, took = raw(server.port, method + b" HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n{}" + after)
                        self.assertTrue(answer.startswith(b"HTTP/1.1 400"), (name, answer))
                        self.assertEqual(answer.count(b"HTTP/1.1"), 1, (name, answer))
                        self.assertLess(took, 4, name)
                wrong = {400: b"GARBAGE\r\n\r\n", 414: b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                         416: b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nRange: bytes=z\r\n\r\n"}
                for status, text in wrong.items():
                    answer, _ = raw(server.port, text + after)
                    self.assertTrue(answer.startswith(b"HTTP/1.1 %d" % status), answer)
                    self.assertEqual(answer.count(b"HTTP/1.1"), 1, answer)
                counted = server.ask("GET", "/metrics")[1]
                for row in ('route="/v1/query",status="400"} 7', 'route="/healthz",status="400"} 7', 'route="other",status="400"} 1',
                            'route="other",status="414"} 1', 'route="/healthz",status="416"} 1'):
                    self.assertIn(row, counted)
            logged = [json.loads(line)["status"] for line in Path(log).read_text(encoding="utf-8").splitlines()]
            self.assertEqual([logged.count(status) for status in (400, 414, 416)], [15, 1, 1])

    def test_ranges_are_whole_answers(self):
        """A thousand ranges of an answer would be a thousand answers."""
        with Service("--platform", "v100-dgx1") as server:
            whole = server.ask("GET", "/v1/platforms")
            for ranges in ("bytes=0-0", "bytes=0-,0-,0-", "bytes=" + "0-," * 2000 + "0-"):
                self.assertEqual(server.ask("GET", "/v1/platforms", headers={"Range": ranges}), whole)
                self.assertEqual(server.ask("POST", "/v1/place", PLACE, {"Range": ranges})[0], 200)

    def test_slow_head_and_slow_body_end_their_connections_alone(self):
        with Service("--platform", "v100-dgx1") as server:
            slow = [b"GET /healthz HT", b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"]
            ends: list[float] = []

            def drip(text: bytes):
                begin = time.monotonic()
                with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
                    connection.sendall(text)
                    try:
                        while time.monotonic() - begin < 25:
                            connection.sendall(b" ")
                            time.sleep(0.5)
                            connection.setblocking(False)
                            try:
                                if connection.recv(4096) == b"":
                                    break
                            except BlockingIOError:
                                pass
                            finally:
                                connection.setblocking(True)
                    except OSError:
                        pass
                ends.append(time.monotonic() - begin)

            clients = [threading.Thread(target=drip, args=(text,)) for text in slow * 20]
            for client in clients:
                client.start()
            time.sleep(1)
            begin = time.monotonic()
            self.assertEqual(server.ask("GET", "/healthz")[0], 200)
            self.assertEqual(server.post("/v1/place", PLACE)[0], 200)
            self.assertLess(time.monotonic() - begin, 2)
            for client in clients:
                client.join()
            self.assertLess(max(ends), 20)

    def test_slow_clients_are_left_their_time_while_threads_are_free(self):
        with Service("--platform", "v100-dgx1") as server:
            slow = SlowClients(server.port, 40)
            time.sleep(1)  # more than a connection has while others wait
            for client in slow.clients[1::4]:  # half a head
                client.settimeout(5)
                client.sendall(b"TP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200"))
            slow.end()

    def test_slow_clients_keep_nobody_waiting(self):
        """128 that send nothing, a byte now and then or never read, and come again when they are cut off."""
        with Service("--platform", "v100-dgx1") as server:
            slow = SlowClients(server.port, 128)
            thread = threading.Thread(target=slow.drip)
            thread.start()
            time.sleep(1)
            times = []
            for _ in range(10):
                begin = time.monotonic()
                self.assertEqual(server.ask("GET", "/healthz")[0], 200)
                self.assertEqual(server.post("/v1/place", PLACE)[0], 200)
                times.append((time.monotonic() - begin) / 2)
                if times[-1] > 2:
                    break
            slow.ending = True
            thread.join()
            slow.end()
            self.assertLess(sorted(times)[len(times) // 2], 1, times)
            self.assertLess(max(times), 2, times)

    def test_a_head_without_end(self):
        with Service("--platform", "v100-dgx1") as server:
            head = b"GET /healthz HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000) for i in range(20000))
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection, self.assertRaises(OSError):
                for at in range(0, len(head), 65536):
                    connection.sendall(head[at:at + 65536])
                while connection.recv(65536):
                    pass
                raise OSError("ended")
            memory_kB = int(Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0])
            self.assertLess(memory_kB, 200000)
            self.assertEqual(server.ask("GET", "/healthz")[0], 200)

    def test_two_requests_at_once_and_what_is_no_request(self):
        with Service("--platform", "v100-dgx1") as server:
            answer, _ = raw(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertEqual(answer.count(b"200 OK"), 2)
            self.assertIn(b"400", raw(server.port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")[0][:20])


class Strangers(unittest.TestCase):
    def test_other_machines_need_a_token(self):
        for host in ("0.0.0.0", "::"):
            found = subprocess.run([service.PROGRAM, "serve", "--port", "0", "--host", host], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(found.returncode, 2)
            self.assertIn("--token-file is needed", found.stderr)

    def test_token(self):
        with tempfile.TemporaryDirectory() as folder:
            path, log = os.path.join(folder, "token"), os.path.join(folder, "requests.jsonl")
            with open(path, "w", encoding="ascii") as file:
                file.write(TOKEN + "\n")
            with Service("--platform", "v100-dgx1", "--token-file", path, "--log", log) as server:
                self.assertEqual(server.ask("GET", "/healthz")[0], 200)
                self.assertEqual(server.ask("GET", "/readyz")[0], 200)
                for wrong in ({}, {"Authorization": "Bearer " + TOKEN[:-1]}, {"Authorization": "Bearer " + TOKEN + "0"}, {"Authorization": TOKEN}):
                    self.assertEqual(server.ask("GET", "/v1/nodes", headers=wrong)[0], 401)
                    self.assertEqual(server.ask("GET", "/metrics", headers=wrong)[0], 401)
                for scheme in ("Bearer ", "bearer "):
                    self.assertEqual(server.ask("GET", "/v1/nodes", headers={"Authorization": scheme + TOKEN}), (200, {}))
            text = Path(log).read_text(encoding="utf-8")
            lines = [json.loads(line) for line in text.splitlines()]
            self.assertEqual([line["status"] for line in lines], [200, 200] + [401] * 8 + [200] * 2)
            self.assertNotIn(TOKEN, text)
            with open(path, "w", encoding="ascii") as file:
                file.write("short\n")
            found = subprocess.run([service.PROGRAM, "serve", "--port", "0", "--token-file", path], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(found.returncode, 2)

    def test_a_socket_for_its_owner(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            for killed in (True, False):  # the second one takes over what the first one left
                process = subprocess.Popen([service.PROGRAM, "serve", "--socket", path, "--platform", "v100-dgx1"], stdout=subprocess.PIPE, text=True)
                self.assertEqual(process.stdout.readline(), f"listening on {path}\n")
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
                connection = http.client.HTTPConnection("localhost")
                connection.sock = socket.socket(socket.AF_UNIX)
                connection.sock.connect(path)
                connection.request("POST", "/v1/place", json.dumps(PLACE))
                self.assertEqual(connection.getresponse().status, 200)
                connection.close()
                twice = subprocess.run([service.PROGRAM, "serve", "--socket", path], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((twice.returncode, "in use" in twice.stderr), (2, True), twice.stderr)
                if killed:
                    process.kill()
                else:
                    process.terminate()
                process.wait(timeout=60)
                process.stdout.close()
            self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    service.main()
