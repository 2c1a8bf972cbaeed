"""Column metrics: bounds that really bound, counts that are right, nothing that is unsure."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    PrimitiveType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from meltline.kernels.metrics import truncate_lower, truncate_upper
from meltline.kernels.write import TableWriter, WriteLimits
from tests.unit.kernels.conversion import optional, required
from tests.unit.kernels.tables import table, target

CHANCE = random.Random(7)
VALUES: dict[PrimitiveType, list[Any]] = {
    BooleanType(): [True, False],
    IntegerType(): [-(2**31), 2**31 - 1, 0],
    LongType(): [-(2**63), 2**63 - 1, 0],
    FloatType(): [1.5, -0.0, 0.0, -3.25, float("nan")],
    DoubleType(): [1.5, float("inf"), float("-inf"), float("nan")],
    DecimalType(9, 2): [Decimal("-1.28"), Decimal("1.27"), Decimal("0.00"), Decimal("-99999.99")],
    DecimalType(18, 2): [Decimal("-1.28"), Decimal("12345678901234.56")],
    DecimalType(38, 10): [Decimal("-1.5"), Decimal("0.5"), Decimal("9" * 28),
                          Decimal("-" + "9" * 28)],
    DateType(): [2147483646, -2147483648, 0],
    TimeType(): [0, 86_399_999_999],
    TimestampType(): [9223372036854775000, -9223372036854775000, 0],
    TimestamptzType(): [9223372036854775000, -1],
    TimestampNanoType(): [-1, 2**63 - 2, 1510871468_000001001],
    TimestamptzNanoType(): [-1, 2**63 - 2],
    StringType(): ["", "iceberg", "é😀日本", "x" * 40, "\U0010ffff" * 20, "a\ud7ff" * 20],
    UUIDType(): [uuid.UUID(int=CHANCE.getrandbits(128)).bytes for _ in range(5)],
    FixedType(4): [b"\x00\x01\x02\x03", b"\xff\xff\xff\xff"],
    BinaryType(): [b"", b"\x00\x01", b"\x7f" * 40, b"\xff" * 15 + b"\x00\x00"],
}  # fmt: skip


def metrics(
    folder: Path, schema: Schema, chunks: Sequence[pa.Table],
    properties: Mapping[str, str] | None = None,
) -> Any:
    """The metrics of one file with a row group per chunk."""
    made = target(folder, schema, properties=properties)
    writer = TableWriter(made, f"{folder.as_posix()}/f", WriteLimits(row_group=1))
    for chunk in chunks:
        writer.add(chunk)
    [file] = writer.finish()
    found = json.loads(file.content)
    assert pq.read_metadata(file.path).num_row_groups == len(chunks)
    return {name: dict(zip(one["keys"], one["values"], strict=True))
            for name, one in found.items() if isinstance(one, dict)}


def column(type_: PrimitiveType, *groups: Sequence[Any]) -> tuple[Schema, list[pa.Table]]:
    schema = Schema(optional(1, "v", type_))
    return schema, [table(schema, {"v": group}) for group in groups]


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_bounds_bound(tmp_path: Path, type_: PrimitiveType) -> None:
    values = VALUES[type_]
    schema, chunks = column(type_, values[: len(values) // 2], [None, *values[len(values) // 2:]])
    found = metrics(tmp_path, schema, chunks)
    known = [value for value in values if value == value]
    lower = from_bytes(type_, bytes.fromhex(found["lower-bounds"][1]))
    assert all(lower <= value for value in known)
    if 1 in found["upper-bounds"]:
        upper = from_bytes(type_, bytes.fromhex(found["upper-bounds"][1]))
        assert all(upper >= value for value in known)
    if not isinstance(type_, StringType | BinaryType):
        assert (lower, upper) == (min(known), max(known))
    assert found["value-counts"] == {1: len(values) + 1}
    assert found["null-value-counts"] == {1: 1}
    assert found["column-sizes"][1] > 0


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_nulls_alone_have_no_bounds(tmp_path: Path, type_: PrimitiveType) -> None:
    schema, chunks = column(type_, [None, None])
    found = metrics(tmp_path, schema, chunks)
    assert (found["lower-bounds"], found["upper-bounds"]) == ({}, {})
    assert found["null-value-counts"] == {1: 2} == found["value-counts"]


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_a_row_group_of_nulls_changes_no_bound(tmp_path: Path, type_: PrimitiveType) -> None:
    schema, chunks = column(type_, VALUES[type_], [None])
    alone = metrics(tmp_path / "a", schema, chunks[:1])
    both = metrics(tmp_path / "b", schema, chunks)
    for name in ("lower-bounds", "upper-bounds"):
        assert both[name] == alone[name]


@pytest.mark.parametrize("order", [0, 1])
def test_values_too_long_for_the_footer_leave_no_bound(tmp_path: Path, order: int) -> None:
    """Parquet keeps no minimum and maximum of 4 KB and more: short ones elsewhere do not bound."""
    groups = [["mm", "nn"], ["a" * 5000, "z" * 5000]]
    schema, chunks = column(StringType(), groups[order], groups[1 - order])
    found = metrics(tmp_path, schema, chunks)
    assert (found["lower-bounds"], found["upper-bounds"]) == ({}, {})


def test_a_row_group_without_any_number_leaves_no_bound(tmp_path: Path) -> None:
    schema, chunks = column(DoubleType(), [1.0, 2.0], [float("nan")])
    found = metrics(tmp_path, schema, chunks)
    assert (found["lower-bounds"], found["upper-bounds"]) == ({}, {})


def test_what_is_not_a_number_is_counted(tmp_path: Path) -> None:
    nan = float("nan")
    schema = Schema(optional(1, "d", DoubleType()), optional(2, "f", FloatType()),
                    optional(3, "l", LongType()), optional(4, "a.b", DoubleType()))
    chunk = table(schema, {"d": [nan, 1.0, None, nan], "f": [1.0, 2.0, None, None],
                           "l": [1, 2, 3, 4], "a.b": [None, None, None, nan]})
    found = metrics(tmp_path, schema, [chunk, chunk])
    assert found["nan-value-counts"] == {1: 4, 2: 0, 4: 2}
    assert found["null-value-counts"] == {1: 2, 2: 4, 3: 0, 4: 6}


def test_floats_inside_of_others_have_no_bounds(tmp_path: Path) -> None:
    """Nobody counts what is not a number there, and a reader would trust the bounds."""
    schema = Schema(optional(1, "s", StructType(optional(2, "d", DoubleType()))))
    chunk = table(schema, {"s": [{"d": 1.0}, {"d": float("nan")}]})
    found = metrics(tmp_path, schema, [chunk])
    assert (found["lower-bounds"], found["nan-value-counts"]) == ({}, {})


def test_zero_is_bounded_by_both_zeros(tmp_path: Path) -> None:
    schema, chunks = column(DoubleType(), [0.0], [-0.0])
    found = metrics(tmp_path, schema, chunks)
    assert found["lower-bounds"] == {1: "0000000000000080"}
    assert found["upper-bounds"] == {1: "0000000000000000"}


BINARY_FORMS: list[tuple[PrimitiveType, Any, str]] = [
    (BooleanType(), True, "01"),
    (IntegerType(), 34, "22000000"),
    (LongType(), -1, "FFFFFFFFFFFFFFFF"),
    (FloatType(), 1.5, "0000C03F"),
    (DoubleType(), 1.5, "000000000000F83F"),
    (DateType(), 17486, "4E440000"),
    (TimeType(), 1, "0100000000000000"),
    (TimestampType(), -1, "FFFFFFFFFFFFFFFF"),
    (TimestampNanoType(), 1, "0100000000000000"),
    (DecimalType(9, 2), Decimal("14.20"), "058C"),
    (DecimalType(9, 2), Decimal("0.00"), "00"),
    (DecimalType(9, 2), Decimal("1.27"), "7F"),
    (DecimalType(9, 2), Decimal("1.28"), "0080"),
    (DecimalType(9, 2), Decimal("-1.28"), "80"),
    (DecimalType(9, 2), Decimal("-1.29"), "FF7F"),
    (DecimalType(38, 2), Decimal("14.20"), "058C"),
    (StringType(), "é", "C3A9"),
    (UUIDType(), uuid.UUID(int=258).bytes, "00000000000000000000000000000102"),
    (FixedType(2), b"\x01\xff", "01FF"),
    (BinaryType(), b"\x01\xff", "01FF"),
]


@pytest.mark.parametrize(("type_", "value", "expected"), BINARY_FORMS, ids=str)
def test_the_binary_form_of_the_spec(
    tmp_path: Path, type_: PrimitiveType, value: Any, expected: str
) -> None:
    schema, chunks = column(type_, [value])
    found = metrics(tmp_path, schema, chunks)
    assert (found["lower-bounds"], found["upper-bounds"]) == ({1: expected}, {1: expected})


SHORTENED = [
    ("abc", 3, "abc", "abc"),
    ("abcd", 3, "abc", "abd"),
    ("ab\U0010ffff!", 3, "ab\U0010ffff", "ac"),
    ("\U0010ffff" * 4, 3, "\U0010ffff" * 3, None),
    ("ab\ud7ff!", 3, "ab\ud7ff", "ab\ue000"),
    ("é😀日本", 2, "é😀", "é😁"),
    (b"abc", 3, b"abc", b"abc"),
    (b"abcd", 3, b"abc", b"abd"),
    (b"ab\xff!", 3, b"ab\xff", b"ac"),
    (b"\xff" * 4, 3, b"\xff" * 3, None),
]


@pytest.mark.parametrize(("value", "width", "lower", "upper"), SHORTENED, ids=repr)
def test_long_bounds_are_cut(value: Any, width: int, lower: Any, upper: Any) -> None:
    type_ = StringType() if isinstance(value, str) else BinaryType()

    def raw(text: Any) -> Any:
        return text.encode() if isinstance(text, str) else text

    assert truncate_lower(raw(value), width, type_) == raw(lower)
    assert truncate_upper(raw(value), width, type_) == raw(upper)


def test_cut_bounds_still_bound() -> None:
    letters = "aé\ud7ff\ue000\uffff\U0010ffff"
    for _ in range(2000):
        text = "".join(CHANCE.choices(letters, k=CHANCE.randint(0, 6))).encode()
        for type_ in (StringType(), BinaryType()):
            width = CHANCE.randint(1, 5)
            upper = truncate_upper(text, width, type_)
            assert truncate_lower(text, width, type_) <= text
            assert upper is None or upper >= text


MODES = {
    "none": (False, False, None), "counts": (True, False, None), "full": (True, True, 40),
    "truncate(4)": (True, True, 4), "truncate(16)": (True, True, 16),
}


@pytest.mark.parametrize("mode", MODES)
def test_the_tables_own_metrics_mode(tmp_path: Path, mode: str) -> None:
    counted, bounded, width = MODES[mode]
    schema, chunks = column(StringType(), ["x" * 40])
    by_default = metrics(
        tmp_path / "a", schema, chunks, {"write.metadata.metrics.default": mode})
    by_column = metrics(
        tmp_path / "b", schema, chunks, {"write.metadata.metrics.column.v": mode})
    assert by_default == by_column
    assert bool(by_default["value-counts"]) == counted
    assert bool(by_default["lower-bounds"]) == bounded
    if width is not None:
        assert len(bytes.fromhex(by_default["lower-bounds"][1])) == width


def test_columns_inside_others_have_counts(tmp_path: Path) -> None:
    schema = Schema(
        required(1, "k", LongType()),
        optional(2, "s", StructType(optional(3, "a", LongType()))),
        optional(4, "l", ListType(5, StringType(), False)),
        optional(6, "m", MapType(7, StringType(), 8, DoubleType(), False)),
        optional(9, "a.b", LongType()))
    chunk = table(schema, {
        "k": [1, 2], "s": [{"a": 5}, None], "l": [["x", None, "y"], []], "m": [[("a", 1.0)], None],
        "a.b": [1, None]})
    found = metrics(tmp_path, schema, [chunk])
    assert found["value-counts"] == {1: 2, 3: 2, 5: 4, 7: 2, 8: 2, 9: 2}
    assert found["null-value-counts"][3] == 1
    assert set(found["lower-bounds"]) <= {1, 3, 9}
    assert found["lower-bounds"][1] == "0100000000000000"


@pytest.mark.parametrize("seed", range(3))
def test_random_columns_lie_within_their_bounds(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    schema = Schema(optional(1, "l", LongType()), optional(2, "d", DecimalType(20, 3)),
                    optional(3, "s", StringType()), optional(4, "t", TimestamptzType()))
    chunks = [table(schema, {
        "l": [chance.choice([None, chance.randint(-(10**15), 10**15)]) for _ in range(100)],
        "d": [Decimal(chance.randint(-(10**17), 10**17)).scaleb(-3) for _ in range(100)],
        "s": ["".join(chance.choices("aé😀\uffff", k=chance.randint(0, 40))) for _ in range(100)],
        "t": [chance.randint(-(10**15), 10**15) for _ in range(100)]}) for _ in range(4)]
    found = metrics(tmp_path, schema, chunks)
    whole = pa.concat_tables(chunks)
    for field in schema.fields:
        assert isinstance(field.field_type, PrimitiveType)
        values = whole.column(field.name)
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.int64())
        least, most = (bound.as_py() for bound in pc.min_max(values).values())
        lower = from_bytes(field.field_type, bytes.fromhex(found["lower-bounds"][field.field_id]))
        upper = from_bytes(field.field_type, bytes.fromhex(found["upper-bounds"][field.field_id]))
        assert lower <= least <= most <= upper
