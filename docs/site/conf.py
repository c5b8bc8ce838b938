"""The pages as a site with search: `ninja -C build site`. The navigation is what docs/README.md lists, part by part."""
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INDEX = "docs/README"
PARTS = ("Tutorials", "How-to", "Reference", "Explanation", "Evidence")
REPOSITORY = ["README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "models/libraries/SOURCES", "topologies/SOURCES"]

project, author = "linkcast", "linkcast"
copyright = "the authors of linkcast, Apache-2.0"  # noqa: A001, Sphinx's name
extensions = ["myst_parser"]
root_doc = INDEX
include_patterns = ["docs/*.md", "calibrate/bench/README.md", *(f"{page}.md" for page in REPOSITORY)]
exclude_patterns = ["build*", ".*", "reports", "tests", "sim", "cli", "validate", "apps-traces", "python"]
myst_heading_anchors = 4
html_theme = "alabaster"
html_theme_options = {"page_width": "1240px", "sidebar_width": "280px", "show_powered_by": False}
html_static_path = ["static"]
templates_path = ["templates"]
html_js_files = [("search_any.js", {"defer": "defer"})]  # before the index, which answers
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # read by fetch, which file:// does not allow
highlight_language = "none"
smartquotes = False


def listed(index: str) -> dict[str, list[str]]:
    """Part -> documents, in the order of docs/README.md."""
    found: dict[str, list[str]] = {part: [] for part in PARTS}
    part = ""
    for line in index.split("\n"):
        if line.startswith("## "):
            part = line[3:].strip()
        elif part in found:
            for target in re.findall(r"\]\(([^)#]+)\.md(?:#[^)]*)?\)", line):
                page = posixpath.normpath(f"docs/{target}")
                if page not in REPOSITORY and not any(page in pages for pages in found.values()):
                    found[part].append(page)
    return found


def with_navigation(_app, page: str, source: list[str]) -> None:
    if page == INDEX:
        trees = {**listed(source[0]), "Repository": REPOSITORY}
        source[0] += "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {part}\n" + "".join(f"/{name}\n" for name in pages) + "```\n"
                             for part, pages in trees.items())


def setup(app) -> None:
    app.connect("source-read", with_navigation)
