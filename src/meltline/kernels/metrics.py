"""Column metrics of one Parquet file, from its own footer, in the form a content file has them.

Bounds are taken from the raw statistics: as Python dates or datetimes they would end with the year
9999 and with microseconds. A bound that is wrong hides rows from readers, so a column has none as
soon as one row group holds values and does not say between which.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    StatisticsCollector,
    compute_statistics_plan,
    parquet_path_to_id_mapping,
)
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, DoubleType, FloatType, PrimitiveType, StringType

_FORMATS = {"BOOLEAN": "<?", "INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def file_metrics(
    footer: pq.FileMetaData, schema: Schema, properties: Mapping[str, str],
    nans: Mapping[int, int] | None = None,
) -> dict[str, Any]:
    """Which columns have counts or bounds is said by `write.metadata.metrics.*`.

    `nans` counts the NaN of floating columns, which no footer does. A floating column that is not
    in it has no bounds: a reader would take them for the bounds of all its values.
    """
    nans = nans or {}
    plan = compute_statistics_plan(schema, dict(properties))
    sizes: Counter[int] = Counter()
    values: Counter[int] = Counter()
    nulls: Counter[int] = Counter()
    bounds: dict[int, _Bounds] = {}
    for column, wanted in _columns(footer, schema, plan):
        id_, kind, statistics = wanted.field_id, wanted.mode.type, column.statistics
        sizes[id_] += column.total_compressed_size
        if kind == MetricModeTypes.NONE:
            continue
        values[id_] += column.num_values
        if statistics is not None and statistics.has_null_count:
            nulls[id_] += statistics.null_count
        floating = isinstance(wanted.iceberg_type, FloatType | DoubleType)
        if kind != MetricModeTypes.COUNTS and (not floating or id_ in nans):
            bounds.setdefault(id_, _Bounds(wanted)).add(statistics)
    lower = {id_: low.hex().upper() for id_, b in bounds.items() if (low := b.lower()) is not None}
    upper = {id_: up.hex().upper() for id_, b in bounds.items() if (up := b.upper()) is not None}
    return {
        "column-sizes": _by_key(sizes), "value-counts": _by_key(values),
        "null-value-counts": _by_key(nulls),
        "nan-value-counts": _by_key({id_: nans[id_] for id_ in values if id_ in nans}),
        "lower-bounds": _by_key(lower),
        "upper-bounds": _by_key(upper), "split-offsets": _split_offsets(footer),
    }


def _columns(
    footer: pq.FileMetaData, schema: Schema, plan: Mapping[int, StatisticsCollector]
) -> Iterator[tuple[pq.ColumnChunkMetaData, StatisticsCollector]]:
    ids = parquet_path_to_id_mapping(schema)
    for group in (footer.row_group(number) for number in range(footer.num_row_groups)):
        for place in range(footer.num_columns):
            column = group.column(place)
            # the parts of a variant are no columns of the table
            if (id_ := ids.get(column.path_in_schema)) is not None:
                yield column, plan[id_]


class _Bounds:
    def __init__(self, wanted: StatisticsCollector) -> None:
        self._type = wanted.iceberg_type
        self._width = wanted.mode.length
        self._sure = True
        self._physical = ""
        self._low: Any = None
        self._high: Any = None

    def add(self, statistics: pq.Statistics | None) -> None:
        if statistics is None:
            self._sure = False
        elif statistics.has_min_max:
            self._physical = statistics.physical_type
            low, high = self._raw(statistics.min_raw), self._raw(statistics.max_raw)
            self._low = low if self._low is None else min(low, self._low)
            self._high = high if self._high is None else max(high, self._high)
        elif statistics.num_values:
            # values too long for the footer, or not a number all of them
            self._sure = False

    def lower(self) -> bytes | None:
        if self._low is None or not self._sure:
            return None
        low = _encoded(self._physical, self._type, self._low)
        return low if self._width is None else truncate_lower(low, self._width, self._type)

    def upper(self) -> bytes | None:
        if self._high is None or not self._sure:
            return None
        high = _encoded(self._physical, self._type, self._high)
        return high if self._width is None else truncate_upper(high, self._width, self._type)

    def _raw(self, value: Any) -> Any:
        """Bytes of a decimal do not sort as its values do."""
        if isinstance(self._type, DecimalType) and isinstance(value, bytes):
            return int.from_bytes(value, "big", signed=True)
        return value


def _encoded(physical: str, type_: PrimitiveType, value: Any) -> bytes:
    """Iceberg's binary single-value form of a value in Parquet's physical type."""
    if isinstance(type_, DecimalType):
        # the shortest two's complement: one bit for the sign
        bits = (value if value >= 0 else ~value).bit_length() + 1
        return int(value).to_bytes((bits + 7) // 8, "big", signed=True)
    return struct.pack(_FORMATS[physical], value) if physical in _FORMATS else bytes(value)


def truncate_lower(bound: bytes, width: int, type_: PrimitiveType) -> bytes:
    """The first characters of a string, or bytes of a binary: never above the bound."""
    if isinstance(type_, StringType):
        return bound.decode()[:width].encode()
    return bound[:width]


def truncate_upper(bound: bytes, width: int, type_: PrimitiveType) -> bytes | None:
    """Not below the bound: the last character that can be is counted up. None when none can."""
    if isinstance(type_, StringType):
        return _shorter_text(bound, width)
    if len(bound) <= width:
        return bound
    kept = bound[:width].rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _shorter_text(bound: bytes, width: int) -> bytes | None:
    text = bound.decode()
    if len(text) <= width:
        return bound
    for end in range(width, 0, -1):
        following = ord(text[end - 1]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST_CODE_POINT:
            return (text[: end - 1] + chr(following)).encode()
    return None


def _split_offsets(footer: pq.FileMetaData) -> list[int]:
    """Where each row group begins."""
    first = [footer.row_group(group).column(0) for group in range(footer.num_row_groups)]
    return sorted(min(column.data_page_offset, column.dictionary_page_offset)
                  if column.has_dictionary_page else column.data_page_offset for column in first)


def _by_key(values: Mapping[int, Any]) -> dict[str, list[Any]]:
    return {"keys": list(values), "values": list(values.values())}
