"""What each target of libFuzzer begins with: samples of the tests, shipped records, examples of the schema, and all that was found before."""
from __future__ import annotations

import gzip
import json
import pickle
import re
import sqlite3
import tempfile
from pathlib import Path

import fuzz
import readers

ROOT = fuzz.ROOT
FOUND = Path(__file__).resolve().parent / "found"  # one folder a target: what once ended the program
MOST_B = 65536
RECORDS = {  # of the targets that are no reader of fuzz.py
    "discovery": ["tests/input/*discovery*.json", "calibrate/data/*/*discovery*.json"],
    "import-discovery": ["tests/input/*discovery*.json", "calibrate/data/*/*discovery*.json"],
    "launch": ["calibrate/data/*/*launch*.json"],
    "left-out": ["calibrate/data/left-out.json"],
    "nccl-choices": ["tests/input/nccl_*.json"],
    "claims": ["validate/claims/*.json"],
    "variant": ["topologies/*.json"],
    "node-groups": ["tests/input/import/topology*"],
    "job-list": ["apps-traces/jobs/*.jsonl"], "schedule": ["apps-traces/jobs/*.jsonl"],
    "graph-dump": ["tests/input/import/*.xml", "tests/input/told/*"],
    "told-topology": ["tests/input/*.xml", "tests/input/told/*", "tests/input/import/*.xml"],
    # Besides those that readers.py knows a command for: also what needs options or further files.
    "import-nccl-tests": ["tests/input/import/nccl-*.txt", "tests/input/pasted/*.txt"], "import-nvbandwidth": ["tests/input/import/nvbandwidth*"],
    "import-osu": ["tests/input/import/osu-*"], "import-p2pBandwidthLatencyTest": ["tests/input/import/p2p-*"],
    "import-nccl-xml": ["tests/input/import/*.xml"], "import-topo-m": ["tests/input/import/topo-*", "tests/input/import/nvlink-*"],
    "import-rocm-topo": ["tests/input/import/rocm-topo.json", "tests/input/import/amd-smi-topology.json"],
    "import-kineto": ["tests/input/traces/kineto-*"], "import-nccl-log": ["tests/input/traces/nccl-log-*"], "import-simgrid-ti": ["tests/input/traces/ti*.txt"],
    "import-flight-recorder": ["tests/input/traces/flight-recorder*"],
    "diagnose": ["tests/input/import/nccl-*.txt", "tests/input/import/nvb*", "tests/input/import/p2p*", "tests/input/import/osu*"],
    "json": ["tests/input/*.json"],
}
WORDS = ("64MiB", "1.5 GB/s", "20 us", "2h", "n[1-4,07-10]", "rack[0-1]n[0-3]", "0-3,gpu5", "gpu0-gpu3", "GPU-01234567", "0000:1b:00.0", "NVIDIA H100 80GB HBM3",
         "none", "1e30 B")
EDITS = ("disable nvlink", "remove gpu0-gpu4", "add gpu0-gpu1:nvlink4:2", "slow gpu3:1.2", "set kind=nvlink2:bandwidth=50GB/s", "scale nvlink4:2", "flaky gpu0-gpu1:10ms:1s",
         "swap gpu0-gpu1:nvlink4:2", "fabric dragonfly:groups=4,routers=4", "fabric torus:dimensions=4x4", "fabric fat_tree:levels=2", "network efa:nodes=64", "nics 2",
         "oversubscription 2", "network tcp:bandwidth=12.5GB/s")


def _texts(name: str) -> list[bytes]:
    """Constants of C++ tests: `constexpr const char* std::string kChakra = ...`."""
    source = (ROOT / "tests/unit/their_traces_test.cpp").read_text()
    found = []
    for body in re.findall(name + r"\w* =\s*(R\"\(.*?\)\"|\"[^;]*?\");", source, re.S):
        text = body[3:-2] if body.startswith('R"(') else "".join(re.findall(r'"([^"]*)"', body))
        digits = text.replace(" ", "").replace("\n", "")
        found.append(bytes.fromhex(digits) if re.fullmatch("[0-9a-fA-F]+", digits) and len(digits) % 2 == 0 else text.encode())
    return found


