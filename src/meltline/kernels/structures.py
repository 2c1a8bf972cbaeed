"""The structures of JSON events, as DuckDB's json_structure describes them.

json_structure fails beyond 128 levels, with an error that takes the whole database with it. So a
field that is nested too deeply is left out beforehand: it says nothing about its type.
"""

from __future__ import annotations

import json
import re

import duckdb
import pyarrow as pa

DEEPEST = 100
_DEEP = "meltline_deep_events"
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def find_structures(connection: duckdb.DuckDBPyConnection, events: str) -> list[str]:
    """Each different structure once. Events are bodies that are valid JSON objects."""
    deep = [(ord_, body) for ord_, body in connection.sql(bracketed_sql(events)).fetchall()
            if nesting(body) > DEEPEST]
    found = connection.sql(structures_sql(events, [ord_ for ord_, _ in deep])).fetchall()
    if deep:
        shallow = [_without_deep_fields(connection, body) for _, body in deep]
        connection.register(_DEEP, pa.table({"body": shallow, "ord": [ord_ for ord_, _ in deep]}))
        found += connection.sql(structures_sql(_DEEP, [])).fetchall()
        connection.unregister(_DEEP)
    return [text for (text,) in found]


def structures_sql(events: str, without: list[int]) -> str:
    where = f" WHERE ord NOT IN ({', '.join(map(str, without))})" if without else ""
    return f"SELECT DISTINCT json_structure(body::JSON)::VARCHAR AS structure FROM {events}{where}"


def bracketed_sql(events: str) -> str:
    """Events with enough brackets to be nested deeply. Most have not, and counting is cheap."""
    others = "strlen(replace(replace(body, '[', ''), '{', ''))"
    return f"SELECT ord, body FROM {events} WHERE strlen(body) - {others} > {DEEPEST}"


def nesting(text: str) -> int:
    """How many brackets are open at once, at most."""
    depth = deepest = 0
    for mark in _MARKS.finditer(text):
        first = mark[0][0]
        if first in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in "]}":
            depth -= 1
    return deepest


def _without_deep_fields(connection: duckdb.DuckDBPyConnection, body: str) -> str:
    entries = "map_entries(json_transform($1, '\"MAP(VARCHAR,JSON)\"'))"
    fields = connection.execute(
        f"SELECT unnest({entries}, recursive := true)", [body]).fetchall()
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in fields
                          if value is not None and nesting(value) < DEEPEST) + "}"
