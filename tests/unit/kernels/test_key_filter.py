"""Filters that let through every row with one of the keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    DecimalType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    UUIDType,
)

from meltline.kernels.bounds import decode_bound
from meltline.kernels.key_filter import between_bounds, listed_keys
from tests.unit.kernels.lookups import data_file, keys_of

SCHEMA = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "day", DateType()),
                NestedField(3, "price", DecimalType(9, 2)), NestedField(4, "u", UUIDType()))
BYTES = bytes(16)


def parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def content(tmp_path: Path, **columns: list[Any]) -> dict[str, Any]:
    count = len(next(iter(columns.values())))
    whole: dict[str, list[Any]] = {
        "id": [0] * count, "day": [0] * count, "price": [0] * count, "u": [BYTES] * count,
        **columns}
    name = f"{len(list(tmp_path.iterdir()))}.parquet"
    return dict(data_file(tmp_path / name, SCHEMA, whole).content)


def test_few_keys_are_listed() -> None:
    keys = keys_of(SCHEMA, ["id", "day"], {"id": [5, 5], "day": [0, None]})
    found = parsed(listed_keys(SCHEMA, keys))
    assert found["left"] == {"type": "in", "term": "id", "values": [5]}
    assert found["right"] == {
        "type": "or", "left": {"type": "in", "term": "day", "values": ["1970-01-01"]},
        "right": {"type": "is-null", "term": "day"}}


def test_many_keys_lie_between_bounds(tmp_path: Path) -> None:
    files = [content(tmp_path, id=[5, 9]), content(tmp_path, id=[-3, 7])]
    assert parsed(between_bounds(SCHEMA, [1], files)) == {
        "type": "and", "left": {"type": "gt-eq", "term": "id", "value": -3},
        "right": {"type": "lt-eq", "term": "id", "value": 9}}


def test_nulls_are_let_through(tmp_path: Path) -> None:
    files = [content(tmp_path, day=[3, None])]
    assert parsed(between_bounds(SCHEMA, [2], files))["right"] == {"type": "is-null", "term": "day"}
    no_nulls = [content(tmp_path, day=[3, 4])]
    assert parsed(between_bounds(SCHEMA, [2], no_nulls))["type"] == "and"
    assert parsed(between_bounds(SCHEMA, [2], no_nulls, nulls=True))["type"] == "or"
    assert parsed(between_bounds(SCHEMA, [1], no_nulls, nulls=True))["type"] == "and"


def test_without_bounds_nothing_is_said(tmp_path: Path) -> None:
    assert between_bounds(SCHEMA, [4], [content(tmp_path, id=[1])]) is None
    bare = {"content": "data"}
    assert between_bounds(SCHEMA, [1], [content(tmp_path, id=[1]), bare]) is None
    assert listed_keys(SCHEMA, keys_of(SCHEMA, ["u"], {"u": [BYTES]})) is None


def test_bounds_are_older_than_the_type() -> None:
    assert decode_bound(LongType(), bytes.fromhex("ffffffff")) == -1
    assert decode_bound(TimestampType(), bytes.fromhex("01000000")) == 86_400_000_000
    assert decode_bound(TimestampType(), (5).to_bytes(8, "little")) == 5
    assert decode_bound(StringType(), "ä".encode()) == "ä"
