"""One value in Iceberg's JSON single-value form."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import to_json
from pyiceberg.types import (
    DateType,
    PrimitiveType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    UUIDType,
)

_DIGITS: dict[type, int] = {TimestampType: 6, TimestamptzType: 6, TimestampNanoType: 9,
                            TimestamptzNanoType: 9}


def single_value(type_: PrimitiveType, scalar: pa.Scalar) -> Any:
    """What Iceberg writes for the value of an Arrow array of this type; None for null."""
    if not scalar.is_valid:
        return None
    if isinstance(type_, DateType):
        return _iso_date(scalar.cast(pa.int32()).as_py())
    if type(type_) in _DIGITS:
        return _iso_timestamp(scalar.cast(pa.int64()).as_py(), _DIGITS[type(type_)],
                              isinstance(type_, TimestamptzType | TimestamptzNanoType))
    if isinstance(type_, UUIDType):
        return str(uuid.UUID(bytes=scalar.as_py()))
    if pa.types.is_time64(scalar.type):
        return to_json(type_, scalar.cast(pa.int64()).as_py())
    return to_json(type_, scalar.as_py())


def _iso_date(days: int) -> str:
    """Python's dates end with the year 9999; ISO 8601 goes on, with a sign before the year."""
    day = np.datetime64(days, "D")
    month = day.astype("datetime64[M]")
    years, months = divmod(int(month.astype(np.int64)), 12)
    year = 1970 + years
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{months + 1:02}-{int((day - month).astype(np.int64)) + 1:02}"


def _iso_timestamp(value: int, digits: int, zoned: bool) -> str:
    seconds, fraction = divmod(value, 10**digits)
    days, seconds = divmod(seconds, 86400)
    clock = str(np.datetime64(seconds, "s")).partition("T")[2]
    return f"{_iso_date(days)}T{clock}.{fraction:0{digits}}" + ("+00:00" if zoned else "")
