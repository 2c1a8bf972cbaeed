"""Converts JSON texts through a real DuckDB, the way a task does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timezone
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, LongType, NestedField

from meltline.kernels.connection import connect
from meltline.kernels.convert import Converted, Converter
from meltline.model.event import json_shape

CONNECTION = connect()
KEY = NestedField(1, "k", LongType(), required=False)
"""A column that every event has: an event whose only column fails would match no column."""


def optional(id_: int, name: str, type_: IcebergType) -> NestedField:
    return NestedField(id_, name, type_, required=False)


def required(id_: int, name: str, type_: IcebergType) -> NestedField:
    return NestedField(id_, name, type_, required=True)


def register(bodies: Sequence[str], name: str = "events") -> str:
    CONNECTION.register(name, pa.table({
        "body": pa.array(bodies, pa.string()), "ord": pa.array(range(len(bodies)), pa.int64())}))
    return name


def convert(
    fields: Sequence[NestedField], bodies: Sequence[str],
    allows: Callable[[str], bool] = lambda _: True,
) -> Converted:
    """The whole way: fast where it is sure, exact where it is not."""
    return Converter(Schema(*fields), json_shape(), allows).convert(CONNECTION, register(bodies))


def convert_values(type_: IcebergType, texts: Sequence[str]) -> list[Any]:
    """JSON values to what the column then holds, both ways; they must agree."""
    bodies = [f'{{"k":{place},"v":{text}}}' for place, text in enumerate(texts)]
    converter = Converter(Schema(KEY, optional(2, "v", type_)), json_shape())
    rows = converter.convert(CONNECTION, register(bodies)).rows.sort_by("k")
    exact = CONNECTION.sql(converter.exact_sql("events")).to_arrow_table()
    alone = plain(converter._rows(exact).sort_by("k").column("v"))
    assert list(map(repr, alone)) == list(map(repr, plain(rows.column("v"))))
    return alone


def plain(column: pa.ChunkedArray) -> list[Any]:
    """As Python values, but dates and timestamps as days, micros or nanos when they are far off."""
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        found = column.cast(_as_numbers(column.type)).to_pylist()
    return found


def _as_numbers(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(type_):
        return pa.large_list(_as_numbers(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_as_numbers(type_.key_type), _as_numbers(type_.item_type))
    if pa.types.is_date32(type_):
        return pa.int32()
    return pa.int64() if pa.types.is_temporal(type_) else type_


def reasons(converted: Converted) -> dict[int, str]:
    return {row["ord"]: row["reason"] for row in converted.rejects.to_pylist()}


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc,arg-type]


def local(*parts: int) -> datetime:
    """A timestamp without a zone."""
    return utc(*parts).replace(tzinfo=None)


def day(year: int, month: int, of_month: int) -> date:
    return date(year, month, of_month)


def clock(hour: int, minute: int = 0, second: int = 0, micro: int = 0) -> time:
    return time(hour, minute, second, micro)
