"""The conversion table of the Iceberg sink: what a JSON value becomes in a column of each type.

`None` is what cannot be converted. Every value is also converted both ways, and they must agree.
"""

from __future__ import annotations

import math
import uuid
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
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
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from tests.unit.kernels.conversion import (
    clock,
    convert_values,
    day,
    dumps,
    local,
    optional,
    required,
    utc,
)

NOT_SCALARS: dict[str, Any] = dict.fromkeys(("{}", "[]", '{"a":1}', "[1]", '{"a":"\\n"}'))
UUID_TEXT = "f79c3e09-677c-4bbd-a479-3f349cb785e7"

WHOLE_NUMBERS: dict[str, Any] = {
    "null": None, "0": 0, "1": 1, "-1": -1, "-0": 0, "127": 127,
    # a number loses its decimals, as intValue() does
    "1.9": 1, "-1.9": -1, "0.5": 0, "-0.0": 0, "1.0": 1, "1e2": 100, "1E2": 100, "1.5e1": 15,
    "1e-400": 0,
    "1e400": None, "-1e400": None, "NaN": None, "Infinity": None,
    "true": None, "false": None,
    # a string must be a whole number, as parseInt() wants it
    '"1"': 1, '"+1"': 1, '"-1"': -1, '"01"': 1, '"-0"': 0, '"\\u0031"': 1,
    '""': None, '" 1"': None, '"1 "': None, '"1.0"': None, '"1e2"': None, '"1_000"': None,
    '"0x10"': None, '"abc"': None, '"true"': None, '"١"': None, '"1\\u0000"': None,
    "2147483647": 2**31 - 1, "-2147483648": -2**31, "2147483647.9": 2**31 - 1,
    '"2147483647"': 2**31 - 1,
    **NOT_SCALARS,
}  # fmt: skip

INT_ONLY: dict[str, Any] = {
    "2147483648": None, "-2147483649": None, '"2147483648"': None, "1e10": None,
    "9223372036854775807": None,
}  # fmt: skip

LONG_ONLY: dict[str, Any] = {
    "2147483648": 2**31, "9007199254740993": 2**53 + 1, "1e10": 10**10,
    "9223372036854775807": 2**63 - 1, "-9223372036854775808": -2**63,
    "9223372036854775807.5": 2**63 - 1, '"9223372036854775807"': 2**63 - 1,
    "9223372036854775808": None, "-9223372036854775809": None, '"9223372036854775808"': None,
    "18446744073709551615": None, "12345678901234567890": None, "1e19": None,
    "9" * 400: None,
}  # fmt: skip

FLOATING: dict[str, Any] = {
    "null": None, "0": 0.0, "1": 1.0, "-1": -1.0, "1.5": 1.5, "1e2": 100.0, "0.0": 0.0,
    "-0.0": -0.0, "-0": -0.0, "1e-400": 0.0, "16777216": 16777216.0,
    '"0"': 0.0, '"1"': 1.0, '"-1.5"': -1.5, '"1e2"': 100.0, '".5"': 0.5, '"5."': 5.0,
    '" 1.5 "': 1.5, '"-0.0"': -0.0, '"\\u0031"': 1.0,
    "true": None, "false": None, '"true"': None, '"abc"': None, '""': None, '"1,5"': None,
    '"0x10"': None,
    # a number that does not fit is no infinity, unless infinity is what is written
    "1e400": None, "-1e400": None, '"1e400"': None, "9" * 400: None,
    '"Infinity"': math.inf, '"-Infinity"': -math.inf, "Infinity": math.inf,
    '"NaN"': math.nan, "NaN": math.nan,
    **NOT_SCALARS,
}  # fmt: skip

DECIMAL_10_2: dict[str, Any] = {
    "null": None, "0": Decimal("0.00"), "1": Decimal("1.00"), "-1.5": Decimal("-1.50"),
    "1.10": Decimal("1.10"), "1e2": Decimal("100.00"), "-0.0": Decimal("0.00"),
    "99999999.99": Decimal("99999999.99"), "-99999999.99": Decimal("-99999999.99"),
    # what is finer than the scale is rounded half up
    "1.005": Decimal("1.01"), "1.004": Decimal("1.00"), "-1.005": Decimal("-1.01"),
    "99999999.994": Decimal("99999999.99"),
    "99999999.995": None, "100000000": None, "1e400": None, "NaN": None,
    '"1.10"': Decimal("1.10"), '"-1"': Decimal("-1.00"), '"+1"': Decimal("1.00"),
    '"1e2"': Decimal("100.00"), '"\\u0031.5"': Decimal("1.50"),
    '""': None, '"abc"': None, '"1_000"': None, '"NaN"': None, '"1,5"': None,
    "true": None, "false": None,
    **NOT_SCALARS,
}  # fmt: skip

