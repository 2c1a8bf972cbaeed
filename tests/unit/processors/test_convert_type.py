"""convert_type, in both shapes."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from meltline.errors import UserError
from meltline.model.event import Shape
from tests.unit.processors.running import TYPED_ROW, change, run_json, run_typed

FAILS = None


@pytest.mark.parametrize(
    ("type_", "raw", "expected"),
    [
        ("integer", '"5"', "5"),
        ("integer", '"-5"', "-5"),
        ("integer", '"+5"', "5"),
        ("integer", '"5.7"', FAILS),
        ("integer", '" 5"', FAILS),
        ("integer", '""', FAILS),
        ("integer", '"2147483648"', FAILS),
        ("integer", "2147483648", FAILS),
        ("integer", "5", "5"),
        ("integer", "5.7", "5"),
        ("integer", "-5.7", "-5"),
        ("integer", "1e3", "1000"),
        ("integer", "true", "1"),
        ("integer", "false", "0"),
        ("integer", '{"x":1}', FAILS),
        ("integer", '["1", 2, true]', "[1,2,1]"),
        ("integer", '["1", "x"]', FAILS),
        ("integer", "[1, null]", FAILS),
        ("integer", "[]", "[]"),
        ("long", '"9223372036854775807"', "9223372036854775807"),
        ("long", '"9223372036854775808"', FAILS),
        ("long", "1e30", FAILS),
        ("long", "12.9", "12"),
        ("double", '"1.5"', "1.5"),
        ("double", '" 15 "', "15.0"),
        ("double", '"1e400"', FAILS),
        ("double", '"NaN"', FAILS),
        ("double", '".5"', "0.5"),
        ("double", "5", "5.0"),
        ("double", "1.50", "1.50"),
        ("double", "true", "1.0"),
        ("double", '"abc"', FAILS),
        ("string", "5", '"5"'),
        ("string", "12345678901234567.891", '"12345678901234567.891"'),
        ("string", "1.50", '"1.50"'),
        ("string", "true", '"true"'),
        ("string", '"x"', '"x"'),
        ("string", '{"x":1}', FAILS),
        ("string", "[1.50, true]", '["1.50","true"]'),
        ("boolean", '"TRUE"', "true"),
        ("boolean", '"yes"', "false"),
        ("boolean", "0", "false"),
        ("boolean", "0.1", "true"),
        ("boolean", "true", "true"),
        ("big_decimal", '"12345678901234567.8910"', "12345678901234567.8910"),
        ("big_decimal", '"+007.50"', "7.50"),
        ("big_decimal", '"1E3"', "1E3"),
        ("big_decimal", "1.50", "1.50"),
        ("big_decimal", "true", "1"),
        ("big_decimal", '"abc"', FAILS),
    ],
)  # fmt: skip
def test_json_values(type_: str, raw: str, expected: str | None) -> None:
    block = {"convert_type": {"key": "v", "type": type_, "tags_on_failure": ["failed"]}}
    rows, shape = run_json([block], [f'{{"v": {raw}, "n": 1.50}}'])
    body = rows[0]["body"]
    if expected is FAILS:
        assert body == f'{{"v": {raw}, "n": 1.50}}'
    else:
        assert body.replace(" ", "") == f'{{"v":{expected},"n":1.50}}'
    assert rows[0]["meta"]["tags"] == (["failed"] if expected is FAILS else None)
    assert shape.metadata["tags"] == "VARCHAR[]"


@pytest.mark.parametrize(
    ("raw", "scale", "expected"),
    [
        ('"2.345"', 2, "2.34"),
        ('"2.355"', 2, "2.36"),
        ('"2"', 2, "2.00"),
        ("1.5", 3, "1.500"),
        ('"1e3"', 1, "1000.0"),
        ("false", 2, "0.00"),
    ],
)
def test_the_scale_of_a_decimal(raw: str, scale: int, expected: str) -> None:
    block = {"convert_type": {"key": "v", "type": "big_decimal", "scale": scale}}
    assert change(block, f'{{"v":{raw}}}') == f'{{"v":{expected}}}'


@pytest.mark.parametrize(
    ("config", "body", "expected"),
    [
        ({"keys": ["a", "b/c", "zz"]}, '{"a":"1","b":{"c":"2","d":1.50}}',
         '{"a":1,"b":{"c":2,"d":1.50}}'),
        ({"key": "a"}, '{"a": null}', '{"a": null}'),
        ({"key": "a"}, '{"b": 1}', '{"b": 1}'),
        ({"key": "a", "null_values": ["-", "0"]}, '{"a": "-", "b": 1e3}', '{"b": 1e3}'),
        ({"key": "a", "null_conversion_values": ["-", "0"]}, '{"a": 0}', "{}"),
        ({"key": "a", "null_values": ["-"]}, '{"a": "5"}', '{"a": 5}'),
        ({"key": "a", "convert_when": "/t"}, '{"a": "5", "t": true}', '{"a": 5, "t": true}'),
        ({"key": "a", "convert_when": "/t"}, '{"a": "5"}', '{"a": "5"}'),
        ({"key": "a'b"}, '{"a\'b": "5"}', '{"a\'b": 5}'),
    ],
)  # fmt: skip
def test_json_options(config: dict[str, Any], body: str, expected: str) -> None:
    assert change({"convert_entry_type": config}, body) == expected


def test_tags_are_added_once_and_seen_by_the_next_processor() -> None:
    rows, _ = run_json(
        [
            {"convert_type": {"keys": ["a", "b"], "tags_on_failure": ["x", "y"]}},
            {"convert_type": {"key": "a", "tags_on_failure": ["y", "z"]}},
            {"add_entries": {"entries": [
                {"key": "t", "value_expression": 'hasTags("x", "z")'}]}},
        ],
        ['{"a":"?","b":"?"}', '{"a":"1","b":"?"}', '{"a":"1","b":"2"}'],
    )  # fmt: skip
    assert [row["meta"]["tags"] for row in rows] == [["x", "y", "z"], ["x", "y"], None]
    assert [json.loads(row["body"])["t"] for row in rows] == [True, False, False]


@pytest.mark.parametrize(
    ("key", "type_", "expected", "column"),
    [
        ("id", "long", 7, "BIGINT"),
        ("id", "string", "7", "VARCHAR"),
        ("id", "double", 7.0, "DOUBLE"),
        ("id", "boolean", True, "BOOLEAN"),
        ("id", "big_decimal", Decimal(7), "DECIMAL(38,0)"),
        ("price", "integer", 12, "INTEGER"),
        ("price", "big_decimal", Decimal("12.50"), "DECIMAL(10,2)"),
        ("price", "string", "12.50", "VARCHAR"),
        ("ratio", "long", 2, "BIGINT"),
        ("flag", "integer", 1, "INTEGER"),
        ("ts", "string", "2024-05-06 07:08:09", "VARCHAR"),
        ("tags", "string", ["t"], "VARCHAR[]"),
        ("o/x", "string", {"x": "1", "y": "why"}, "STRUCT(x VARCHAR, y VARCHAR)"),
    ],
)
def test_typed_columns(key: str, type_: str, expected: Any, column: str) -> None:
    rows, shape = run_typed([{"convert_type": {"key": key, "type": type_}}])
    top = key.split("/")[0]
    assert rows[0]["row"][top] == expected
    assert shape.fields[top] == column
    assert rows[0]["bad"] is None


TEXTS = Shape("typed", {}, {"v": "VARCHAR", "l": "VARCHAR[]", "j": "JSON"})


def test_typed_texts_that_do_not_convert_are_never_lost_in_silence() -> None:
    rows = [{"v": text, "l": None, "j": None} for text in ("5", "x", None, "-")]
    config: dict[str, Any] = {"key": "v", "null_values": ["-"]}
    found, _ = run_typed([{"convert_type": config}], rows, TEXTS)
    assert [row["row"]["v"] for row in found] == [5, None, None, None]
    assert [row["bad"] for row in found] == [None, "convert_type: /v is no integer: x", None, None]
    tagged = {"convert_type": {**config, "tags_on_failure": ["t"]}}
    found, shape = run_typed([tagged], rows, TEXTS)
    assert [row["meta"]["tags"] for row in found] == [None, ["t"], None, None]
    assert [row["bad"] for row in found] == [None] * 4
    assert shape.fields["v"] == "INTEGER"


def test_typed_lists_and_json() -> None:
    rows = [{"v": "", "l": ["1", "2"], "j": '"5"'}, {"v": "", "l": ["1", "x"], "j": "true"}]
    blocks = [{"convert_type": {"keys": ["l", "j"], "tags_on_failure": ["t"]}}]
    found, shape = run_typed(blocks, rows, TEXTS)
    assert [row["row"]["l"] for row in found] == [[1, 2], None]
    assert [row["row"]["j"] for row in found] == [5, 1]
    assert (shape.fields["l"], shape.fields["j"]) == ("INTEGER[]", "INTEGER")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"key": "o"}, "cannot convert /o"),
        ({"key": "ts"}, "cannot convert /ts"),
        ({"key": "name", "type": "big_decimal"}, "needs a scale"),
        ({"key": "name", "convert_when": "/flag"}, "in some events only"),
    ],
)
def test_what_typed_events_refuse(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        run_typed([{"convert_type": config}])


def test_what_is_of_the_type_already_may_have_a_condition() -> None:
    rows, _ = run_typed([{"convert_type": {"key": "id", "convert_when": "/flag"}}], [TYPED_ROW])
    assert rows[0]["row"]["id"] == 7
