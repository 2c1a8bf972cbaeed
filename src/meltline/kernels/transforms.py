"""Iceberg's partition transforms over Arrow arrays, where pyiceberg's own fall short.

Its time transforms give null for years beyond 262,143 and know no hour of nanoseconds, its bucket
rounds nanoseconds up before 1970, and its truncate takes no large binary. A number that is not the
milliseconds it should be is enough to make such a year, and one bad event must neither fail the
others nor hide in the wrong partition.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import BinaryType, IcebergType, TimestampNanoType, TimestamptzNanoType

Apply = Callable[[pa.Array], pa.Array]

_UNITS: dict[type, str] = {YearTransform: "Y", MonthTransform: "M", DayTransform: "D",
                           HourTransform: "h"}
_PER_SECOND = {"us": 1_000_000, "ns": 1_000_000_000}


def arrow_transform(transform: Transform[Any, Any], source: IcebergType) -> Apply:
    """The transform of a whole array. Null stays null."""
    if isinstance(transform, IdentityTransform):
        return _same
    if isinstance(transform, VoidTransform):
        return _nothing
    if type(transform) in _UNITS:
        return partial(_since_epoch, unit=_UNITS[type(transform)])
    if isinstance(transform, TruncateTransform) and isinstance(source, BinaryType):
        return partial(_first_bytes, width=transform.width)
    apply = transform.pyarrow_transform(source)
    nanos = isinstance(source, TimestampNanoType | TimestamptzNanoType)
    return partial(_of_micros if nanos else _by_pyiceberg, apply=apply)


def _same(values: pa.Array) -> pa.Array:
    return values


def _nothing(values: pa.Array) -> pa.Array:
    return pa.nulls(len(values), pa.int32())


def _since_epoch(values: pa.Array, unit: str) -> pa.Array:
    """Whole years, months, days or hours since 1970, rounded down."""
    if pa.types.is_date32(values.type):
        days = values.cast(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
    else:
        numbers = values.cast(pa.int64()).fill_null(0).to_numpy()
        hours = numbers // (3600 * _PER_SECOND[values.type.unit])
        days = hours // 24
    if unit == "h":
        counted = hours
    else:
        counted = days.view("datetime64[D]").astype(f"datetime64[{unit}]").view(np.int64)
    return pa.array(counted.astype(np.int32), pa.date32() if unit == "D" else pa.int32(),
                    mask=values.is_null().to_numpy(zero_copy_only=False))


def _of_micros(values: pa.Array, apply: Apply) -> pa.Array:
    """Nanoseconds are hashed as microseconds, rounded down."""
    nanos = values.cast(pa.int64())
    micros = pa.array(nanos.fill_null(0).to_numpy() // 1000, pa.int64(),
                      mask=values.is_null().to_numpy(zero_copy_only=False))
    return _by_pyiceberg(micros.cast(pa.timestamp("us")), apply)


def _first_bytes(values: pa.Array, width: int) -> pa.Array:
    return pc.binary_slice(values.cast(pa.binary()), 0, width)


def _by_pyiceberg(values: pa.Array, apply: Apply) -> pa.Array:
    result = apply(values)
    return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result
