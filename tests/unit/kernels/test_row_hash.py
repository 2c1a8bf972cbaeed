"""Equal rows have equal hashes, other rows have not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from meltline.kernels.connection import connect
from meltline.kernels.row_hash import row_hash_sql

NUMBERS = MapType(1, StringType(), 2, LongType())
INNER = StructType(NestedField(5, "m", NUMBERS), NestedField(6, "x", DoubleType()))


def hashes(type_: IcebergType, values: list[Any], arrow: pa.DataType) -> list[tuple[int, int]]:
    fields = [NestedField(9, 'odd "name"', type_), NestedField(10, "other", LongType())]
    with connect() as connection:
        connection.register("t", pa.table({
            'odd "name"': pa.array(values, arrow), "other": pa.array([7] * len(values))}))
        first, second = row_hash_sql(fields)
        return connection.sql(f"SELECT {first}, {second} FROM t").fetchall()


@pytest.mark.parametrize(("type_", "arrow", "same"), [
    (LongType(), pa.int64(), [5, 5]),
    (LongType(), pa.int64(), [None, None]),
    (DoubleType(), pa.float64(), [float("nan"), float("nan")]),
    (StringType(), pa.large_string(), ["", ""]),
    (BinaryType(), pa.large_binary(), [b"\0\xff", b"\0\xff"]),
    (NUMBERS, pa.map_(pa.string(), pa.int64()), [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]]),
    (ListType(4, NUMBERS), pa.list_(pa.map_(pa.string(), pa.int64())),
     [[[("a", 1), ("b", None)]], [[("b", None), ("a", 1)]]]),
    (INNER, pa.struct([("m", pa.map_(pa.string(), pa.int64())), ("x", pa.float64())]),
     [{"m": [("a", 1), ("b", 2)], "x": 1.5}, {"m": [("b", 2), ("a", 1)], "x": 1.5}]),
])
def test_equal_values(type_: IcebergType, arrow: pa.DataType, same: list[Any]) -> None:
    one, two = hashes(type_, same, arrow)
    assert one == two


@pytest.mark.parametrize(("type_", "arrow", "values"), [
    (LongType(), pa.int64(), [0, 1, -1, None, 1 << 40]),
    (DoubleType(), pa.float64(), [0.0, -0.0, 1.0, float("nan"), None, float("inf")]),
    (StringType(), pa.large_string(), ["", "a", "A", "a ", None, "null"]),
    (BinaryType(), pa.large_binary(), [b"", b"\0", b"\0\0", None]),
    (DecimalType(38, 2), pa.decimal128(38, 2), [0, 1, -1, None]),
    (ListType(4, LongType()), pa.list_(pa.int64()), [[], [None], [1], [1, 2], [2, 1], None]),
    (NUMBERS, pa.map_(pa.string(), pa.int64()), [[], [("a", 1)], [("a", None)], None]),
    (INNER, pa.struct([("m", pa.map_(pa.string(), pa.int64())), ("x", pa.float64())]),
     [{"m": None, "x": None}, None, {"m": [], "x": None}, {"m": [], "x": 0.0},
      {"m": [], "x": -0.0}]),
])
def test_different_values(type_: IcebergType, arrow: pa.DataType, values: list[Any]) -> None:
    found = hashes(type_, values, arrow)
    assert len(set(found)) == len(values)


def test_both_halves_tell_values_apart() -> None:
    texts = [f"text {i}" for i in range(1000)]
    found = hashes(StringType(), texts, pa.large_string())
    assert len({first for first, _ in found}) == len({second for _, second in found}) == 1000
    assert all(first != second for first, second in found)