def _database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nsys.sqlite"
        connection = sqlite3.connect(path)
        connection.executescript((readers.TRACES / "nsys.sql").read_text())
        connection.commit()
        connection.close()
        return path.read_bytes()


def _requests(queries: list[bytes]) -> list[bytes]:
    with_length = [b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(query), query) for query in queries[:4]]
    chunked = b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n"
    gets = [b"GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n" % path
            for path in (b"/metrics", b"/healthz", b"/v1/nodes", b"/v1/platforms?x=1", b"/v1/nodes/a%20b")]
    multipart = (b"POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 60\r\nExpect: 100-continue\r\n\r\n"
                 b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n")
    return [*with_length, chunked, *gets, multipart, gets[0] + gets[1], b"DELETE /v1/nodes/a HTTP/1.0\r\n\r\n"]


def _made(name: str, queries: list[bytes]) -> list[bytes]:
    if name in ("query", "whatif"):
        return queries
    if name == "http-body":
        other = [json.dumps(fuzz.Http.POD).encode(), json.dumps(fuzz.Http.NODE).encode()]
        return [bytes([number]) + body for number in range(8) for body in [*other, *queries[:10]]]
    made = {"http-connection": lambda: _requests(queries), "words": lambda: [word.encode() for word in (*WORDS, *EDITS)],
            "edit": lambda: [edit.encode() for edit in EDITS], "import-chakra": lambda: _texts("kChakra"), "import-nsys": lambda: [_database()],
            "slurm-job": lambda: [b'{"job_id": 71, "num_tasks": 4, "tres_per_node": "gres/gpu:4", "comment": "linkcast:job=all_reduce:64MiB", '
                                  b'"nodes": [{"name": "n1", "platform": "v100-dgx1", "gpus_busy": [0, 1]}, "n[2-4]"]}'],
            "slurm-nodes": lambda: [json.dumps({"meta": {"plugin": {"type": "data_parser/v0.0.40"}}, "nodes": [
                {"name": "n1", "features": ["linkcast=v100-dgx1"], "state": ["MIXED"], "gres": "gpu:v100:8(S:0-1)", "gres_used": "gpu:v100:3(IDX:0,2-3)"}]}).encode()],
            "node-groups": lambda: [b'{"schema":"node-groups/1","name":"c","source":"s","switches":{"s0":{"nodes":["n1"]},"s1":{"switches":["s0"]}}}'],
            "import-flight-recorder": lambda: [pickle.dumps(json.loads(path.read_text()), 2) for path in readers.TRACES.glob("flight-recorder*")],
            "trace-gz": lambda: [gzip.compress(b"".join(path.read_bytes().splitlines(True)[:50])) for path in readers.files("trace")],
            "packed": lambda: [gzip.compress(b"abc" * 100), b"plain", "utf-16 \u00e9".encode("utf-16")]}
    return made[name]() if name in made else []


def of(name: str, queries: list[bytes]) -> list[bytes]:
    """What a file is too long for ends after its first MOST_B bytes, which is a damaged file like others."""
    reader = name.removeprefix("import-")
    found = readers.files("trace" if name == "replay" else reader)
    for pattern in RECORDS.get(name, ()):
        found += sorted(ROOT.glob(pattern))
    if (FOUND / name).is_dir():
        found += sorted((FOUND / name).iterdir())
    return _made(name, queries) + [path.read_bytes()[:MOST_B] for path in dict.fromkeys(found) if path.is_file()]


def words_of(seeds: list[bytes]) -> list[bytes]:
    """Keys and words for libFuzzer's dictionary, the most frequent first."""
    count: dict[bytes, int] = {}
    for seed in seeds:
        for word in re.findall(rb'"?[A-Za-z_][A-Za-z_0-9]{2,30}"?', seed[:20000]):
            count[word] = count.get(word, 0) + 1
    return sorted(count, key=lambda word: -count[word])[:400]
