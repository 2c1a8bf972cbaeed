"""Runs processors over events in a real DuckDB, in both shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from meltline.config.processors import ProcessorBlock
from meltline.model.event import Shape
from meltline.processors import compile_processors
from tests.unit.expressions.evaluation import connect

Blocks = Sequence[Mapping[str, Any]]
JSON_SHAPE = Shape("json", {"table_name": "VARCHAR", "count": "BIGINT"})
META = "{'table_name': 'orders', 'count': 5::BIGINT}"
BAD_TEXT = "no { json"
CONNECTION = connect()
FIELDS = {
    "id": "INTEGER",
    "name": "VARCHAR",
    "price": "DECIMAL(10,2)",
    "ratio": "DOUBLE",
    "flag": "BOOLEAN",
    "ts": "TIMESTAMP",
    "tags": "VARCHAR[]",
    "o": "STRUCT(x INTEGER, y VARCHAR)",
}
TYPED_SHAPE = Shape("typed", JSON_SHAPE.metadata, FIELDS)
TYPED_ROW: dict[str, Any] = {
    "id": 7,
    "name": "abc",
    "price": "12.50",
    "ratio": 2.5,
    "flag": True,
    "ts": "2024-05-06 07:08:09",
    "tags": ["t"],
    "o": {"x": 1, "y": "why"},
}


def _run(
    connection: duckdb.DuckDBPyConnection, blocks: Blocks, shape: Shape
) -> tuple[list[dict[str, Any]], Shape]:
    steps = compile_processors([ProcessorBlock.model_validate(block) for block in blocks], shape)
    for step in steps:
        # To Arrow and back, as the engine does it: the types must survive that.
        events = connection.sql(step.sql).to_arrow_table()
        connection.unregister("events")
        connection.register("events", events)
    found = connection.sql("SELECT * FROM events ORDER BY ord")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    connection.unregister("events")
    return rows, steps[-1].shape if steps else shape


def run_json(
    blocks: Blocks, bodies: Sequence[str], shape: Shape = JSON_SHAPE
) -> tuple[list[dict[str, Any]], Shape]:
    """One event per body, then a bad one, which is checked and left away."""
    connection = CONNECTION
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE now AS "
        f"SELECT unnest($1::VARCHAR[]) AS body, {META} AS meta, "
        "unnest(range(len($1::VARCHAR[]))) AS ord, NULL::VARCHAR AS bad",
        [[*bodies, BAD_TEXT]],
    )
    connection.execute("UPDATE now SET bad = 'not JSON' WHERE body = ?", [BAD_TEXT])
    connection.register("events", connection.sql("SELECT * FROM now").to_arrow_table())
    rows, after = _run(connection, blocks, shape)
    bad = rows.pop()
    assert bad["bad"] == "not JSON"
    assert bad["body"] == BAD_TEXT
    assert bad["meta"].get("table_name", "orders") == "orders"
    return rows, after


def change(block: Mapping[str, Any], body: str | Mapping[str, Any]) -> str:
    """The body after one processor."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    rows, shape = run_json([block], [text])
    assert shape.kind == "json"
    assert rows[0]["bad"] is None
    json.loads(rows[0]["body"])
    return str(rows[0]["body"])


def changed(block: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    return json.loads(change(block, body))


def metadata(block: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    rows, _ = run_json([block], [json.dumps(body)])
    return rows[0]["meta"]


def run_typed(
    blocks: Blocks, rows: Sequence[Mapping[str, Any]] = (TYPED_ROW,), shape: Shape = TYPED_SHAPE
) -> tuple[list[dict[str, Any]], Shape]:
    """One event per row, then a bad one without a row, which is checked and left away."""
    connection = CONNECTION
    struct = ", ".join(f'"{name}" {type_}' for name, type_ in shape.fields.items())
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE now AS "
        f'SELECT unnest($1::STRUCT({struct})[]) AS "row", {META} AS meta, '
        f"unnest(range({len(rows)})) AS ord, NULL::VARCHAR AS bad",
        [list(rows)],
    )
    connection.execute(f"INSERT INTO now VALUES (NULL, {META}, 99, 'not Avro')")
    connection.register("events", connection.sql("SELECT * FROM now").to_arrow_table())
    found, after = _run(connection, blocks, shape)
    bad = found.pop()
    assert (bad["bad"], bad["row"], bad["ord"]) == ("not Avro", None, 99)
    for row in found:
        assert row["row"] is None or list(row["row"]) == list(after.fields)
    return found, after