NINES = "9" * 28 + "." + "9" * 10
DECIMAL_38_10: dict[str, Any] = {
    NINES: Decimal(NINES), "-" + NINES: Decimal("-" + NINES), f'"{NINES}"': Decimal(NINES),
    "1234567890123456789012345678.0123456789": Decimal("1234567890123456789012345678.0123456789"),
    "0.0000000001": Decimal("0.0000000001"), "0.1": Decimal("0.1000000000"),
    "12345678901234567890.1": Decimal("12345678901234567890.1000000000"),
    "9" * 29: None,
}  # fmt: skip

BOOLEANS: dict[str, Any] = {
    "null": None, "true": True, "false": False,
    # parseBoolean() of any string but "true" is false
    '"true"': True, '"TRUE"': True, '"True"': True, '"tr\\u0075e"': True,
    '"false"': False, '"yes"': False, '"1"': False, '""': False, '" true"': False,
    "0": None, "1": None, "1.5": None, **NOT_SCALARS,
}  # fmt: skip

STRINGS: dict[str, Any] = {
    "null": None, "true": "true", "false": "false", '""': "", '"abc"': "abc", '" a "': " a ",
    # a number keeps the digits it was written with
    "1": "1", "-0": "-0", "1.10": "1.10", "1e2": "1e2", "1E+2": "1E+2", "1e400": "1e400",
    "12345678901234567890": "12345678901234567890",
    "123456789012345678901234567890.1234567890": "123456789012345678901234567890.1234567890",
    '"1.10"': "1.10", '"null"': "null", '"é😀日本"': "é😀日本",
    '"a\\nb\\t\\"c\\"\\\\"': 'a\nb\t"c"\\', '"\\u00e9"': "é", '"\\ud83d\\ude00"': "😀",
    '"x\\u0000y"': "x\0y", '"\\u0000"': "\0", '"\\/"': "/", '"\\""': '"', '"\\"\\""': '""',
    # text that looks like an object is text, an object is not
    '"{"': "{", '"["': "[", '"{\\"a\\":1}"': '{"a":1}', '"[1]"': "[1]",
    **NOT_SCALARS,
}  # fmt: skip

DATES: dict[str, Any] = {
    "null": None, '"2024-02-29"': day(2024, 2, 29), '"1969-12-31"': day(1969, 12, 31),
    '"0001-01-01"': day(1, 1, 1), '"9999-12-31"': day(9999, 12, 31),
    '"2024\\u002d02-29"': day(2024, 2, 29),
    '"2024-02-29T23:59:59Z"': day(2024, 2, 29), '"2024-02-29T23:59:59-05:00"': day(2024, 2, 29),
    "0": day(1970, 1, 1), "19723": day(2024, 1, 1), "-1": day(1969, 12, 31),
    "-719162": day(1, 1, 1), "1.9": day(1970, 1, 2), "-1.9": day(1969, 12, 31),
    "1e2": day(1970, 4, 11),
    '"2023-02-29"': None, '"2024-13-01"': None, '"infinity"': None, '"-infinity"': None,
    '"epoch"': None, '"today"': None, '"now"': None, '""': None, '"19723"': None, '"abc"': None,
    '" 2024-02-29"': None, '"29.02.2024"': None, "9223372036854775807": None,
    "true": None, **NOT_SCALARS,
}  # fmt: skip

TIMES: dict[str, Any] = {
    "null": None, '"12:34"': clock(12, 34), '"12:34:56"': clock(12, 34, 56),
    '"12:34:56.789"': clock(12, 34, 56, 789000), '"12:34:56.123456"': clock(12, 34, 56, 123456),
    '"12:34:56.1234567"': clock(12, 34, 56, 123456), '"12:34:56Z"': clock(12, 34, 56),
    '"00:00:00"': clock(0), '"23:59:59.999999"': clock(23, 59, 59, 999999),
    "0": clock(0), "1": clock(0, 0, 0, 1000), "45296789": clock(12, 34, 56, 789000),
    "86399999": clock(23, 59, 59, 999000), "1.9": clock(0, 0, 0, 1000),
    "86400000": None, "-1": None, '"24:00:00"': None, '"25:00:00"': None, '"12:60:00"': None,
    # an offset means another time; a date is no time
    '"12:34:56+02:00"': None, '"2024-01-01"': None, '"2024-01-01T12:34:56Z"': None,
    '"epoch"': None, '"infinity"': None, '""': None, '"abc"': None, '"123456"': None,
    "true": None, **NOT_SCALARS,
}  # fmt: skip

