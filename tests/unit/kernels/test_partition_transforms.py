"""Every transform on every type it takes, against pyiceberg's own transform of one value."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.conversions import from_json
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros, time_to_micros

from meltline.kernels.partition import Partitioner
from meltline.kernels.single_value import single_value
from tests.unit.kernels.conversion import optional
from tests.unit.kernels.tables import spec, table

CHANCE = random.Random(20)
DAYS = [0, -1, 1, 17486, -719162, 2932896,
        *(CHANCE.randint(-700_000, 2_900_000) for _ in range(40))]
MICROS = [0, -1, 1, -3_600_000_000, 1510871468_000000, -62135596800_000000,
          *(CHANCE.randint(-62135596800_000000, 253402300799_999999) for _ in range(40))]
NANOS = [0, -1, -999, -1000, 1510871468_000001001, 2**63 - 1,
         *(CHANCE.randint(-(2**62), 2**62) for _ in range(40))]
VALUES: dict[PrimitiveType, list[Any]] = {
    BooleanType(): [True, False],
    IntegerType(): [0, 34, -1, 1, -10, 2**31 - 1, *CHANCE.choices(range(-(10**6), 10**6), k=40)],
    LongType(): [0, 34, -1, 2**63 - 1, *(CHANCE.randint(-(2**62), 2**62) for _ in range(40))],
    FloatType(): [1.5, 0.0, -2.0],
    DoubleType(): [1.5, 0.1, -2.0],
    DecimalType(9, 2): [Decimal("14.20"), Decimal("10.65"), Decimal("-0.01"), Decimal("0.00"),
                        *(Decimal(CHANCE.randint(-(10**8), 10**8)).scaleb(-2) for _ in range(40))],
    DecimalType(38, 4): [Decimal("14.2000"), Decimal("123456789012345678901234.5678"),
                         Decimal("-1.2345")],
    DateType(): DAYS,
    TimeType(): [0, 81068_000000, 86_399_999_999],
    TimestampType(): MICROS,
    TimestamptzType(): MICROS,
    TimestampNanoType(): NANOS,
    TimestamptzNanoType(): NANOS,
    StringType(): ["iceberg", "", "a", "é😀日本語" * 3, "x" * 50, "a\0b"],
    UUIDType(): [uuid.UUID(int=CHANCE.getrandbits(128)).bytes for _ in range(20)],
    FixedType(4): [b"\x00\x01\x02\x03", b"\xff\xff\xff\xff"],
    BinaryType(): [b"\x00\x01\x02\x03", b"", b"\xff" * 40, "é".encode()],
}  # fmt: skip
TRANSFORMS: list[Transform[Any, Any]] = [
    IdentityTransform(), BucketTransform(16), BucketTransform(1), TruncateTransform(1),
    TruncateTransform(10), TruncateTransform(50), YearTransform(), MonthTransform(),
    DayTransform(), HourTransform(), VoidTransform(),
]  # fmt: skip
CASES = [(type_, transform) for type_ in VALUES for transform in TRANSFORMS
         if transform.can_transform(type_)]  # fmt: skip


NUMBERS: dict[type, Callable[[Any], int]] = {
    DateType: date_to_days, TimeType: time_to_micros, TimestampType: datetime_to_micros,
    TimestamptzType: datetime_to_micros,
}  # fmt: skip


def partitions(
    type_: PrimitiveType, transform: Transform[Any, Any], values: Sequence[Any]
) -> list[Any]:
    """The partition value of each value, in Iceberg's JSON form."""
    schema = Schema(optional(1, "k", LongType()), optional(2, "v", type_))
    rows = table(schema, {"k": range(len(values)), "v": values})
    found: dict[int, Any] = {}
    for [partition], part in Partitioner(schema, spec((2, transform))).split(rows):
        found.update(dict.fromkeys(part.column("k").to_pylist(), partition))
    return [found[place] for place in range(len(values))]


def decoded(type_: PrimitiveType, text: Any) -> Any:
    """From the JSON form to what pyiceberg's transforms of one value give."""
    if text is None:
        return None
    if isinstance(type_, TimestampNanoType | TimestamptzNanoType):
        text = text.removesuffix("+00:00")
        return decoded(TimestampType(), text[:-3]) * 1000 + int(text[-3:])
    if isinstance(type_, UUIDType):
        return uuid.UUID(text).bytes
    value: Any = from_json(type_, text)
    return NUMBERS[type(type_)](value) if type(type_) in NUMBERS else value


@pytest.mark.parametrize(("type_", "transform"), CASES, ids=str)
def test_as_pyiceberg_does_it(type_: PrimitiveType, transform: Transform[Any, Any]) -> None:
    values = [*VALUES[type_], None]
    result = transform.result_type(type_)
    assert isinstance(result, PrimitiveType)
    scalar = transform.transform(type_)
    found = [decoded(result, text) for text in partitions(type_, transform, values)]
    assert found == [None if value is None else scalar(value) for value in values]


