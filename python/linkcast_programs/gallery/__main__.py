"""A page of one paper: every figure and table that has numbers, measured and forecast, and the verdict on each claim.

`linkcast validate --paper 001 --report DIR` calls this program after it has written DIR/claims.json.
"""
from __future__ import annotations

import argparse
import html
import subprocess
import sys
from pathlib import Path

try:
    import jinja2
    import matplotlib  # noqa: F401  drawn with in draw.py

    from . import draw
except ImportError as missing:
    sys.exit(f"error: the Python package {missing.name} is needed: pip install {missing.name}, or .ci/prepare in a checkout")
from ..units import size_text
from .points import GalleryError, panel_series, read_json

HERE = Path(__file__).resolve().parent
GALLERIES = HERE.parents[2] / "validate" / "gallery"
VERDICTS = ("pass", "fail", "refuted-by-data", "not-modelled")
ROLES = ("predicted", "fitted", "model input")


def figure_of(figure: dict, claims: dict[str, dict], data_dir: Path, program: str) -> dict:
    panels = []
    for i, panel in enumerate(figure.get("panels", [])):
        series = panel_series(panel, claims, data_dir, program)
        if series:
            panels.append({"title": panel["title"], "svg": draw.draw(panel, series, f"{figure['id']}-{i}"), "rows": draw.summary(series),
                           "note": panel.get("note", ""), "wide": panel.get("kind") == "matrix"})
    linked = [claims[name] for name in figure.get("claims", []) if name in claims]
    return {"id": figure["id"], "caption": figure["caption"], "panels": panels, "missing": figure.get("missing", ""), "claims": linked}


def number_text(figure: dict | None) -> str:
    if not figure or figure.get("value") is None:
        return "-"
    values = figure["value"] if isinstance(figure["value"], list) else [figure["value"]]
    if figure.get("unit") == "B" and all(isinstance(value, (int, float)) for value in values):
        return ", ".join(size_text(value) for value in values)
    text = ", ".join(f"{value:.4g}" if isinstance(value, (int, float)) else str(value or "-") for value in values)
    return f"{text} {figure.get('unit', '')}".strip()


def strength_text(claim: dict) -> str:
    if claim["verdict"] == "not-modelled":
        return "-"
    return f"{100 * claim['strength']['margin']:.2g} %" if claim.get("strength") else "counts"


def check(gallery: dict, claims: dict[str, dict], file: Path) -> None:
    for i, figure in enumerate(gallery["figures"]):
        where = f"{file}: /figures/{i}"
        if not figure.get("panels") and not figure.get("missing"):
            raise GalleryError(f"{where}: has neither panels nor what is missing")
        for name in figure.get("claims", []):
            if name not in claims:
                raise GalleryError(f"{where}/claims: '{name}' is no claim of {gallery['paper']}")


def page_of(gallery: dict, board: dict, data_dir: Path, program: str) -> str:
    claims = {claim["id"]: claim for claim in board["claims"]}
    figures = [figure_of(figure, claims, data_dir, program) for figure in gallery["figures"]]
    places: dict[str, list[dict]] = {}
    for figure in figures:
        for claim in figure["claims"]:
            places.setdefault(claim["id"], []).append(figure)
    for claim in claims.values():
        claim |= {"claimed": number_text(claim["expected"]), "forecast": number_text(claim["predicted"]), "margin": strength_text(claim),
                  "figures": places.get(claim["id"], [])}
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined,
                                     trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        title=gallery["title"], paper=gallery["paper"], counts=board["scoreboard"][gallery["paper"]], figures=figures,
        claims=list(claims.values()), version=version, verdicts=VERDICTS, roles=ROLES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paper", required=True, help="as in claims.json")
    parser.add_argument("--folder", required=True, type=Path, help="has claims.json, gets the page")
    parser.add_argument("--status", type=int, default=0, help="exit code after success")
    parser.add_argument("--program", required=True)
    parser.add_argument("--data-dir", required=True, type=Path)
    options = parser.parse_args()
    try:
        file = GALLERIES / f"{options.paper}.json"
        gallery, board = read_json(file), read_json(options.folder / "claims.json")
        check(gallery, {claim["id"]: claim for claim in board["claims"]}, file)
        out = options.folder / f"{options.paper}.html"
        out.write_text(page_of(gallery, board, options.data_dir, options.program), encoding="utf-8")
    except (GalleryError, OSError) as error:
        print(f"error: {html.unescape(str(error))}", file=sys.stderr)
        return 2
    print(f"page: {out}", file=sys.stderr)
    return options.status


if __name__ == "__main__":
    sys.exit(main())
