"""rename_keys, in both shapes."""

from __future__ import annotations

from typing import Any

import pytest

from meltline.errors import UserError
from tests.unit.processors.running import TYPED_ROW, change, run_typed


def block(**entry: Any) -> dict[str, Any]:
    return {"rename_keys": {"entries": [entry]}}


@pytest.mark.parametrize(
    ("entry", "body", "expected"),
    [
        ({"from_key": "a", "to_key": "b"}, '{"a": 1.50, "c": 2}', '{"c": 2,"b":1.50}'),
        ({"from_key": "a", "to_key": "b"}, '{"a": {"x":1e3}}', '{"b":{"x":1e3}}'),
        ({"from_key": "a", "to_key": "b"}, '{"a": null}', '{"b":null}'),
        ({"from_key": "a", "to_key": "b"}, '{"c": 1e3}', '{"c": 1e3}'),
        ({"from_key": "a", "to_key": "b"}, '{"a": 1, "b": 2}', '{"a": 1, "b": 2}'),
        ({"from_key": "a", "to_key": "b", "overwrite_if_to_key_exists": True},
         '{"a": 1.50, "b": 2}', '{"b": 1.50}'),
        ({"from_key": "a", "to_key": "a"}, '{"a": 1}', '{"a": 1}'),
        ({"from_key": "a/b", "to_key": "c"}, '{"a":{"b":1,"x":2}}', '{"a":{"x":2},"c":1}'),
        ({"from_key": "a", "to_key": "o/p"}, '{"a":1,"o":{}}', '{"o":{"p":1}}'),
        ({"from_key": "a", "to_key": "b", "rename_when": "/t == 1"}, '{"a":1,"t":1}',
         '{"t":1,"b":1}'),
        ({"from_key": "a", "to_key": "b", "rename_when": "/t == 1"}, '{"a":1,"t":2}',
         '{"a":1,"t":2}'),
        ({"from_key": "x.y ' z", "to_key": "é"}, '{"x.y \' z":1}', '{"é":1}'),
        ({"from_key": "x~1y", "to_key": "b"}, '{"x/y":1.50}', '{"b":1.50}'),
        ({"from_key_regex": "a.*", "to_key": "b"}, '{"a1":1.50,"a2":2,"c":3}',
         '{"a2":2,"c":3,"b":1.50}'),
        ({"from_key_regex": "a.*", "to_key": "b", "overwrite_if_to_key_exists": True},
         '{"a1":1,"a2":2.50,"b":0,"c":3}', '{"b":2.50,"c":3}'),
        ({"from_key_regex": "a", "to_key": "b"}, '{"aa":1}', '{"aa":1}'),
        ({"from_key_regex": "a.*", "to_key": "b"}, '{"a/~":1,"b":2}', '{"a/~":1,"b":2}'),
        ({"from_key_regex": "a.*", "to_key": "b"}, '{"a/~":1e3}', '{"b":1e3}'),
    ],
)  # fmt: skip
def test_json_events(entry: dict[str, Any], body: str, expected: str) -> None:
    assert change(block(**entry), body) == expected


@pytest.mark.parametrize(
    ("entry", "gone", "key", "expected"),
    [
        ({"from_key": "id", "to_key": "new"}, "id", "new", 7),
        ({"from_key": "id", "to_key": "name"}, None, "name", "abc"),
        ({"from_key": "id", "to_key": "name", "overwrite_if_to_key_exists": True}, "id", "name", 7),
        ({"from_key": "zz", "to_key": "new"}, None, "id", 7),
        ({"from_key": "o/x", "to_key": "new"}, None, "o", {"y": "why"}),
        ({"from_key": "id", "to_key": "o/z"}, "id", "o", {"x": 1, "y": "why", "z": 7}),
        ({"from_key_regex": "i.|ra.*", "to_key": "new"}, "id", "new", 7),
        ({"from_key_regex": "ratio|id", "to_key": "new", "overwrite_if_to_key_exists": True},
         "ratio", "new", 2.5),
    ],
)  # fmt: skip
def test_typed_events(entry: dict[str, Any], gone: str | None, key: str, expected: Any) -> None:
    rows, shape = run_typed([block(**entry)])
    assert rows[0]["row"][key] == expected
    assert gone not in shape.fields


def test_some_typed_events() -> None:
    rows, shape = run_typed(
        [block(from_key="id", to_key="new", rename_when="/flag")],
        [TYPED_ROW, {**TYPED_ROW, "flag": False}],
    )
    assert [(row["row"]["id"], row["row"]["new"]) for row in rows] == [(None, 7), (7, None)]
    assert shape.fields["new"] == "INTEGER"


def test_a_typed_column_has_one_type() -> None:
    entry = {"from_key": "id", "to_key": "name", "rename_when": "/flag",
             "overwrite_if_to_key_exists": True}  # fmt: skip
    with pytest.raises(UserError, match="would make /name a INTEGER in some events"):
        run_typed([block(**entry)])