BUCKET_HASHES: list[tuple[PrimitiveType, Any, int]] = [
    (IntegerType(), 34, 2017239379),
    (LongType(), 34, 2017239379),
    (DateType(), 17486, -653330422),
    (TimeType(), 81068_000000, -662762989),
    (TimestampType(), 1510871468_000000, -2047944441),
    (TimestamptzType(), 1510871468_000000, -2047944441),
    (TimestampNanoType(), 1510871468_000001001, -1207196810),
    (TimestamptzNanoType(), 1510871468_000001001, -1207196810),
    (DecimalType(9, 2), Decimal("14.20"), -500754589),
    (DecimalType(38, 2), Decimal("14.20"), -500754589),
    (StringType(), "iceberg", 1210000089),
    (UUIDType(), uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, 1488055340),
    (FixedType(4), b"\x00\x01\x02\x03", -188683207),
    (BinaryType(), b"\x00\x01\x02\x03", -188683207),
]


@pytest.mark.parametrize(("type_", "value", "hashed"), BUCKET_HASHES, ids=str)
def test_the_bucket_values_of_the_spec(type_: PrimitiveType, value: Any, hashed: int) -> None:
    count = 1_000_003
    assert partitions(type_, BucketTransform(count), [value]) == [(hashed & 0x7FFFFFFF) % count]


TRUNCATED: list[tuple[PrimitiveType, int, Any, Any]] = [
    (IntegerType(), 10, -1, -10),
    (LongType(), 10, -1, -10),
    (DecimalType(9, 2), 50, Decimal("10.65"), "10.50"),
    (StringType(), 3, "é😀日本語", "é😀日"),
    (BinaryType(), 3, b"\x00\x01\x02\x03", "000102"),
    (DecimalType(38, 2), 100, Decimal("9" * 36 + ".99"), "9" * 36 + ".00"),
]


@pytest.mark.parametrize(("type_", "width", "value", "kept"), TRUNCATED, ids=str)
def test_truncate(type_: PrimitiveType, width: int, value: Any, kept: Any) -> None:
    assert partitions(type_, TruncateTransform(width), [value]) == [kept]


FAR = 1704067200_000000_000
"""A timestamp of year 2024 in nanoseconds, taken for microseconds."""
TIME_PARTS: list[tuple[PrimitiveType, Transform[Any, Any], int, Any]] = [
    (DateType(), YearTransform(), 2147483646, 5879610),
    (DateType(), MonthTransform(), -2147483648, -70555327),
    (DateType(), DayTransform(), 105200797, "+290000-01-01"),
    (DateType(), IdentityTransform(), -2147483648, "-5877641-06-23"),
    (DateType(), DayTransform(), 2932897, "+10000-01-01"),
    (DateType(), DayTransform(), -719528, "0000-01-01"),
    (DateType(), DayTransform(), -719529, "-0001-12-31"),
    (TimestampType(), YearTransform(), FAR, 53999),
    (TimestampType(), MonthTransform(), FAR, 647996),
    (TimestamptzType(), DayTransform(), FAR, "+55969-09-28"),
    (TimestamptzType(), IdentityTransform(), FAR, "+55969-09-28T00:00:00.000000+00:00"),
    (TimestampType(), DayTransform(), -(2**63) + 1, "-290308-12-21"),
    (TimestampNanoType(), HourTransform(), -1, -1),
    (TimestampNanoType(), IdentityTransform(), -1, "1969-12-31T23:59:59.999999999"),
    (TimestamptzNanoType(), IdentityTransform(), 1, "1970-01-01T00:00:00.000000001+00:00"),
]


@pytest.mark.parametrize(("type_", "transform", "value", "expected"), TIME_PARTS, ids=str)
def test_times_that_python_does_not_know(
    type_: PrimitiveType, transform: Transform[Any, Any], value: int, expected: Any
) -> None:
    assert partitions(type_, transform, [value]) == [expected]


def test_not_a_number_is_one_partition() -> None:
    nan = float("nan")
    found = partitions(DoubleType(), IdentityTransform(), [nan, 1.0, nan, 0.0, -0.0, None])
    assert list(map(repr, found)) == ["nan", "1.0", "nan", "0.0", "-0.0", "None"]


JSON_FORMS: list[tuple[PrimitiveType, Any, Any]] = [
    (BooleanType(), True, True), (IntegerType(), 1, 1), (LongType(), 2**62, 2**62),
    (FloatType(), 1.5, 1.5), (DoubleType(), 0.1, 0.1),
    (DecimalType(9, 2), Decimal("14.20"), "14.20"), (DecimalType(38, 0), Decimal(9), "9"),
    (DateType(), 17486, "2017-11-16"), (TimeType(), 81068_123456, "22:31:08.123456"),
    (TimestampType(), 1510871468_123456, "2017-11-16T22:31:08.123456"),
    (TimestamptzType(), 1510871468_123456, "2017-11-16T22:31:08.123456+00:00"),
    (TimestampNanoType(), 1510871468_123456789, "2017-11-16T22:31:08.123456789"),
    (TimestamptzNanoType(), 1510871468_123456789, "2017-11-16T22:31:08.123456789+00:00"),
    (StringType(), "é", "é"),
    (UUIDType(), uuid.UUID(int=1).bytes, "00000000-0000-0000-0000-000000000001"),
    (FixedType(2), b"\x00\xff", "00ff"), (BinaryType(), b"\x00\xff", "00ff"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "value", "expected"), JSON_FORMS, ids=str)
def test_the_json_form_of_the_spec(type_: PrimitiveType, value: Any, expected: Any) -> None:
    schema = Schema(optional(1, "v", type_))
    column = table(schema, {"v": [value, None]}).column("v").combine_chunks()
    stored = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
    assert [single_value(type_, stored[0]), single_value(type_, stored[1])] == [expected, None]
