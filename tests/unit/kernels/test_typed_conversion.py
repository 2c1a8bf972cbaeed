"""Typed events: what is of the table's type stays as it is, the rest converts as JSON would."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from meltline.codecs.parquet import duckdb_types
from meltline.kernels.convert import NO_MATCH, Converted, Converter
from meltline.model.event import Shape
from tests.unit.kernels.conversion import (
    CONNECTION,
    clock,
    day,
    local,
    optional,
    plain,
    reasons,
    required,
    utc,
)

UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
BIG = Decimal("12345678901234567890.123456789")


def convert(
    columns: dict[str, pa.Array], fields: list[NestedField], allows: Any = lambda _: True
) -> Converted:
    table = pa.table(columns)
    types = duckdb_types(table.schema, CONNECTION)
    rows = table.to_struct_array().combine_chunks()
    CONNECTION.register("events", pa.table({
        "row": rows, "ord": pa.array(range(len(rows)), pa.int64()),
        "bad": pa.nulls(len(rows), pa.string())}))
    converter = Converter(Schema(*fields), Shape("typed", {}, types), allows)
    return converter.convert(CONNECTION, "events")


def value(array: pa.Array, type_: IcebergType) -> Any:
    fields = [optional(1, "k", LongType()), optional(2, "v", type_)]
    converted = convert({"k": pa.array([1] * len(array)), "v": array}, fields)
    assert converted.rejects.num_rows == 0
    [found] = plain(converted.rows.column("v"))
    return found


def uuids(*values: uuid.UUID) -> pa.Array:
    storage = pa.array([one.bytes for one in values], pa.binary(16))
    return pa.ExtensionArray.from_storage(pa.uuid(), storage)


SAME: list[tuple[pa.Array, IcebergType, Any]] = [
    (pa.array([True]), BooleanType(), True),
    (pa.array([7], pa.int32()), IntegerType(), 7),
    (pa.array([2**63 - 1], pa.int64()), LongType(), 2**63 - 1),
    (pa.array([1.5], pa.float32()), FloatType(), 1.5),
    (pa.array([float("inf")]), DoubleType(), float("inf")),
    (pa.array([BIG], pa.decimal128(38, 9)), DecimalType(38, 9), BIG),
    (pa.array([day(2024, 2, 29)]), DateType(), day(2024, 2, 29)),
    (pa.array([clock(12, 34, 56, 123456)], pa.time64("us")), TimeType(), clock(12, 34, 56, 123456)),
    (pa.array([local(2024, 2, 29, 12)]), TimestampType(), local(2024, 2, 29, 12)),
    (pa.array([utc(2024, 2, 29, 12)], pa.timestamp("us", "UTC")), TimestamptzType(),
     utc(2024, 2, 29, 12)),
    (pa.array([1704067200123456789], pa.timestamp("ns")), TimestampNanoType(),
     1704067200123456789),
    (pa.array(["é"]), StringType(), "é"),
    (uuids(UUID), UUIDType(), UUID),
    (pa.array([b"\x00\xff"]), BinaryType(), b"\x00\xff"),
    (pa.array([b"abc"], pa.binary(3)), FixedType(3), b"abc"),
    (pa.array([[1, None]], pa.list_(pa.int64())), ListType(9, LongType(), False), [1, None]),
    (pa.array([{"a": 1}]), StructType(optional(9, "a", LongType())), {"a": 1}),
    (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
     MapType(8, StringType(), 9, LongType(), False), [("a", 1)]),
]  # fmt: skip

OTHER: list[tuple[pa.Array, IcebergType, Any]] = [
    (pa.array([7], pa.int8()), IntegerType(), 7),
    (pa.array([7], pa.int16()), LongType(), 7),
    (pa.array([7], pa.int32()), LongType(), 7),
    (pa.array([7], pa.int64()), IntegerType(), 7),
    (pa.array([2**31], pa.int64()), IntegerType(), None),
    (pa.array([2**63], pa.uint64()), LongType(), None),
    (pa.array([2**64 - 1], pa.uint64()), DecimalType(20, 0), Decimal(2**64 - 1)),
    (pa.array([1.5], pa.float32()), DoubleType(), 1.5),
    (pa.array([1e300]), FloatType(), None),
    (pa.array([1.9]), LongType(), 1),
    (pa.array([Decimal("1.25")], pa.decimal128(10, 2)), DecimalType(12, 2), Decimal("1.25")),
    (pa.array([BIG], pa.decimal128(38, 9)), DecimalType(38, 10), BIG),
    (pa.array([BIG], pa.decimal128(38, 9)), StringType(), str(BIG)),
    (pa.array(["12"]), LongType(), 12),
    (pa.array(["x"]), LongType(), None),
    (pa.array([True]), StringType(), "true"),
    (pa.array([True]), LongType(), None),
    (pa.array([1]), BooleanType(), None),
    (pa.array(["TRUE"]), BooleanType(), True),
    (pa.array(["2024-02-29"]), DateType(), day(2024, 2, 29)),
    (pa.array([day(2024, 2, 29)]), StringType(), "2024-02-29"),
    (pa.array([local(2024, 2, 29, 12)]), DateType(), day(2024, 2, 29)),
    (pa.array([local(2024, 2, 29, 12)]), TimestamptzType(), utc(2024, 2, 29, 12)),
    (pa.array([utc(2024, 2, 29, 12)], pa.timestamp("us", "UTC")), TimestampType(),
     local(2024, 2, 29, 12)),
    (pa.array([1704067200123], pa.timestamp("ms")), TimestampType(),
     local(2024, 1, 1, 0, 0, 0, 123000)),
    (pa.array([1704067200123456789], pa.timestamp("ns")), TimestampType(),
     local(2024, 1, 1, 0, 0, 0, 123456)),
    (pa.array([1704067200000]), TimestampType(), local(2024, 1, 1)),
    (pa.array([str(UUID)]), UUIDType(), UUID),
    (uuids(UUID), StringType(), str(UUID)),
    (pa.array([b"abcd"]), FixedType(3), None),
    (pa.array(["AAEC"]), BinaryType(), b"\x00\x01\x02"),
    (pa.array([[1, 2]], pa.list_(pa.int32())), ListType(9, LongType(), False), [1, 2]),
    (pa.array([[1, 2]], pa.list_(pa.int32(), 2)), ListType(9, LongType(), False), [1, 2]),
    (pa.array([[1, 2]], pa.list_(pa.int32())), ListType(9, StringType(), False), ["1", "2"]),
    (pa.array([[1, None]], pa.list_(pa.int32())), ListType(9, LongType(), True), None),
    (pa.array([[1, 2]]), StringType(), None),
    (pa.array([{"b": "x", "a": 1, "z": 0}]),
     StructType(optional(7, "a", LongType()), optional(8, "b", StringType()),
                optional(9, "c", LongType())), {"a": 1, "b": "x", "c": None}),
    (pa.array([{"a": None, "b": 1}], pa.struct({"a": pa.int64(), "b": pa.int64()})),
     StructType(required(8, "a", LongType()), optional(9, "b", LongType())), None),
    (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
     MapType(8, StringType(), 9, StringType(), False), [("a", "1")]),
    (pa.array([[("a", None)]], pa.map_(pa.string(), pa.int32())),
     MapType(8, StringType(), 9, LongType(), True), None),
    # bytes inside of something are bytes as well, not base64
    (pa.array([[b"AAEC"]]), ListType(9, BinaryType(), False), [b"AAEC"]),
    (pa.array([{"b": b"AAEC"}]), StructType(optional(9, "b", BinaryType())), {"b": b"AAEC"}),
    (pa.array([[("k", b"AAEC")]], pa.map_(pa.string(), pa.binary())),
     MapType(8, StringType(), 9, FixedType(4), False), [("k", b"AAEC")]),
    (pa.array([[{"a": [b"\xff"]}]]), ListType(7, StructType(optional(
        8, "a", ListType(9, BinaryType(), True))), True), [{"a": [b"\xff"]}]),
]  # fmt: skip


def _case(case: Any) -> str:
    return str(case)[:40] if isinstance(case, IcebergType) else ""


@pytest.mark.parametrize(("array", "type_", "expected"), SAME, ids=_case)
def test_the_same_type(array: pa.Array, type_: IcebergType, expected: Any) -> None:
    assert value(array, type_) == expected
    assert value(pa.nulls(1, array.type), type_) is None


@pytest.mark.parametrize(("array", "type_", "expected"), OTHER, ids=_case)
def test_another_type(array: pa.Array, type_: IcebergType, expected: Any) -> None:
    assert value(array, type_) == expected
    assert value(pa.nulls(1, array.type), type_) is None


def test_not_a_number_stays_one() -> None:
    assert str(value(pa.array([float("nan")]), FloatType())) == "nan"


def test_missing_extra_and_required_columns() -> None:
    fields = [required(1, "id", LongType()), optional(2, "note", StringType()),
              optional(3, "more", UUIDType())]
    columns = {"note": pa.array(["a", "b", "c"]), "id": pa.array(["1", None, "x"]),
               "extra": pa.array([1, 2, 3])}
    converted = convert(columns, fields)
    assert converted.rows.to_pylist() == [{"id": 1, "note": "a", "more": None}]
    assert reasons(converted) == {
        1: 'required column "id" is missing or null',
        2: 'required column "id" (long) cannot take x'}


def test_no_column_matches() -> None:
    converted = convert({"x": pa.array([1])}, [optional(1, "id", LongType())])
    assert reasons(converted) == {0: NO_MATCH}


def test_names_match_in_their_case() -> None:
    converted = convert({"ID": pa.array([1])}, [optional(1, "id", LongType())])
    assert reasons(converted) == {0: NO_MATCH}


def test_filtered_columns_are_as_if_absent() -> None:
    fields = [optional(1, "a", LongType()), optional(2, "b", LongType())]
    columns = {"a": pa.array([1]), "b": pa.array([2])}
    one = convert(columns, fields, lambda name: name == "a")
    assert one.rows.to_pylist() == [{"a": 1, "b": None}]
    none = convert(columns, fields, lambda _: False)
    assert reasons(none) == {0: NO_MATCH}


def test_many_rows_keep_their_values() -> None:
    count = 5000
    fields = [required(1, "id", LongType()), optional(2, "s", StructType(
        optional(3, "l", ListType(4, StringType(), False)), required(5, "u", UUIDType())))]
    rows: list[Any] = [
        {"l": [str(place), None] if place % 3 else None, "u": str(uuid.UUID(int=place))}
        if place % 5 else None for place in range(count)]
    converted = convert({"id": pa.array(range(count)), "s": pa.array(rows)}, fields)
    expected = [{"id": place, "s": row and {**row, "u": uuid.UUID(int=place)}}
                for place, row in enumerate(rows)]
    assert converted.rows.to_pylist() == expected
