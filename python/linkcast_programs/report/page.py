"""What a page is made of: facts, charts and tables by keys, whose ends say units. And the page itself."""
from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ..charts import COLOURS, DARK_COLOURS, Figure, name_of
from ..records import Node
from ..units import value_text
from .svg import draw

MOST_ROWS = 500
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


def text_of(key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return value_text(key, value)
    if isinstance(value, list):
        return ("; " if any(isinstance(item, list) for item in value) else " ").join(text_of("", item) for item in value)
    return str(value)


def is_cell(value: Any) -> bool:
    return not isinstance(value, dict) and not (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def table_of(title: str, rows: list[dict[str, Any]], note: str = "") -> Table:
    """A column for each key that is no object."""
    columns = list(dict.fromkeys(key for row in rows for key, value in row.items() if is_cell(value)))
    table = shortened(title, [name_of(key) for key in columns], [[text_of(key, row.get(key)) for key in columns] for row in rows], MOST_ROWS)
    table.note = " ".join(filter(None, [note, table.note]))
    return table


def add_facts(section: Section, result: Node, leave: tuple[str, ...] = ()) -> None:
    """Numbers, words and flags of an object."""
    for key, value in result.value.items():
        if key not in leave and isinstance(value, (str, int, float)):
            section.add(name_of(key), text_of(key, value))


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
