"""Answers as objects: every key of the JSON is an attribute, and `raw` is the JSON."""
from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native

if TYPE_CHECKING:
    import pandas

UNITS = (("_Bps", "B/s"), ("_B", "B"), ("_s", "s"))
MOST_LETTERS = 200  # of a value in a table
APART = ("inputs", "versions", "warnings", "query")  # no values of an answer

Scalar = (str, int, float, bool, type(None))


def text_of(key: str, value: Any) -> str:
    """With its unit, as the program prints it."""
    unit = next((unit for end, unit in UNITS if key.endswith(end)), "")
    if unit and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _native.text(value, unit)
    if isinstance(value, list) and all(isinstance(item, Scalar) for item in value):
        return " ".join(text_of(key, item) for item in value)
    return str(value)


def html_table(rows: Iterable[tuple[str, Any]]) -> str:
    lines = []
    for key, value in rows:
        text = text_of(key, value)
        text = text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + " ..."
        name = next((key.removesuffix(end) for end, _ in UNITS if key.endswith(end)), key).replace("_", " ")
        lines.append(f'<tr><th style="text-align:left">{html.escape(name)}</th>'
                     f'<td style="text-align:left">{html.escape(text)}</td></tr>')
    return "<table>" + "".join(lines) + "</table>"


def frame_of(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame() needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


class Answer:
    """What linkcast answered. Keys that an answer may have and this one has not are None."""
    raw: dict[str, Any]
    TABLE = ""  # the key whose rows to_frame() takes
    warnings: list[str]
    inputs: dict[str, Any]
    versions: dict[str, str]

    def __init__(self, raw: dict[str, Any]):
        self.raw = raw

    if not TYPE_CHECKING:  # or a type checker would take any name

        def __getattr__(self, key: str) -> Any:
            if key != "raw" and not key.startswith("__"):
                if key in self.raw:
                    return self.raw[key]
                if any(key in getattr(of, "__annotations__", ()) for of in type(self).__mro__):
                    return [] if key == "warnings" else None
            raise AttributeError(f"{type(self).__name__} has no '{key}'", name=key, obj=self)

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def __contains__(self, key: str) -> bool:
        return key in self.raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self.raw == other.raw

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.raw})

    def values(self) -> dict[str, Any]:
        """What is one number, text or flag."""
        return {key: value for key, value in self.raw.items() if key not in APART and isinstance(value, Scalar)}

    def __repr__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in self.values().items() if key not in ("kind", "id")]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = [(key, value) for key, value in self.raw.items()
                if key not in APART and not isinstance(value, dict)
                and not (isinstance(value, list) and not all(isinstance(item, Scalar) for item in value))]
        table = html_table(rows)
        if self.TABLE and isinstance(self.raw.get(self.TABLE), list):
            table += f"<p>{len(self.raw[self.TABLE])} {html.escape(self.TABLE)}: <code>.to_frame()</code></p>"
        return table + "".join(f"<p>warning: {html.escape(text)}</p>" for text in self.warnings)

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        """One row, or a row for each part of an answer that has them (ways, placements, ranks).

        @param key  rows of this key instead"""
        chosen = self.TABLE if key is None else key
        if not chosen:
            return frame_of([self.values()])
        rows = self.raw[chosen]
        return frame_of([row if isinstance(row, dict) else {chosen: row} for row in rows])


AnswerT = TypeVar("AnswerT", bound=Answer)


class Failure(Answer):
    """Of a batch: a query without an answer."""
    error: str


class WhatIf(Answer):
    """The same question on a machine as it is and as it is edited."""
    before: dict[str, Any]
    after: dict[str, Any]
    change: dict[str, Any]

    def _changed(self) -> Iterator[tuple[str, str]]:
        for key, value in self.change.items():
            if isinstance(value, dict) and "before" in value:
                yield key, f"{text_of(key, value['before'])} \N{RIGHTWARDS ARROW} {text_of(key, value.get('after'))}"

    def __repr__(self) -> str:
        return f"WhatIf({', '.join(f'{key}: {change}' for key, change in self._changed())})"

    def _repr_html_(self) -> str:
        return html_table(self._changed())

    def to_frame(self, key: str | None = None) -> pandas.DataFrame:
        if key is not None:
            return super().to_frame(key)
        return frame_of([{"key": name, **value} for name, value in self.change.items() if isinstance(value, dict)])


class Answers(list[Answer]):
    """Of a batch, in the order of its queries."""

    def errors(self) -> list[Failure]:
        return [answer for answer in self if isinstance(answer, Failure)]

    def rows(self) -> Iterator[dict[str, Any]]:
        """What was asked and what is one number, text or flag of the answer."""
        for answer in self:
            yield {**answer.raw.get("inputs", {}).get("query", {}), **answer.values()}

    def to_frame(self) -> pandas.DataFrame:
        return frame_of(list(self.rows()))

    def _repr_html_(self) -> str:
        failed = len(self.errors())
        text = f"<p>{len(self)} answers" + (f", {failed} of them errors" if failed else "") + "</p>"
        try:
            return text + str(self.to_frame().to_html(max_rows=20))
        except ImportError:
            return text
