"""Facts and tables of results by their keys, whose ends say units."""
from __future__ import annotations

from typing import Any

from charts import name_of
from page import Section, Table, shortened
from records import Node
from units import value_text

MOST_ROWS = 500


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