INSTANTS: dict[str, Any] = {
    "null": None,
    '"2024-02-29T12:34:56Z"': utc(2024, 2, 29, 12, 34, 56),
    '"2024-02-29 12:34:56"': utc(2024, 2, 29, 12, 34, 56),
    '"2024-02-29T12:34:56.123456Z"': utc(2024, 2, 29, 12, 34, 56, 123456),
    '"2024-02-29T12:34:56.1234567Z"': utc(2024, 2, 29, 12, 34, 56, 123456),
    '"2024-02-29T12:34"': utc(2024, 2, 29, 12, 34), '"2024-02-29"': utc(2024, 2, 29),
    # without an offset it is UTC; with one it is moved there
    '"2024-02-29T12:34:56"': utc(2024, 2, 29, 12, 34, 56),
    '"2024-02-29T12:34:56+02:00"': utc(2024, 2, 29, 10, 34, 56),
    '"2024-02-29T12:34:56-0530"': utc(2024, 2, 29, 18, 4, 56),
    '"2024-02-29T12:34:56+02"': utc(2024, 2, 29, 10, 34, 56),
    '"1970-01-01T00:00:00Z"': utc(1970, 1, 1), '"1970-01-01"': utc(1970, 1, 1),
    '"1969-12-31T23:59:59.999999Z"': utc(1969, 12, 31, 23, 59, 59, 999999),
    '"0001-01-01T00:00:00Z"': utc(1, 1, 1),
    '"9999-12-31T23:59:59.999999Z"': utc(9999, 12, 31, 23, 59, 59, 999999),
    '"2024-02-29T12:34:56\\u005a"': utc(2024, 2, 29, 12, 34, 56),
    # a number is milliseconds
    "0": utc(1970, 1, 1), "1704067200000": utc(2024, 1, 1), "-1": utc(1969, 12, 31, 23, 59, 59,
                                                                     999000),
    "1.9": utc(1970, 1, 1, 0, 0, 0, 1000), "-1.9": utc(1969, 12, 31, 23, 59, 59, 999000),
    "1704067200000.5": utc(2024, 1, 1), "1e12": utc(2001, 9, 9, 1, 46, 40),
    "253402300799999": utc(9999, 12, 31, 23, 59, 59, 999000),
    '"1704067200000"': None, '"2023-02-29T00:00:00Z"': None, '"2024-02-29T25:00:00Z"': None,
    '"infinity"': None, '"-infinity"': None, '"Infinity"': None, '"epoch"': None, '"now"': None,
    '"today"': None, '" 2024-02-29T12:34:56Z"': None, '"2024-02-29T12:34:56Zx"': None,
    '""': None, '"abc"': None, '"12:34:56"': None, "9223372036854775807": None, "1e300": None,
    "true": None, **NOT_SCALARS,
}  # fmt: skip

LOCAL_TIMES = {
    text: value if value is None else value.replace(tzinfo=None)
    for text, value in INSTANTS.items()
}

NANOS: dict[str, Any] = {
    "null": None, '"1970-01-01T00:00:00.123456789Z"': 123456789,
    '"1970-01-01T00:00:00.1Z"': 100_000_000, '"1970-01-01T00:00:00Z"': 0,
    '"1969-12-31T23:59:59.999999999Z"': -1, '"1969-12-31T23:59:59.9999999Z"': -100,
    '"2024-01-01T12:00:00.123456789+02:00"': 1704103200123456789,
    '"2024-01-01T12:00:00.123456789123Z"': 1704110400123456789,
    '"2024-01-01"': 1704067200_000000000,
    # a number is nanoseconds, every one of them
    "0": 0, "-1": -1, "1704067200123456789": 1704067200123456789, "1.9": 1,
    '"3000-01-01T00:00:00Z"': None, '"infinity"': None, '"epoch"': None, '"abc"': None,
    "9223372036854775808": None, "true": None, **NOT_SCALARS,
}  # fmt: skip

