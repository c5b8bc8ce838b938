#!/usr/bin/env python3
"""What `cmake --install` puts somewhere else answers as the build does, and the Python package runs it."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from program import PROGRAM, ROOT, InFolder, has, main, run

QUERY = {"id": 7, "kind": "collective", "platform": "hgx-h200", "op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 2**26}
LONG = {"kind": "replay", "platform": "hgx-h200", "trace": "h200x4-resnet50", "repeat": 1500, "interval": False}
WORDS = {
    "data": ("list", "platforms"),
    "samples": ("list", "traces"),
    "claims": ("list", "claims"),
    "measurements": ("validate", "TPDS-029"),  # a claim that is held against calibrate/data
    "fabrics": ("predict", "p2p", "--platform", "alps", "--src", "node0/gpu0", "--dst", "node9/gpu0", "--size", "1MiB"),
}


class Tree(InFolder):
    """Entries at the top of the tree."""

    def test_setup_is_the_first_command(self):
        script = ROOT / "setup"
        self.assertTrue(os.access(script, os.X_OK))
        self.assertIn("./setup ", (ROOT / "README.md").read_text())
        for words in ([script], ["bash", ROOT / ".ci" / "forecast"]):
            done = subprocess.run(["bash", "-n", str(words[-1])], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.folder / ".ci").mkdir()
        (self.folder / "build").mkdir()
        self.write(".ci/prepare", "echo prepares $1; exit 3")  # it ends there, in the folder of the script
        shutil.copy(script, self.folder / "setup")
        shutil.copy(ROOT / ".ci" / "forecast", self.folder / ".ci" / "forecast")
        for words in ([self.folder / "setup"], ["bash", self.folder / ".ci" / "forecast"]):
            done = subprocess.run([str(word) for word in words], cwd="/", capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (3, "prepares program\n"), done.stderr)

    def test_container(self):
        """No container is built here: its parts are there, and what it installs is what CPack makes."""
        text = (ROOT / ".ci/Containerfile").read_text()
        self.assertEqual(re.findall(r"^FROM (\S+?)(?: AS (\w+))?$", text, re.M),
                         [("debian:12", "build"), ("debian:12-slim", "")])
        for script in re.findall(r"bash (\S+)", text):
            self.assertTrue((ROOT / script).is_file(), script)
        packed = re.search(r"cpack --config (\S+) -B (\S+)", text)
        self.assertEqual(packed[1], "build/CPackConfig.cmake")
        copied = re.search(r"^COPY --from=build /src/(\S+)/linkcast_\*\.deb", text, re.M)
        self.assertEqual(copied[1], packed[2])
        config = (PROGRAM.parent / "CPackConfig.cmake").read_text()
        self.assertRegex(config, r'CPACK_GENERATOR "[^"]*DEB')
        self.assertIn("build*", (ROOT / ".containerignore").read_text().splitlines())
        manifest = (ROOT / "cli/serve/kubernetes/linkcast.yaml").read_text()
        self.assertIn("image: " + re.search(r"podman build -t (\w+)", text)[1], manifest)


class Installed(InFolder):
    def install(self, prefix: Path, component: str = "program") -> None:
        done = subprocess.run(["cmake", "--install", str(PROGRAM.parent), "--prefix", str(prefix), "--component", component],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def ask(self, prefix: Path, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(prefix / "bin" / "linkcast"), *words], cwd=self.folder, capture_output=True, text=True, check=False)

    def test_answers_as_the_build(self):
        prefix = self.folder / "usr"
        self.install(prefix)
        for what, words in WORDS.items():
            own, built = self.ask(prefix, *words), run(*words)
            self.assertEqual((own.returncode, own.stdout), (built.returncode, built.stdout), f"{what}: {own.stderr}")
        shipped = {path.relative_to(prefix / "share" / "linkcast") for path in (prefix / "share" / "linkcast").rglob("*.json*")}
        for folder in ("topologies", "models/params", "validate/claims", "apps-traces/samples", "calibrate/data"):
            here = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.json*")}
            self.assertEqual(here - shipped, set())

    def test_shells_and_man(self):
        prefix = self.folder / "usr"
        self.install(prefix)
        for path, words in (("bash-completion/completions/linkcast", ("completion", "bash")),
                            ("zsh/site-functions/_linkcast", ("completion", "zsh")), ("man/man1/linkcast.1", ("help", "--man"))):
            self.assertEqual((prefix / "share" / path).read_text(), run(*words).stdout)

    def test_python_programs(self):
        if not has("jinja2") or not has("matplotlib"):
            self.skipTest("jinja2 and matplotlib are not installed")
        prefix = self.folder / "usr"
        self.install(prefix)
        answer = self.ask(prefix, "predict", "collective", "--platform", "p100-dgx1", "--gpus", "0-3", "--op", "all_reduce",
                          "--size", "1MiB", "--json").stdout
        (self.folder / "run.json").write_text(answer)
        done = self.ask(prefix, "report", "run.json", "--out", "page.html")
        self.assertEqual((done.returncode, done.stdout), (0, "page.html: 1 section\n"), done.stderr)
        study = {"schema": "linkcast/study/1", "name": "x", "axes": {"size_B": ["1KiB", "1MiB"]},
                 "query": {"kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1"}}
        done = self.ask(prefix, "sweep", str(self.write("study.json", study)))
        self.assertEqual((done.returncode, done.stdout), (0, "x.sweep/table.csv: 2 scenarios, 0 errors\n"), done.stderr)
        self.assertTrue((self.folder / "x.sweep" / "report.html").is_file())
        done = self.ask(prefix, "wiring", "--platform", "v100-dgx1", "--steps", "1", "--mix", "8", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["looked_at"]), (0, 1), done.stderr)
        done = self.ask(prefix, "validate", "--paper", "004", "--report", "paper")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(len(list((self.folder / "paper").glob("*.html"))), 1)

    def test_without_simgrid(self):
        """As the wheel has it: what wants SimGrid says what is missing."""
        prefix = self.folder / "usr"
        self.install(prefix)
        words = ("predict", "p2p", "--platform", "p100-dgx1", "--src", "gpu0", "--dst", "gpu1", "--size", "1GiB")
        alone = self.ask(prefix, *words)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for solver in ("native", "fluid_simgrid"):
            refused = self.ask(prefix, *words, "--solver", solver)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
            self.assertRegex(refused.stderr, r"^error: .*liblinkcast_simgrid\.so is missing .*the wheel has no SimGrid")
        self.install(prefix, "simgrid")
        for solver in ("native", "fluid_simgrid"):
            self.assertEqual(self.ask(prefix, *words, "--solver", solver).stdout, alone.stdout)

    def test_a_long_run_needs_no_simgrid(self):
        """Beyond four million events SimGrid's main loop moves a run, where it is there."""
        prefix = self.folder / "usr"
        self.install(prefix)
        words = ("predict", "--batch", self.write("long.json", json.dumps(LONG) + "\n"))
        own = self.ask(prefix, *words)
        self.assertEqual((own.returncode, own.stdout), (0, run(*words).stdout), own.stderr)

    def test_python_package(self):
        """As a wheel lays it out: program, module and data inside the package; and SimGrid's module."""
        if not list((PROGRAM.parent / "module").glob("_native*")):
            self.skipTest("the Python module is not built")
        package = self.folder / "site" / "linkcast"
        shutil.copytree(ROOT / "python" / "linkcast", package, ignore=shutil.ignore_patterns("__pycache__"))
        self.install(package)
        self.install(package, "python")
        self.install(package, "simgrid")
        script = ("import json, linkcast, sys\n"
                  f"query = {QUERY!r}\n"
                  "native = linkcast.predict('p100-dgx1', 'gpu0', 'gpu1', 1024, solver='native').time_s\n"
                  "several = linkcast.batch([query, {'id': 8, 'kind': 'p2p', 'platform': 'none'}])\n"
                  "print(json.dumps([str(linkcast.program()), linkcast.ask(query).raw, native, *[answer.raw for answer in several]]))\n"
                  "sys.argv = ['linkcast', 'list', 'platforms']\nsys.stdout.flush()\nlinkcast.main()\n")
        done = subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd=package.parent, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, listed = done.stdout.split("\n", 1)
        program, one, native, several, wrong = json.loads(first)
        built = json.loads(run("predict", "--batch", "-", stdin=json.dumps(QUERY) + "\n").stdout)
        self.assertEqual((program, one, several), (str(package / "bin" / "linkcast"), built, built))
        self.assertGreater(native, 0)
        self.assertIn("unknown platform", wrong["error"])
        self.assertEqual(listed, run("list", "platforms").stdout)


if __name__ == "__main__":
    main()
