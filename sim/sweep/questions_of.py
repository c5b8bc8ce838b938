"""Questions of a study as JSON lines, from positions on its axes. Needs no other file of linkcast: Dask workers get it."""
import copy
import json


def put(query, key, value):
    """A key with a dot reaches into an object."""
    *outer, last = key.split(".")
    for name in outer:
        query = query.setdefault(name, {})
    query[last] = value


class Lines:
    """@param base  keys that all have in common. @param axes  [(key, values)]"""

    def __init__(self, base, axes):
        self._base, self._axes = base, axes
        self._inner = any("." in key for key, _ in axes)
        self._parts = [[f"{json.dumps(key)}: {json.dumps(value)}" for value in values] for key, values in axes]
        self._start = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in base.items())

    def query(self, point):
        query = copy.deepcopy(self._base)
        for (key, values), position in zip(self._axes, point):
            put(query, key, values[position])
        return query

    def line(self, point):
        if self._inner:
            return json.dumps(self.query(point))
        parts = [part[position] for part, position in zip(self._parts, point)]
        return "{" + ", ".join([self._start, *parts] if self._start else parts) + "}"