BINARIES: dict[str, Any] = {
    "null": None, '"AAEC"': b"\x00\x01\x02", '"AA=="': b"\x00", '"AA"': b"\x00", '""': b"",
    '"/+8="': b"\xff\xef", '"AAE\\u0043"': b"\x00\x01\x02",
    '"A"': None, '"_-8="': None, '"AA EC"': None, '"é"': None, '"A==="': None,
    "1": None, "true": None, **NOT_SCALARS,
}  # fmt: skip

FIXED_3: dict[str, Any] = {
    "null": None, '"AAEC"': b"\x00\x01\x02", '"AA=="': None, '"AAECAw=="': None, '""': None,
    "1": None, **NOT_SCALARS,
}  # fmt: skip

UUIDS: dict[str, Any] = {
    "null": None, f'"{UUID_TEXT}"': uuid.UUID(UUID_TEXT),
    f'"{UUID_TEXT.upper()}"': uuid.UUID(UUID_TEXT),
    f'"{UUID_TEXT[:-1]}"': None, f'"{UUID_TEXT}0"': None, '""': None, '"abc"': None, "1": None,
    "true": None, **NOT_SCALARS,
}  # fmt: skip

SCALARS: list[tuple[IcebergType, dict[str, Any]]] = [
    (BooleanType(), BOOLEANS),
    (IntegerType(), {**WHOLE_NUMBERS, **INT_ONLY}),
    (LongType(), {**WHOLE_NUMBERS, **LONG_ONLY}),
    (FloatType(), {**FLOATING, "1e39": None}),
    (DoubleType(), {**FLOATING, "0.1": 0.1, "1e39": 1e39, "9007199254740993": 2.0**53}),
    (DecimalType(10, 2), DECIMAL_10_2),
    (DecimalType(38, 10), DECIMAL_38_10),
    (DateType(), DATES),
    (TimeType(), TIMES),
    (TimestampType(), LOCAL_TIMES),
    (TimestamptzType(), INSTANTS),
    (StringType(), STRINGS),
    (UUIDType(), UUIDS),
    (FixedType(3), FIXED_3),
    (BinaryType(), BINARIES),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "table"), SCALARS, ids=[str(type_) for type_, _ in SCALARS])
def test_scalar(type_: IcebergType, table: dict[str, Any]) -> None:
    found = dict(zip(table, map(repr, convert_values(type_, list(table))), strict=True))
    assert found == {text: repr(_zoned(value)) for text, value in table.items()}


def _zoned(value: Any) -> Any:
    """Arrow names the zone UTC in its own way."""
    zone = getattr(value, "tzinfo", None)
    return value if zone is None else value.replace(tzinfo=ZoneInfo("UTC"))


@pytest.mark.parametrize("type_", [TimestampNanoType(), TimestamptzNanoType()], ids=str)
def test_nanoseconds(type_: IcebergType) -> None:
    # one far value makes all of them numbers, which Python's datetime could not hold
    texts = [*NANOS, "9223372036854775806"]
    assert convert_values(type_, texts) == [*NANOS.values(), 9223372036854775806]


def test_the_far_ends_of_time_are_kept_or_refused() -> None:
    """Events that count microseconds where milliseconds belong must not stop the others."""
    millis = ["9223372036854775", "-9223372036854775", "1704067200000000"]
    for type_ in (TimestampType(), TimestamptzType()):
        assert convert_values(type_, millis) == [int(text) * 1000 for text in millis]
        assert convert_values(type_, ["9223372036854776", "-9223372036854776"]) == [None, None]
        far = '"294247-01-10T04:00:54.775806Z"'
        assert convert_values(type_, [far]) == [9223372036854775806]
    assert convert_values(DateType(), ['"290000-01-01"', "2147483646"]) == [105200797, 2147483646]


