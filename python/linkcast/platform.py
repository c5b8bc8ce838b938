"""A machine to ask, as it is or as edited."""
from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import _native, engine, kinds
from .answers import Answer, AnswerT, WhatIf
from .errors import InputError, did_you_mean
from .questions import Questions

P = ParamSpec("P")
R = TypeVar("R")


class Platform(Questions):
    """A shipped platform, or a calibration file (*.json). Nothing changes it: edit() gives another one.

    >>> machine = Platform("p100-dgx1")
    >>> machine.edit("remove gpu0-gpu4").p2p("gpu0", "gpu4", "64MiB").transport
    'staged'
    """

    def __init__(self, name: str | os.PathLike[str], edits: tuple[str, ...] = ()):
        if not isinstance(name, (str, os.PathLike)):
            raise InputError(f"platform: must be a name, a file or a Platform, not {type(name).__name__}: {name!r}")
        self.name, self.edits = os.fspath(name), edits
        engine.catalogues().check(self.name, list(edits))

    def edit(self, *edits: str) -> Platform:
        """With what-if changes, e.g. "remove gpu0-gpu4": docs/what-if.md."""
        return Platform(self.name, (*self.edits, *edits))

    def whatif(self, /, kind: str, **keys: Any) -> WhatIf:
        """A question on the machine without its edits and with them."""
        name = {"predict": "p2p"}.get(kind, kind)
        return WhatIf(json.loads(engine.catalogues().whatif(engine.read(self._query(name, keys)), "query")))

    def predict(self, /, src: str, dst: str, size_B: float | str, **keys: Any) -> kinds.P2p:
        """One copy, as p2p()."""
        return self.p2p(src, dst, size_B, **keys)

    def _query(self, kind: str, keys: dict[str, Any]) -> dict[str, Any]:
        query = {"kind": kind, "platform": self.name, **{key: value for key, value in keys.items() if value is not None}}
        return {**query, "edits": list(self.edits)} if self.edits else query

    def _ask(self, of: type[AnswerT], kind: str, keys: dict[str, Any]) -> AnswerT:
        return of(json.loads(engine.catalogues().answer(engine.read(self._query(kind, keys)), "query")))

    def __repr__(self) -> str:
        return f"Platform({self.name!r})" + "".join(f".edit({edit!r})" for edit in self.edits)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


def platform_of(given: str | Platform) -> Platform:
    return given if isinstance(given, Platform) else Platform(given)


def of_platform(method: Callable[Concatenate[Platform, P], R]) -> Callable[Concatenate[str | Platform, P], R]:
    """The same as a function that takes the platform, or its name, first."""

    signature = inspect.signature(method)
    _, *others = signature.parameters.values()
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in others)
    known = [one.name for one in others]

    @functools.wraps(method)
    def function(platform: str | Platform, /, *arguments: P.args, **keys: P.kwargs) -> R:
        for key in keys:
            if key not in known and not takes_all:
                meant = ": Platform(NAME).edit(...) has edits" if key == "edits" else did_you_mean(key, known)
                raise TypeError(f"{method.__name__}() takes no '{key}'{meant}")
        return method(platform_of(platform), *arguments, **keys)

    first = inspect.Parameter("platform", inspect.Parameter.POSITIONAL_ONLY, annotation="str | Platform")
    function.__signature__ = signature.replace(parameters=[first, *others])  # type: ignore[attr-defined]
    return function


predict = of_platform(Platform.predict)
p2p = of_platform(Platform.p2p)
flows = of_platform(Platform.flows)
collective = of_platform(Platform.collective)
rings = of_platform(Platform.rings)
routes = of_platform(Platform.routes)
replay = of_platform(Platform.replay)
place = of_platform(Platform.place)
show = of_platform(Platform.show)
fabric = of_platform(Platform.fabric)
whatif = of_platform(Platform.whatif)


def answer_of(raw: dict[str, Any]) -> Answer:
    """JSON of an answer as an object of its kind."""
    return kinds.BY_NAME.get(str(raw.get("kind")), Answer)(raw)


def ask(query: dict[str, Any]) -> Answer:
    """A query as in a line of a batch, of any kind; its platform may be a Platform."""
    return answer_of(json.loads(engine.catalogues().answer(engine.dumped(plain_query(query)), "query")))


def plain_query(query: dict[str, Any]) -> dict[str, Any]:
    """With the name of a Platform, and its edits before those of the query. @raises InputError  it is no dict"""
    if not isinstance(query, dict):
        raise InputError(f"query: must be a dict, not {type(query).__name__}: {query!r}")
    platform = query.get("platform")
    if not isinstance(platform, Platform):
        return query
    edits = [*platform.edits, *query.get("edits", [])]
    return {**query, "platform": platform.name, **({"edits": edits} if edits else {})}


def platforms() -> list[str]:
    """Names of the machines that linkcast knows."""
    return engine.catalogues().platforms()


def keys(kind: str) -> dict[str, str]:
    """What each key of a question is."""
    name = {"predict": "p2p"}.get(kind, kind)
    rows = json.loads(_native.schema(name))["$defs"]["query"]["properties"]
    return {key: row.get("description", "") for key, row in rows.items()}


def version() -> str:
    number, commit = _native.version()
    return f"{number}+{commit}" if commit else number
