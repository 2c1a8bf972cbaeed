"""add_entries, in both shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meltline.errors import UserError
from tests.unit.processors.running import (
    TYPED_ROW,
    change,
    changed,
    metadata,
    run_json,
    run_typed,
)


def block(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"add_entries": {"entries": list(entries)}}


@pytest.mark.parametrize(
    ("entry", "body", "expected"),
    [
        ({"key": "b", "value": 5}, '{"a": 1.50}', '{"a": 1.50,"b":5}'),
        ({"key": "b", "value": "é \"q\""}, '{"a": 1}', '{"a": 1,"b":"é \\"q\\""}'),
        ({"key": "b", "value": None}, '{"a": 1}', '{"a": 1,"b":null}'),
        ({"key": "b", "value": [1, {"x": None}]}, "{}", '{"b":[1, {"x": null}]}'),
        ({"key": "b/c", "value": True}, '{"a":1e3}', '{"a":1e3,"b":{"c":true}}'),
        ({"key": "/b/c", "value": 2}, '{"b":{"x":1.50}}', '{"b":{"x":1.50,"c":2}}'),
        ({"key": "a", "value": 2}, '{"a": 1}', '{"a": 1}'),
        ({"key": "a", "value": 2}, '{"a": null}', '{"a": null}'),
        ({"key": "a", "value": 2, "overwrite_if_key_exists": True}, '{"a": 1}', '{"a": 2}'),
        ({"key": "a", "value": None, "overwrite_if_key_exists": True}, '{"a": 1}', '{"a": null}'),
        ({"key": "a", "value": 2, "append_if_key_exists": True}, '{"a": 1.50}', '{"a": [1.50,2]}'),
        ({"key": "a", "value": 2, "append_if_key_exists": True}, '{"a":[1e3]}', '{"a":[1e3,2]}'),
        ({"key": "a", "value": 2, "append_if_key_exists": True}, '{"a": []}', '{"a":[2]}'),
        ({"key": "a", "value": 2, "append_if_key_exists": True}, '{"a": null}', '{"a": [null,2]}'),
        ({"key": "a", "value": 2, "append_if_key_exists": True}, '{"b": 1}', '{"b": 1,"a":2}'),
        ({"key": "b", "format": "${a}-x"}, '{"a": 1}', '{"a": 1,"b":"1-x"}'),
        ({"key": "b", "format": "${zz}-x"}, '{"a": 1}', '{"a": 1,"b":null}'),
        ({"key": "b", "value_expression": "/a"}, '{"a": 1.50}', '{"a": 1.50,"b":1.50}'),
        ({"key": "b", "value_expression": "/a"}, '{"a":[1e3, 2]}', '{"a":[1e3, 2],"b":[1e3,2]}'),
        ({"key": "b", "value_expression": "/zz"}, '{"a": 1}', '{"a": 1,"b":null}'),
        ({"key": "b", "value_expression": "/a + 1"}, '{"a": 1}', '{"a": 1,"b":2}'),
        ({"key": "b", "value_expression": "/a / 2"}, '{"a": 1}', '{"a": 1,"b":0.5}'),
        ({"key": "b", "value_expression": "/a / 0"}, '{"a": 1}', '{"a": 1,"b":null}'),
        ({"key": "b", "value_expression": "/a + 1"}, '{"a": "x"}', '{"a": "x"}'),
        ({"key": "b", "value_expression": "/a == 1"}, '{"a": 1}', '{"a": 1,"b":true}'),
        ({"key": "b", "value_expression": 'getMetadata("count")'}, "{}", '{"b":5}'),
        ({"key": "b", "value_expression": "length(/a)"}, '{"a": "xyz"}', '{"a": "xyz","b":3}'),
        ({"key": "b", "value": 1, "add_when": "/a == 1"}, '{"a": 1}', '{"a": 1,"b":1}'),
        ({"key": "b", "value": 1, "add_when": "/a == 1"}, '{"a": 2}', '{"a": 2}'),
        ({"key": "x.y z's", "value": 1}, "{}", '{"x.y z\'s":1}'),
        ({"key": "x~1y", "value": 1}, '{"a": 1}', '{"a": 1,"x/y":1}'),
    ],
)  # fmt: skip
def test_json_events(entry: dict[str, Any], body: str, expected: str) -> None:
    assert change(block(entry), body) == expected


def test_an_entry_sees_the_ones_before_it() -> None:
    found = changed(
        block(
            {"key": "b", "value_expression": "/a + 1"},
            {"key": "c", "format": "${b}!"},
            {"metadata_key": "m", "value_expression": "/c"},
            {"key": "d", "value_expression": 'getMetadata("m")'},
        ),
        {"a": 1},
    )
    assert found == {"a": 1, "b": 2, "c": "2!", "d": "2!"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"metadata_key": "new", "value": 5}, {"new": 5}),
        ({"metadata_key": "new", "value": "x"}, {"new": "x"}),
        ({"metadata_key": "new", "format": "${a}"}, {"new": "1"}),
        ({"metadata_key": "new", "value_expression": "/a"}, {"new": "1"}),
        ({"metadata_key": "new", "value_expression": "/s"}, {"new": '"text"'}),
        ({"metadata_key": "new", "value": 5, "add_when": "/a == 2"}, {"new": None}),
        ({"metadata_key": "table_name", "value": "x"}, {"table_name": "orders"}),
        ({"metadata_key": "table_name", "value_expression": "/s", "overwrite_if_key_exists": True},
         {"table_name": "text"}),
        ({"metadata_key": "table_name", "value": "x", "overwrite_if_key_exists": True,
          "add_when": "/a == 2"}, {"table_name": "orders"}),
        ({"metadata_key": "count", "value": "7", "overwrite_if_key_exists": True}, {"count": 7}),
    ],
)  # fmt: skip
def test_metadata(entry: dict[str, Any], expected: dict[str, Any]) -> None:
    assert metadata(block(entry), {"a": 1, "s": "text"}) == {
        "table_name": "orders", "count": 5, **expected,
    }  # fmt: skip


def test_metadata_keeps_the_type_of_a_json_value() -> None:
    rows, shape = run_json(
        [
            block({"metadata_key": "m", "value_expression": "/a"}),
            block({"key": "is_big", "value_expression": 'getMetadata("m") > 3'}),
        ],
        ['{"a":5}', '{"a":"5"}', "{}"],
    )
    assert shape.metadata["m"] == "JSON"
    assert [json.loads(row["body"])["is_big"] for row in rows] == [True, False, False]


@pytest.mark.parametrize(
    ("entry", "expected", "type_"),
    [
        ({"key": "new", "value": 5}, 5, "BIGINT"),
        ({"key": "new", "value": "x"}, "x", "VARCHAR"),
        ({"key": "new", "value": None}, None, "VARCHAR"),
        ({"key": "new", "value": {"a": [1]}}, '{"a": [1]}', "JSON"),
        ({"key": "new", "format": "${id}-${name}"}, "7-abc", "VARCHAR"),
        ({"key": "new", "value_expression": "/price"}, "12.50", "DECIMAL(10,2)"),
        ({"key": "new", "value_expression": "/id * 2"}, 14, "BIGINT"),
        ({"key": "new", "value_expression": "/o"}, {"x": 1, "y": "why"},
         "STRUCT(x INTEGER, y VARCHAR)"),
        ({"key": "new", "value": 1, "add_when": "/id == 8"}, None, "BIGINT"),
        ({"key": "new", "value": 1, "add_when": "/id == 7"}, 1, "BIGINT"),
        ({"key": "id", "value": "x"}, 7, "INTEGER"),
        ({"key": "id", "value": "x", "overwrite_if_key_exists": True}, "x", "VARCHAR"),
        ({"key": "name", "value": "x", "overwrite_if_key_exists": True, "add_when": "/id == 8"},
         "abc", "VARCHAR"),
        ({"key": "name", "value": "x", "append_if_key_exists": True}, ["abc", "x"], "VARCHAR[]"),
        ({"key": "tags", "value": "x", "append_if_key_exists": True}, ["t", "x"], "VARCHAR[]"),
    ],
)  # fmt: skip
def test_typed_events(entry: dict[str, Any], expected: Any, type_: str) -> None:
    rows, shape = run_typed([block(entry)])
    found = rows[0]["row"][entry["key"]]
    assert (str(found) if entry.get("value_expression") == "/price" else found) == expected
    assert shape.fields[entry["key"]] == type_


def test_nested_typed_fields() -> None:
    rows, shape = run_typed(
        [block({"key": "o/z", "value": 9}, {"key": "p/q/r", "format": "${o/z}"})],
        [TYPED_ROW, {**TYPED_ROW, "o": None}],
    )
    assert rows[0]["row"]["o"] == {"x": 1, "y": "why", "z": 9}
    assert rows[1]["row"]["o"] == {"x": None, "y": None, "z": 9}
    assert rows[0]["row"]["p"] == {"q": {"r": "9"}}
    assert shape.fields["p"] == "STRUCT(q STRUCT(r VARCHAR))"


def test_a_typed_column_has_one_type() -> None:
    entry = {"key": "id", "value": "x", "overwrite_if_key_exists": True, "add_when": "/id == 8"}
    with pytest.raises(UserError, match="would make /id a VARCHAR in some events"):
        run_typed([block(entry)])


def test_a_typed_list_cannot_be_changed_inside() -> None:
    with pytest.raises(UserError, match=r"cannot change /tags/0: tags is of type VARCHAR\[\]"):
        run_typed([block({"key": "tags/0", "value": "x"})])


def test_uuids_of_two_entries_differ_and_repeat() -> None:
    entries = block(*({"key": k, "value_expression": "generateUuid()"} for k in "ab"))
    found = [changed(entries, {}) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0]["a"] != found[0]["b"]
