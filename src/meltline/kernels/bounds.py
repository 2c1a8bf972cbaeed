"""Bounds of columns, decoded to values that sort as the column's values do.

Only types whose bounds every writer agrees on: UUIDs were ordered in two ways over the years, and
a bound that is wrong hides rows. A column of another type has no bounds here.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)

_NUMBERS = (IntegerType, LongType, DateType, TimeType, TimestampType, TimestamptzType,
            TimestampNanoType, TimestamptzNanoType)
_PER_DAY = {TimestampType: 86_400_000_000, TimestamptzType: 86_400_000_000,
            TimestampNanoType: 86_400_000_000_000, TimestamptzNanoType: 86_400_000_000_000}


def has_bounds(type_: IcebergType) -> bool:
    return isinstance(type_, (*_NUMBERS, DecimalType, StringType, BinaryType, FixedType))


def decode_bound(type_: IcebergType, bound: bytes) -> Any:
    """An int for numbers and times (days, micro- or nanoseconds), a Decimal, str or bytes.

    A bound may be older than the column's type: then it is shorter."""
    if isinstance(type_, _NUMBERS):
        number = int.from_bytes(bound, "little", signed=True)
        return number * _PER_DAY[type(type_)] if len(bound) == 4 and type(type_) in _PER_DAY \
            else number
    if isinstance(type_, DecimalType):
        return Decimal(int.from_bytes(bound, "big", signed=True)).scaleb(-type_.scale)
    return bound.decode() if isinstance(type_, StringType) else bound


def file_bounds(
    content: Mapping[str, Any], id_: int, type_: IcebergType
) -> tuple[Any, Any] | None:
    """The lowest and highest value of a column in a file, where the file says both."""
    if not has_bounds(type_):
        return None
    low, high = (_entry(content.get(kind), id_) for kind in ("lower-bounds", "upper-bounds"))
    if low is None or high is None:
        return None
    return decode_bound(type_, bytes.fromhex(low)), decode_bound(type_, bytes.fromhex(high))


def null_count(content: Mapping[str, Any], id_: int) -> int | None:
    found: int | None = _entry(content.get("null-value-counts"), id_)
    return found


def _entry(pairs: Mapping[str, Any] | None, id_: int) -> Any:
    if not pairs:
        return None
    return dict(zip(pairs["keys"], pairs["values"], strict=True)).get(id_)


def comparable(array: pa.Array, type_: IcebergType) -> pa.Array:
    """Values of a key column in the form that `decode_bound` gives."""
    return array.cast(pa.int64()) if isinstance(type_, _NUMBERS) else array


def bound_scalar(value: Any, arrow: pa.DataType) -> pa.Scalar:
    """The Arrow scalar of a decoded bound."""
    if pa.types.is_date32(arrow):
        return pa.scalar(value, pa.int32()).cast(arrow)
    if pa.types.is_temporal(arrow):
        return pa.scalar(value, pa.int64()).cast(arrow)
    return pa.scalar(value, arrow)
