#!/usr/bin/env python3
"""The pages as a site: built with warnings as errors, no asset of other sites, and readers' questions find their page.

The search runs in a browser on the files themselves (file://), as a reader has them who is offline."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from urllib.parse import quote

from program import ROOT, SKIPPED, main

PYTHON = "/usr/bin/python3"  # that the distribution's Sphinx belongs to
if subprocess.run([PYTHON, "-c", "import sphinx, myst_parser"], capture_output=True, check=False).returncode:
    print("skipped: python3-sphinx or python3-myst-parser is not installed")
    sys.exit(SKIPPED)
try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
except ImportError:
    webdriver = None

FIRST = 3  # results among which the page has to be
PATIENCE_S = 60  # machines are busy
# As readers ask, words of other programs too; not the titles of the pages.
QUESTIONS = {
    "Is this bandwidth normal for my box?": "docs/answers",
    "How do I describe my cluster?": "docs/cluster",
    "which GPUs should my job get": "docs/placement",
    "what happens with half the NICs": "docs/cluster",
    "2:1 oversubscription of the fat tree": "docs/cluster",
    "nccl-tests log is slow, what is wrong": "docs/diagnose",
    "how does NVLS multicast work": "docs/communicators",
    "record a PyTorch training step and replay it": "docs/step",
    "install Slurm job_submit plug-in": "docs/schedulers",
    "how accurate are forecasts of collectives": "docs/accuracy",
    "measure my own machine with linkcast-bench": "docs/measure",
    "formula for a staged copy through host memory": "docs/model",
}
ASSET = re.compile(r'<(?:script|img|iframe)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\brel="(?:stylesheet|icon|preload)"[^>]*\bhref="([^"]+)"|url\(["\']?([^)"\']+)|@import\s+["\']([^"\']+)')


def build(sources: Path, out: Path, config: Path = ROOT / "docs/site") -> subprocess.CompletedProcess:
    """As the target `site` does."""
    return subprocess.run([PYTHON, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", str(config), "-d", str(out.parent / "doctrees"),
                           str(sources), str(out)], capture_output=True, text=True, check=False)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.out = Path(holder.name) / "site"
        cls.done = build(ROOT, cls.out)

    def test_no_warnings(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))

    def test_every_page_is_there_and_in_the_navigation(self):
        start = (self.out / "docs/README.html").read_text()
        for page in sorted((ROOT / "docs").glob("*.md")):
            self.assertTrue((self.out / f"docs/{page.stem}.html").is_file(), page.name)
            if page.stem != "README":
                self.assertIn(f'<li class="toctree-l1"><a class="reference internal" href="{page.stem}.html">', start)
        self.assertEqual(re.findall(r'<span class="caption-text">([^<]*)</span>', start)[:5],
                         ["Tutorials", "How-to", "Reference", "Explanation", "Evidence"])

    def test_no_asset_of_other_sites(self):
        looked_at = 0
        for path in [*self.out.rglob("*.html"), *self.out.rglob("*.css")]:
            for asset in ASSET.finditer(path.read_text()):
                name = next(group for group in asset.groups() if group).split("?")[0].split("#")[0]
                self.assertFalse(name.startswith(("http:", "https:", "//")), f"{path}: {name}")
                if not name.startswith("data:"):
                    self.assertTrue((path.parent / name).is_file(), f"{path}: {name}")
                    looked_at += 1
        self.assertGreater(looked_at, 100)

    def test_questions_find_their_page(self):
        browser = self.browser()
        wrong = []
        for question, page in QUESTIONS.items():
            found = self.search(browser, question)
            if not any(link.endswith(f"/{page}.html") for link in found[:FIRST]):
                wrong.append(f"{question}: {page} is not among {[link.rsplit('/', 1)[-1] for link in found[:6]]}")
        self.assertEqual(wrong, [])

    def search(self, browser, question: str) -> list[str]:
        """Files of the results, best first, each once."""
        browser.get(f"file://{self.out}/search.html?q={quote(question)}")
        end = time.monotonic() + PATIENCE_S
        while "Search finished" not in browser.execute_script("return document.getElementById('search-results').innerText"):
            self.assertLess(time.monotonic(), end, f"no answer to: {question}")
            time.sleep(0.05)
        links = browser.execute_script("return [...document.querySelectorAll('#search-results li a')].map((link) => link.href)")
        return list(dict.fromkeys(link.split("#")[0].split("?")[0] for link in links))

    def browser(self):
        if webdriver is None or not shutil.which("chromium") or not shutil.which("chromedriver"):
            self.skipTest("python3-selenium, chromium or chromium-driver is not installed")
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.binary_location = shutil.which("chromium")
        try:
            driver = webdriver.Chrome(options=options)
        except WebDriverException as problem:  # of this machine, not of the page
            self.skipTest(f"chromium does not start: {problem.msg}")
        self.addCleanup(driver.quit)
        return driver


class Broken(unittest.TestCase):
    """Links that lead nowhere end the build."""

    def built(self, text: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as holder:
            sources = Path(holder) / "sources"
            (sources / "docs").mkdir(parents=True)
            shutil.copytree(ROOT / "docs/site", sources / "docs/site")
            for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "models/libraries/SOURCES", "topologies/SOURCES"):
                (sources / name).parent.mkdir(parents=True, exist_ok=True)
                (sources / f"{name}.md").write_text("# Page\n")
            (sources / "docs/README.md").write_text(f"# Pages\n\n## Tutorials\n\n[one](one.md)\n\n{text}\n")
            (sources / "docs/one.md").write_text("# One\n\n## Two\n")
            return build(sources, Path(holder) / "site", sources / "docs/site")

    def test_links(self):
        self.assertEqual(self.built("[it](one.md#two)").returncode, 0)
        for text in ("[it](two.md)", "[it](one.md#three)"):
            done = self.built(text)
            self.assertNotEqual((done.returncode, done.stderr), (0, ""), text)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    main()
