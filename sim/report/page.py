"""What a page is made of, and the page itself."""
from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

import jinja2
from markupsafe import Markup

from charts import COLOURS, DARK_COLOURS, Figure
from records import Node
from svg import draw

FIGURE = re.compile(r"[+-]?\d[\d.e+-]*( ?(%|[kKMGT]?i?B(/s)?|[num]?s))?")


@dataclass
class Chart:
    title: str
    figure: Figure
    note: str = ""


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""

    def numeric(self) -> list[bool]:
        """Columns of figures, with or without a unit, stand to the right."""
        cells = ([row[i] for row in self.rows if row[i]] for i in range(len(self.columns)))
        return [bool(column) and all(FIGURE.fullmatch(cell) for cell in column) for column in cells]


@dataclass
class Section:
    title: str
    file: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    inputs: str = ""
    machine: str = ""  # a drawing
    machine_note: str = ""

    def add(self, label: str, text: object) -> None:
        self.facts.append((label, str(text)))


def shortened(title: str, columns: list[str], rows: list[list[str]], most: int, whole: str = "the file has all") -> Table:
    """A table that a browser can show."""
    note = f"The first {most} of {len(rows)}; {whole}." if len(rows) > most else ""
    return Table(title, columns, rows[:most], note)


def keep_inputs(section: Section, result: Node) -> None:
    """What linkcast embeds in every result: enough to run it again."""
    kept = {key: result.value[key] for key in ("inputs", "versions") if key in result.value}
    section.inputs = json.dumps(kept, indent=1) if kept else ""
    if warnings := result.get("warnings"):
        section.warnings += warnings.texts()


def values(figure: Figure) -> Markup:
    """What a chart shows, for whoever wants the numbers. No text of it can end the element."""
    return Markup(json.dumps({key: value for key, value in asdict(figure).items() if value}).replace("<", "\\u003c"))


def render(title: str, sections: list[Section], version: str) -> str:
    folder = Path(__file__).resolve().parent
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), autoescape=True, trim_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    environment.filters["drawn"] = draw
    environment.filters["values"] = values
    return environment.get_template("page.html").render(title=title, sections=sections, version=version, light=COLOURS,
                                                        dark=DARK_COLOURS)