SHOP = StructType(
    required(10, "id", LongType()),
    optional(11, "name", StringType()),
    optional(12, "price", DecimalType(12, 2)),
)
NESTED: list[tuple[IcebergType, dict[str, Any]]] = [
    (SHOP, {
        '{"id":1,"name":"a","price":1.10,"more":true}':
            {"id": 1, "name": "a", "price": Decimal("1.10")},
        '{"id":"7"}': {"id": 7, "name": None, "price": None},
        '{"id":1,"name":{},"price":"x"}': {"id": 1, "name": None, "price": None},
        # without its required field there is no struct
        '{"name":"a"}': None, '{"id":null}': None, '{"id":"x"}': None, "{}": None,
        '{"ID":1}': None, "null": None, "[1]": None, '"x"': None, "1": None, "true": None,
    }),
    (ListType(20, LongType(), element_required=False), {
        "[]": [], "[1,2]": [1, 2], '[1,"2",2.9,null,"x",true,{},[]]':
            [1, 2, 2, None, None, None, None, None],
        "null": None, "{}": None, "1": None, '"[1]"': None,
    }),
    (ListType(20, StringType(), element_required=True), {
        "[]": [], '["a",1.10,true]': ["a", "1.10", "true"], '["a",null]': None, "[{}]": None,
    }),
    (ListType(20, DecimalType(38, 10), element_required=False), {
        f"[{NINES},1]": [Decimal(NINES), Decimal("1.0000000000")],
    }),
    (ListType(20, UUIDType(), element_required=False), {
        f'["{UUID_TEXT}","x",null]': [uuid.UUID(UUID_TEXT), None, None],
    }),
    (ListType(20, SHOP, element_required=False), {
        '[{"id":1},{"name":"no id"},null,5]':
            [{"id": 1, "name": None, "price": None}, None, None, None],
    }),
    (ListType(20, SHOP, element_required=True), {
        '[{"id":1}]': [{"id": 1, "name": None, "price": None}], '[{"id":1},{}]': None,
    }),
    (ListType(20, ListType(21, TimestamptzType(), element_required=False),
              element_required=False), {
        "[[0],[],null,1]": [[utc(1970, 1, 1)], [], None, None],
    }),
    (MapType(30, StringType(), 31, LongType(), value_required=False), {
        "{}": [], '{"a":1,"b":"2","c":null,"d":"x","":5}':
            [("a", 1), ("b", 2), ("c", None), ("d", None), ("", 5)],
        '{"a":1,"A":2}': [("a", 1), ("A", 2)],
        # the same key twice makes no map
        '{"a":1,"a":2}': None, "null": None, "[1]": None, "1": None, '"{}"': None,
    }),
    (MapType(30, StringType(), 31, LongType(), value_required=True), {
        '{"a":1}': [("a", 1)], '{"a":1,"b":null}': None, '{"a":"x"}': None,
    }),
    (MapType(30, IntegerType(), 31, StringType(), value_required=False), {
        '{"1":"a","-2":null}': [(1, "a"), (-2, None)],
        # a key that does not convert, or that becomes the same as another, makes no map
        '{"1":"a","x":"b"}': None, '{"1":"a","01":"b"}': None,
    }),
    (MapType(30, StringType(), 31, SHOP, value_required=False), {
        '{"a":{"id":1},"b":{}}': [("a", {"id": 1, "name": None, "price": None}), ("b", None)],
    }),
    (StructType(optional(40, "l", ListType(41, StructType(
        optional(42, "m", MapType(43, StringType(), 44, BooleanType(), value_required=False)),
    ), element_required=False))), {
        '{"l":[{"m":{"a":true,"b":"TRUE","c":1}},{}]}':
            {"l": [{"m": [("a", True), ("b", True), ("c", None)]}, {"m": None}]},
    }),
    (StructType(optional(50, "a", LongType()), optional(51, "A", StringType()),
                optional(52, "a.b", LongType()), optional(53, 'it\'s "é"', LongType())), {
        dumps({"a": 1, "A": "x", "a.b": 2, 'it\'s "é"': 3}):
            {"a": 1, "A": "x", "a.b": 2, 'it\'s "é"': 3},
        '{"A":1}': {"a": None, "A": "1", "a.b": None, 'it\'s "é"': None},
    }),
    (StructType(required(60, "s", StructType(required(61, "t", LongType())))), {
        '{"s":{"t":1}}': {"s": {"t": 1}}, '{"s":{}}': None, '{"s":{"t":"x"}}': None, "{}": None,
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "table"), NESTED, ids=[str(type_)[:60] for type_, _ in NESTED])
def test_nested(type_: IcebergType, table: dict[str, Any]) -> None:
    assert dict(zip(table, convert_values(type_, list(table)), strict=True)) == table


def test_local_timestamps_have_no_zone() -> None:
    [found] = convert_values(TimestampType(), ['"2024-02-29T12:34:56+02:00"'])
    assert found == local(2024, 2, 29, 10, 34, 56)
