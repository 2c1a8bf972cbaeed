"""Runs compiled expressions over events in a real DuckDB, in both shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from meltline.expressions import compile_condition, compile_format, compile_value
from meltline.model.event import Shape

METADATA = {
    "table_name": "VARCHAR",
    "count": "BIGINT",
    "ratio": "DOUBLE",
    "live": "BOOLEAN",
    "tags": "VARCHAR[]",
    "nested": "STRUCT(deep VARCHAR, list BIGINT[])",
    "any": "JSON",
    "empty": "VARCHAR",
}
METADATA_SQL = """{
    'table_name': 'orders', 'count': 5, 'ratio': 1.5::DOUBLE, 'live': TRUE, 'tags': ['a', 'b'],
    'nested': {'deep': 'down', 'list': [10, 20]}, 'any': '{"k": [1, true, "x"]}'::JSON,
    'empty': NULL::VARCHAR
}"""
JSON_SHAPE = Shape("json", METADATA)
FIELDS = {
    "n": "INTEGER",
    "big": "BIGINT",
    "d": "DOUBLE",
    "dec": "DECIMAL(10,2)",
    "s": "VARCHAR",
    "b": "BOOLEAN",
    "ts": "TIMESTAMP",
    "day": "DATE",
    "list": "BIGINT[]",
    "map": "MAP(VARCHAR, BIGINT)",
    "o": "STRUCT(x INTEGER, y STRUCT(z VARCHAR))",
    "j": "JSON",
    "gone": "VARCHAR",
    "odd key/é": "INTEGER",
}
TYPED_SHAPE = Shape("typed", METADATA, FIELDS)
TYPED_ROW = """{
    'n': 7::INTEGER, 'big': 9007199254740993, 'd': 2.5::DOUBLE, 'dec': 12.50::DECIMAL(10,2),
    's': 'abc', 'b': TRUE, 'ts': TIMESTAMP '2024-05-06 07:08:09', 'day': DATE '2024-05-06',
    'list': [1, 2, 3]::BIGINT[], 'map': MAP {'k': 5::BIGINT},
    'o': {'x': 1::INTEGER, 'y': {'z': 'deep'}}, 'j': '{"a": [1.50, "x"]}'::JSON,
    'gone': NULL::VARCHAR, 'odd key/é': 3::INTEGER
}"""
NOW_MS = 1_700_000_000_000


def connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET VARIABLE meltline_now_ms = {NOW_MS}")
    connection.execute("SET VARIABLE meltline_epoch_seed = 'epoch-1/split-0'")
    return connection


_CONNECTION = connect()


def run_json(sql: str, bodies: Sequence[str]) -> list[Any]:
    """SQL over one event per body, in order; `ord` counts from 0."""
    source = (
        f"SELECT unnest($1::VARCHAR[]) AS body, {METADATA_SQL} AS meta, "
        f"unnest(range(len($1::VARCHAR[]))) AS ord, NULL::VARCHAR AS bad"
    )
    query = f"SELECT {sql} FROM ({source}) ORDER BY ord"
    return [row[0] for row in _CONNECTION.execute(query, [list(bodies)]).fetchall()]


def run_typed(sql: str, row: str = TYPED_ROW) -> Any:
    source = f'SELECT {row} AS "row", {METADATA_SQL} AS meta, 0::BIGINT AS ord, NULL AS bad'
    found = _CONNECTION.execute(f"SELECT {sql} FROM ({source})").fetchone()
    assert found is not None
    return found[0]


def condition(text: str, event: Mapping[str, Any] | str) -> Any:
    body = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return run_json(compile_condition(text, JSON_SHAPE), [body])[0]


def typed_condition(text: str) -> Any:
    return run_typed(compile_condition(text, TYPED_SHAPE))


def value(text: str, event: Mapping[str, Any] | str) -> tuple[Any, str, bool]:
    """The value, its type and whether it failed."""
    body = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    compiled = compile_value(text, JSON_SHAPE)
    failed = run_json(compiled.failed, [body])[0]
    return run_json(compiled.sql, [body])[0], compiled.type, failed


def typed_value(text: str) -> tuple[Any, str]:
    compiled = compile_value(text, TYPED_SHAPE)
    return run_typed(compiled.sql), compiled.type


def formatted(text: str, event: Mapping[str, Any] | str) -> Any:
    body = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return run_json(compile_format(text, JSON_SHAPE), [body])[0]


def typed_formatted(text: str) -> Any:
    return run_typed(compile_format(text, TYPED_SHAPE))
