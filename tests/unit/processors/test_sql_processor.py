"""sql, in both shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meltline.errors import UserError
from meltline.model.event import Shape
from tests.unit.processors.running import JSON_SHAPE, TYPED_ROW, run_json, run_typed


def block(query: str) -> dict[str, Any]:
    return {"sql": {"query": query}}


def test_json_stays_json() -> None:
    rows, shape = run_json(
        [block("SELECT json_set(body, '/b', '2'::JSON) AS body, meta, ord FROM events")],
        ['{"a":1}', '{"a":2}'],
    )
    assert [json.loads(row["body"]) for row in rows] == [{"a": 1, "b": 2}, {"a": 2, "b": 2}]
    assert [row["bad"] for row in rows] == [None, None]
    assert shape == JSON_SHAPE


def test_rows_may_go_and_come() -> None:
    query = """
        WITH wanted AS (SELECT * FROM events WHERE (body->>'a')::INT <> 2)
        SELECT body, meta, ord FROM wanted, range(2) -- both
        ;
    """
    rows, _ = run_json([block(query)], ['{"a":1}', '{"a":2}'])
    assert [row["body"] for row in rows] == ['{"a":1}', '{"a":1}']


def test_json_becomes_typed() -> None:
    query = """SELECT (body->>'id')::INTEGER AS id, body->'o' AS o, meta, ord FROM events"""
    rows, shape = run_json([block(query)], ['{"id":7,"o":{"x":1}}', "{}"])
    assert [row["row"] for row in rows] == [{"id": 7, "o": '{"x":1}'}, {"id": None, "o": None}]
    assert shape == Shape("typed", JSON_SHAPE.metadata, {"id": "INTEGER", "o": "JSON"})
    # the harness has checked that the bad event kept its text
    assert [row["body"] for row in rows] == [None, None]


def test_what_comes_after_works_with_the_new_shape() -> None:
    rows, shape = run_json(
        [
            block("SELECT (body->>'id')::INTEGER AS id, meta, ord FROM events"),
            {"add_entries": {"entries": [{"key": "next", "value_expression": "/id + 1"}]}},
            block("SELECT id + next AS sum, meta, ord FROM events"),
        ],
        ['{"id":7}'],
    )
    assert rows[0]["row"] == {"sum": 15}
    assert shape.fields == {"sum": "BIGINT"}


def test_metadata_can_change() -> None:
    query = (
        "SELECT body, {'n': meta.count + 1, 'table_name': meta.table_name} AS meta, ord FROM events"
    )
    rows, shape = run_json([block(query)], ["{}"])
    assert rows[0]["meta"] == {"n": 6, "table_name": "orders"}
    assert shape.metadata == {"n": "BIGINT", "table_name": "VARCHAR"}


def test_what_is_no_object_is_a_bad_event() -> None:
    query = "SELECT json_extract_string(body, 'x') AS body, meta, ord FROM events"
    rows, _ = run_json([block(query)], ['{"x":"{\\"a\\":1}"}', '{"x":"no"}', '{"x":[1]}', "{}"])
    reason = "the sql processor returned no JSON object"
    assert [row["bad"] for row in rows] == [None, reason, reason, reason]


def test_typed_events() -> None:
    rows, shape = run_typed(
        [block("SELECT upper(name) AS name, o.x AS x, meta, ord FROM events WHERE id = 7")],
        [TYPED_ROW, {**TYPED_ROW, "id": 8}],
    )
    assert [row["row"] for row in rows] == [{"name": "ABC", "x": 1}]
    assert dict(shape.fields) == {"name": "VARCHAR", "x": "INTEGER"}


@pytest.mark.parametrize(
    ("query", "what", "hint"),
    [
        ("SELECT body FROM events", "does not return meta and ord", "select meta, ord too"),
        ("SELECT body, meta FROM events", "does not return ord", "every row must keep its place"),
        ("SELECT bdy, meta, ord FROM events", 'column "bdy" not found', "body, meta and ord"),
        ("SELECT body, 5 AS meta, ord FROM events", "column meta is a INTEGER", "as it is"),
        ("SELECT body, meta, 'x' AS ord FROM events", "column ord is a VARCHAR", "as it is"),
        ("SELECT body, 1 AS x, meta, ord FROM events", "returns body and also x", "return body"),
        ("SELECT bad, meta, ord FROM events", '"bad" not found', "columns body"),
    ],
)  # fmt: skip
def test_mistakes(query: str, what: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        run_json([block(query)], ["{}"])
    assert what in caught.value.what
    assert hint in (caught.value.hint or "")


def test_a_typed_column_cannot_be_called_ord() -> None:
    shape = Shape("typed", JSON_SHAPE.metadata, {"ord": "INTEGER"})
    with pytest.raises(UserError, match='cannot tell the column "ord" from its own'):
        run_typed([block("SELECT meta, ord FROM events")], [{"ord": 1}], shape)
