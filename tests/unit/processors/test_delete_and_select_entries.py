"""delete_entries and select_entries, in both shapes."""

from __future__ import annotations

from typing import Any

import pytest

from meltline.errors import UserError
from tests.unit.processors.running import TYPED_ROW, change, run_typed


@pytest.mark.parametrize(
    ("config", "body", "expected"),
    [
        ({"with_keys": ["a"]}, '{"a": 1, "b": 1.50}', '{"b": 1.50}'),
        ({"with_keys": ["a", "b"]}, '{"a": {"x": 1}, "b": 1, "c": 1e3}', '{"c":1e3}'),
        ({"with_keys": ["/a/x"]}, '{"a":{"x":1,"y":2.50}}', '{"a":{"y":2.50}}'),
        ({"with_keys": ["zz"]}, '{"a": 1.50}', '{"a": 1.50}'),
        ({"with_keys": ["a"], "delete_when": "/a > 5"}, '{"a": 6}', "{}"),
        ({"with_keys": ["a"], "delete_when": "/a > 5"}, '{"a": 5}', '{"a": 5}'),
        ({"with_keys": ["a", "b"], "delete_when": "/a > 5"}, '{"a":6,"b":1}', "{}"),
        ({"with_keys": ["it's", "x.y"]}, '{"it\'s":1,"x.y":2,"é":3}', '{"é":3}'),
        ({"with_keys_regex": ["a.*", "x"]}, '{"a1":1,"ba":1.50,"x":2,"xx":null}',
         '{"ba":1.50,"xx":null}'),
        ({"with_keys_regex": ["a.*"], "exclude_from_delete": ["a2"]}, '{"a1":1,"a2":2.50}',
         '{"a2":2.50}'),
        ({"entries": [{"with_keys": ["a"], "delete_when": "/t"}, {"with_keys_regex": ["b"]}]},
         '{"a":1,"b":2,"t":false}', '{"a":1,"t":false}'),
    ],
)  # fmt: skip
def test_delete_from_json_events(config: dict[str, Any], body: str, expected: str) -> None:
    assert change({"delete_entries": config}, body) == expected


@pytest.mark.parametrize(
    ("config", "left"),
    [
        ({"with_keys": ["id", "zz"]}, "name price ratio flag ts tags o"),
        ({"with_keys_regex": ["(id|name)", "t.*"]}, "price ratio flag o"),
        ({"with_keys_regex": [".*"], "exclude_from_delete": ["o"]}, "o"),
        ({"with_keys_regex": [".*"]}, ""),
    ],
)
def test_delete_from_typed_events(config: dict[str, Any], left: str) -> None:
    rows, shape = run_typed([{"delete_entries": config}])
    assert list(shape.fields) == left.split()
    assert list(rows[0]["row"]) == left.split()


def test_delete_nested_and_from_some_typed_events() -> None:
    rows, shape = run_typed(
        [
            {"delete_entries": {"with_keys": ["o/x"]}},
            {"delete_entries": {"with_keys": ["id", "flag"], "delete_when": "/flag"}},
        ],
        [TYPED_ROW, {**TYPED_ROW, "flag": False, "o": None}],
    )
    assert [row["row"]["id"] for row in rows] == [None, 7]
    assert [row["row"]["flag"] for row in rows] == [None, False]
    assert [row["row"]["o"] for row in rows] == [{"y": "why"}, None]
    assert shape.fields["o"] == "STRUCT(y VARCHAR)"
    assert list(shape.fields)[-1] == "o"


@pytest.mark.parametrize(
    ("config", "body", "expected"),
    [
        ({"include_keys": ["a", "c"]}, '{"c": 1.50, "b": 1, "a": "x"}', '{"a":"x","c":1.50}'),
        ({"include_keys": ["a", "zz"]}, '{"a": null, "b": 1}', "{}"),
        ({"include_keys": ["/a/x", "b"]}, '{"a":{"x":1e3,"y":2},"b":3}', '{"b":3,"a":{"x":1e3}}'),
        ({"include_keys_regex": ["a.*"]}, '{"a1":null,"b":1,"ab":2.50}', '{"a1":null,"ab":2.50}'),
        ({"include_keys": ["b"], "include_keys_regex": ["a.*"]}, '{"a1":1,"b":2,"c":3}',
         '{"a1":1,"b":2}'),
        ({"include_keys": ["a"], "select_when": "/t"}, '{"a":1,"t":true}', '{"a":1}'),
        ({"include_keys": ["a"], "select_when": "/t"}, '{"a":1,"t":false}', '{"a":1,"t":false}'),
        ({"include_keys": ["é'", 'x"y']}, '{"é\'": "ü", "x\\"y": 1, "z": 1}',
         '{"é\'":"ü","x\\"y":1}'),
    ],
)  # fmt: skip
def test_select_from_json_events(config: dict[str, Any], body: str, expected: str) -> None:
    assert change({"select_entries": config}, body) == expected


def test_select_from_typed_events() -> None:
    rows, shape = run_typed(
        [{"select_entries": {"include_keys": ["id", "o/x", "zz"], "include_keys_regex": ["ra.*"]}}]
    )
    assert rows[0]["row"] == {"id": 7, "ratio": 2.5, "o": {"x": 1}}
    assert dict(shape.fields) == {"id": "INTEGER", "ratio": "DOUBLE", "o": "STRUCT(x INTEGER)"}


def test_select_from_some_typed_events() -> None:
    rows, shape = run_typed(
        [{"select_entries": {"include_keys": ["id"], "select_when": "/flag"}}],
        [TYPED_ROW, {**TYPED_ROW, "flag": False}],
    )
    assert [(r["row"]["id"], r["row"]["name"]) for r in rows] == [(7, None), (7, "abc")]
    assert len(shape.fields) == len(TYPED_ROW)
    with pytest.raises(UserError, match="select_when goes with columns only"):
        run_typed([{"select_entries": {"include_keys": ["o/x"], "select_when": "/flag"}}])
