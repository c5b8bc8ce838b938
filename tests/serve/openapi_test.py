#!/usr/bin/env python3
"""The service's description of itself, its metrics, and the files that run and watch it."""
import html.parser
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import service
from service import Served, Service

try:
    import yaml
    from jsonschema import Draft202012Validator
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
PLACE = {"platform": "v100-dgx1", "job": "all_reduce:64MiB", "ranks": 4, "busy": [0, 5]}
TYPES = {"counter", "gauge", "histogram"}


class Page(html.parser.HTMLParser):
    """Identifiers and links of a page, and what it opens and does not close."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.open, self.outside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"][1:]] if values.get("href", "").startswith("#") else []
        self.outside += [value for key, value in attrs if key in ("src", "href") and re.match(r"(https?:)?//", value)]
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def references(value: object) -> list[str]:
    if isinstance(value, list):
        return [one for part in value for one in references(part)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [one for part in value.values() for one in references(part)]


def metrics(text: str) -> dict[str, str]:
    """Type by name."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


class Description(Served):
    OPTIONS = ("--platform", "v100-dgx1")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        status, cls.api = cls.server.ask("GET", "/openapi.json")
        assert status == 200

    def operations(self):
        return [(path, method, one) for path, methods in self.api["paths"].items() for method, one in methods.items()]

    def body_schema(self, name: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": self.api["components"]})

    def test_structure(self):
        self.assertEqual(set(self.api), {"openapi", "info", "paths", "components"})
        self.assertRegex(self.api["openapi"], r"^3\.1\.\d+$")
        self.assertLessEqual({"title", "version"}, set(self.api["info"]))
        names = [one["operationId"] for _, _, one in self.operations()]
        self.assertEqual(len(names), len(set(names)))
        for path, method, one in self.operations():
            self.assertTrue(path.startswith("/"), path)
            self.assertIn(method, ("get", "post", "delete"))
            self.assertTrue(one["summary"])
            self.assertEqual(set(one["responses"]), {"200", "default"})
            for response in one["responses"].values():
                self.assertTrue(response["description"])
                for content in response["content"].values():
                    self.assertIn("schema", content)
            wanted = re.findall(r"\{(\w+)\}", path)
            given = one.get("parameters", [])
            self.assertEqual([(row["name"], row["in"], row["required"]) for row in given], [(name, "path", True) for name in wanted])
            self.assertEqual("requestBody" in one, method == "post", path)
            for need in one.get("security", []):
                self.assertLessEqual(set(need), set(self.api["components"]["securitySchemes"]))

    def test_every_reference_is_there(self):
        found = references(self.api)
        self.assertGreater(len(found), 20)
        for one in found:
            self.assertTrue(one.startswith("#/components/schemas/"), one)
            self.assertIn(one.rsplit("/", 1)[1], self.api["components"]["schemas"])

    def test_every_schema_is_one_of_the_draft(self):
        for name, schema in self.api["components"]["schemas"].items():
            self.assertRegex(name, r"^[A-Za-z0-9._-]+$")
            Draft202012Validator.check_schema(schema)

    def test_schemas_are_those_of_linkcast_schema(self):
        definitions = self.server.ask("GET", "/v1/schema")[1]["$defs"]
        self.assertEqual({name: set(schema) for name, schema in definitions.items()}, {name: set(schema) for name, schema in self.printed().items()})
        for name, schema in definitions.items():
            moved = json.loads(json.dumps(schema).replace("#/$defs/", "#/components/schemas/"))
            self.assertEqual(self.api["components"]["schemas"][name], moved, name)

    def test_questions_and_answers_follow_it(self):
        self.body_schema("place_body").validate(PLACE)
        self.body_schema("place_result").validate(self.server.post("/v1/place", PLACE)[1])
        query = {"kind": "p2p", "platform": "v100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 1000}
        self.body_schema("query").validate(query)
        self.body_schema("result").validate(self.server.post("/v1/query", query)[1])
        self.assertFalse(self.body_schema("query").is_valid({**query, "sise": 1}))
        self.body_schema("error").validate(self.server.post("/v1/query", "{")[1])
        self.body_schema("node_state").validate(self.server.post("/v1/nodes/a", {"platform": "v100-dgx1", "busy": [0]})[1])
        for path, name in (("/v1/nodes", "node_states"), ("/v1/platforms", "platforms"), ("/healthz", "status"), ("/v1/slurm/nodes", "slurm_nodes")):
            self.body_schema(name).validate(self.server.ask("GET", path)[1])

    def printed(self) -> dict:
        return json.loads(subprocess.run([service.PROGRAM, "schema"], capture_output=True, text=True, check=True).stdout)["$defs"]

    def test_solvers_are_those_that_are_served(self):
        query = {"kind": "p2p", "platform": "v100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 1000}
        solvers = self.printed()["p2p_query"]["properties"]["solver"]["enum"]
        self.assertGreater(len(solvers), 1)
        for solver in solvers:
            for path, name, more in (("/v1/query", "query", query), ("/v1/place", "place_body", PLACE)):
                status, _ = self.server.post(path, {**more, "solver": solver})
                self.assertEqual(self.body_schema(name).is_valid({**more, "solver": solver}), status == 200, solver)

    def test_jobs_of_slurm_follow_it(self):
        job = {"job_id": 71, "num_tasks": 4, "tres_per_node": "gres/gpu:4", "comment": "linkcast:job=all_reduce:64MiB",
               "nodes": [{"name": "n1", "platform": "v100-dgx1", "gpus_busy": [0, 1, 2]}]}
        schema = self.body_schema("slurm_job")
        changed = [job, {**job, "more": 1}, {**job, "nodes": "n1"}, {**job, "comment": 1}, {**job, "num_tasks": "4"}]
        changed += [{key: value for key, value in job.items() if key not in left_out}
                    for left_out in (["comment"], ["num_tasks"], ["tres_per_node"], ["num_tasks", "tres_per_node"], ["job_id"])]
        changed += [{**job, "nodes": [{key: value for key, value in job["nodes"][0].items() if key != left_out}]} for left_out in ("name", "platform", "gpus_busy")]
        statuses = set()
        for one in changed:
            status, _ = self.server.post("/v1/slurm/place", one)
            statuses.add(status)
            self.assertEqual(schema.is_valid(one), status == 200, one)
        self.assertEqual(statuses, {200, 400})

    def test_every_path_answers(self):
        for path, method, one in self.operations():
            status, _ = self.server.ask(method.upper(), path.replace("{name}", "b"), "{" if method == "post" else None)
            self.assertNotIn(status, (405, 500), path)
            self.assertTrue(status == 200 or method != "get" or "{" in path, (path, status))
            for content in one["responses"]["200"]["content"]:
                self.assertIn("/", content)

    def test_page(self):
        status, text = self.server.ask("GET", "/docs")
        self.assertEqual(status, 200)
        page = Page(text)
        self.assertEqual((page.open, page.outside), ([], []))
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertLessEqual(set(page.links), set(page.ids))
        self.assertLessEqual({one["operationId"] for _, _, one in self.operations()} | set(self.api["components"]["schemas"]), set(page.ids))
        self.assertNotIn("<script", text)


class Watched(unittest.TestCase):
    """Metrics, and the dashboard that shows them."""

    @classmethod
    def setUpClass(cls):
        with Service("--platform", "v100-dgx1") as server:
            server.post("/v1/place", PLACE)
            cls.text = ""
            for _ in range(1000):  # the kernel counts in hundredths of a second
                if re.search(r"^process_cpu_seconds_total \S*[1-9]", cls.text, re.M):
                    break
                cls.text = server.ask("GET", "/metrics")[1]
            cls.pid = server.process.pid
            cls.status = Path(f"/proc/{cls.pid}/status").read_text(encoding="ascii")
            cls.version = server.ask("GET", "/openapi.json")[1]["info"]["version"]

    def value(self, name: str) -> float:
        return float(re.search(rf"^{name} (\S+)$", self.text, re.M)[1])

    def test_build(self):
        self.assertRegex(self.text, rf'(?m)^linkcast_build_info\{{version="{re.escape(self.version)}",commit="[0-9a-f]*"\}} 1$')

    def test_process(self):
        resident_kB = int(re.search(r"VmRSS:\s+(\d+)", self.status)[1])
        self.assertLess(abs(self.value("process_resident_memory_bytes") / 1024 / resident_kB - 1), 0.5)
        self.assertEqual(self.value("process_threads"), int(re.search(r"Threads:\s+(\d+)", self.status)[1]))
        self.assertTrue(3 < self.value("process_open_fds") < self.value("process_max_fds"))
        self.assertGreater(self.value("process_virtual_memory_bytes"), self.value("process_resident_memory_bytes"))
        self.assertTrue(0 < self.value("process_cpu_seconds_total") < 600)
        started = os.stat("/proc/self").st_ctime - self.value("process_start_time_seconds")
        self.assertTrue(-600 < started < 600, started)

    def test_each_has_help_and_type(self):
        types = metrics(self.text)
        self.assertLessEqual(set(types.values()), TYPES)
        self.assertEqual(set(types), set(re.findall(r"^# HELP (\S+) ", self.text, re.M)))
        for name, kind in types.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)

    def test_dashboard(self):
        board = json.loads((ROOT / "cli/serve/grafana/linkcast.json").read_text(encoding="utf-8"))
        types = metrics(self.text)
        known = set(types) | {name + end for name, kind in types.items() if kind == "histogram" for end in ("_bucket", "_sum", "_count")}
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        shown = set()
        for panel in board["panels"]:
            for target in panel["targets"]:
                names = set(re.findall(r"\b((?:linkcast|process)_\w+)", target["expr"]))
                self.assertTrue(names and names <= known, target["expr"])
                labels = re.findall(r'(\w+)(?:=~?|!=)"', target["expr"])
                self.assertLessEqual(set(labels), {"job", "route", "status", "le"})
                shown |= names
        self.assertLessEqual({"linkcast_build_info", "linkcast_requests_total", "linkcast_request_seconds_bucket", "linkcast_waiting_requests",
                              "linkcast_nodes", "process_resident_memory_bytes"}, shown)


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (ROOT / "cli/serve/kubernetes/linkcast.yaml").read_text(encoding="utf-8")
        cls.parts = {part["kind"]: part for part in yaml.safe_load_all(text)}
        cls.pod = cls.parts["Deployment"]["spec"]["template"]
        cls.container = cls.pod["spec"]["containers"][0]

    def test_parts_fit_together(self):
        self.assertEqual(set(self.parts), {"Deployment", "Service"})
        labels = self.pod["metadata"]["labels"]
        self.assertEqual(self.parts["Deployment"]["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(self.parts["Service"]["spec"]["selector"], labels)
        names = {port["name"] for port in self.container["ports"]}
        self.assertIn(self.parts["Service"]["spec"]["ports"][0]["targetPort"], names)
        mounts = {mount["name"] for mount in self.container["volumeMounts"]}
        self.assertEqual(mounts, {volume["name"] for volume in self.pod["spec"]["volumes"]})

    def test_probes_ask_open_paths(self):
        with Service("--platform", "v100-dgx1") as server:
            api = server.ask("GET", "/openapi.json")[1]
        for probe, path in (("startupProbe", "/healthz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
            asked = self.container[probe]["httpGet"]
            self.assertEqual((asked["path"], asked["port"]), (path, "http"))
            self.assertNotIn("security", api["paths"][path]["get"])

    def test_the_program_takes_its_arguments(self):
        help_text = service.subprocess.run([service.PROGRAM, "serve", "--help"], capture_output=True, text=True, check=True).stdout
        words = self.container["args"]
        self.assertEqual(words[0], "serve")
        for word in words[1:]:
            self.assertIn(word.split("=")[0], help_text)
        port = next(word for word in words if word.startswith("--port="))
        self.assertEqual(int(port.split("=")[1]), self.container["ports"][0]["containerPort"])


if __name__ == "__main__":
    service.main()
