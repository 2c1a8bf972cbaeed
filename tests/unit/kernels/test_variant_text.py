"""Texts of variants: DuckDB's where it spells as documents do, else made of the bytes."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import (
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
)

from meltline.errors import UserError
from meltline.kernels.arrow_schema import VARIANT, variant_field
from meltline.kernels.connection import connect
from meltline.kernels.document_json import object_json
from meltline.kernels.row_hash import row_hash_sql
from meltline.kernels.typed import typed
from meltline.kernels.variant_json import variant_json
from meltline.kernels.variant_text import variant_text_sql
from meltline.model.variant import VariantType
from tests.unit.kernels.variants import Bytes, encode, primitive, sized


def query(sql: str, *values: Bytes | None) -> list[Any]:
    table = pa.Table.from_arrays([pa.array(values, VARIANT)],
                                 schema=pa.schema([variant_field("v")]))
    with connect() as connection:
        connection.register("t", table)
        return [row[0] for row in connection.sql(f"SELECT {sql} FROM t").fetchall()]


def texts(*values: Bytes | None) -> list[str | None]:
    return query(variant_text_sql("v"), *values)


FLOATS = (1e15, 1e16, 1.5e20, 123456789012345678901.0, 1e21, 1.2345e22, 1.7e308, 1e-4, 1e-5,
          2.5e-5, 1.2345678901234567e-6, 1e-7, 1.5e-7, 5e-324, 0.0, -0.0, -1e-10, 9.999e22)
SPELLED: tuple[Any, ...] = (
    *FLOATS, *(primitive(14, "f", one) for one in (0.1, 1e10, 1e-6, 1e30)),
    "".join(map(chr, range(130))) + "\u2028\U0001f600",
    *(primitive(11, "i", day) for day in (0, -800000, 2**31 - 1, -2**31 + 1, 5000000)),
    *(primitive(12, "q", one) for one in (0, -10**17, 2**63 - 1, 10**18)),
    *(primitive(13, "q", one) for one in (1500, -10**17, -2**63 + 1, 2**63 - 2)),
    *(primitive(19, "q", one) for one in (1, -1, 2**63 - 1, -2**63)),
    *(primitive(17, "q", one) for one in (0, 1, 86_400_000_000)),
    primitive(9, "Bq", 18, -10**17), primitive(8, "Bi", 2, 0))
"""Where there is more than one way to spell a value."""


def random_value(source: random.Random, depth: int = 0) -> Any:
    kind = source.randrange(9)
    if kind < 2 and depth < 4:
        return {source.choice("abcé"): random_value(source, depth + 1) for _ in range(3)}
    if kind < 4 and depth < 4:
        return [random_value(source, depth + 1) for _ in range(source.randrange(4))]
    return source.choice([
        None, True, source.randrange(-2**63, 2**63), source.uniform(-1e6, 1e6), "a<b", "x" * 70,
        primitive(8, "Bi", 2, source.randrange(10**6)), primitive(12, "q", source.getrandbits(50)),
        sized(15, source.randbytes(3)), primitive(11, "i", source.randrange(30000)),
        primitive(7, "d", float("inf")), primitive(17, "q", source.randrange(86_400_000_000)),
        *SPELLED])


def test_both_ways_say_the_same() -> None:
    source = random.Random(7)
    values = [encode(random_value(source)) for _ in range(500)]
    for text, value in zip(texts(*values), values, strict=True):
        assert text == variant_json(**value)


@pytest.mark.parametrize("value", SPELLED)
def test_scalars_are_spelled_alike(value: Any) -> None:
    fast, exact = texts(encode([value]), encode([value, sized(15, b"")]))
    assert fast == variant_json(**encode([value]))
    assert exact == f'{(fast or "")[:-1]},""]'


@pytest.mark.parametrize("value", [
    primitive(11, "i", day) for day in (0, 2932897, -719162, -719163, -719529, -800000, 2**31 - 1,
                                        2**31 - 2, -2**31, -2**31 + 1)])
def test_dates_are_spelled_as_duckdb_does(value: Any) -> None:
    assert query("v::JSON::VARCHAR", encode(value)) == [variant_json(**encode(value))]


@pytest.mark.parametrize(("kind", "type_"), [(12, "TIMESTAMPTZ"), (13, "TIMESTAMP"),
                                             (19, "TIMESTAMP_NS")])
@pytest.mark.parametrize("units", [0, 1500, -1, 10**18, -10**17, 2**63 - 1, -2**63 + 1])
def test_timestamps_are_spelled_as_in_columns(kind: int, type_: str, units: int) -> None:
    value = encode(primitive(kind, "q", units))
    column = object_json("r", {"t": type_})
    (document,) = query(f"(SELECT {column}::VARCHAR FROM (SELECT struct_pack("
                        f"t := v::{type_}) AS r))", value)
    assert document == f'{{"t":{variant_json(**value)}}}'


def test_timestamps_too_far_away_for_duckdb() -> None:
    far, zoned = primitive(13, "q", -2**63 + 2), primitive(12, "q", -2**63)
    assert texts(encode([far]), encode([zoned])) == [
        '["290309-12-21T(BC)T19:59:05.224194"]', '["290309-12-21T(BC)T19:59:05.224192Z"]']


def test_null_is_not_the_variant_null() -> None:
    assert texts(None, encode(None), encode([None])) == [None, "null", "[null]"]


@pytest.mark.parametrize(("value", "text"), [
    (sized(15, b"abc"), '"YWJj"'), (primitive(7, "d", float("nan")), '"NaN"'),
    (primitive(12, "q", 0), '"1970-01-01T00:00:00Z"'), ("<NaN>", '"<NaN>"'),
])
def test_what_duckdb_spells_in_another_way(value: Any, text: str) -> None:
    assert texts(encode(1), encode(value), None) == ["1", text, None]


def hashes(*values: Bytes | None) -> list[tuple[int, int]]:
    first, second = row_hash_sql([NestedField(1, "v", VariantType())])
    return query(f"({first}, {second})", *values)


def test_equal_values_of_other_bytes_are_equal() -> None:
    small = encode({"a": primitive(3, "b", 1), "b": [{"c": 2, "d": None}]})
    large = encode({"b": [{"d": None, "c": 2}], "a": 1}, names=("unused", "d", "b"))
    assert small != large
    assert len(set(hashes(small, large))) == 1


def test_other_values_are_not_equal() -> None:
    values = [None, *map(encode, (None, 1, "1", [1], {"a": 1}, {"b": 1}, {"a": None}, {}, []))]
    assert len(set(hashes(*values))) == len(values)


def test_variants_inside_of_lists_maps_and_structs_compare_by_value() -> None:
    variant = VariantType()
    inner = StructType(NestedField(2, "v", variant))
    for type_, made in ((ListType(2, variant), "[v]"), (inner, "struct_pack(v := v)"),
                        (MapType(2, StringType(), 3, variant), "map {'k': v}")):
        first, _ = row_hash_sql([NestedField(1, "m", type_)])
        one, other, third = query(
            f"(SELECT {first} FROM (SELECT {made} AS m))", encode({"a": primitive(3, "b", 1)}),
            encode({"a": 1}, names=("z",)), encode({"a": 2}))
        assert one == other != third


@pytest.mark.parametrize(("made", "type_", "text"), [
    ("v", "VARIANT", "{}"), ("[v, NULL]", "VARIANT[]", "[{},null]"), ("[]", "VARIANT[]", "[]"),
    ("map {'k\"': v}", "MAP(VARCHAR, VARIANT)", '{{"k\\"":{}}}'),
    ("struct_pack(n := 1.50, v := v)", "STRUCT(n DECIMAL(3,2), v VARIANT)",
     '{{"n":"1.50","v":{}}}'),
    ("NULL", "STRUCT(v VARIANT)", "null"), ("NULL", "VARIANT[]", "null"),
    ("NULL", "MAP(VARCHAR, VARIANT)", "null"),
])
def test_documents_keep_every_digit(made: str, type_: str, text: str) -> None:
    number = primitive(10, "BQQ", 3, 10**18 + 1, 10**18)
    digits = "18446744073709551617000000000000000.001"
    (document,) = query(
        "(SELECT ({})::VARCHAR FROM (SELECT struct_pack(a := ({})::{}, b := 7) AS r))".format(
            object_json("r", {"a": type_, "b": "INTEGER"}), made, type_), encode({"x": [number]}))
    expected = text.format(f'{{"x":[{digits}]}}') if "{}" in text else text
    assert document == f'{{"a":{expected},"b":7}}'


@pytest.mark.parametrize(("want", "values"), [
    (StringType(), ['{"a":1.5}', "7", '"x"', "null", None]),
    (LongType(), [None, 7, None, None, None]),
    (StructType(NestedField(2, "a", DoubleType())), [{"f0": 1.5}, None, None, None, None]),
    (UnknownType(), [None] * 5),
])
def test_variants_in_columns_of_other_types(want: IcebergType, values: list[Any]) -> None:
    found = query(typed("v", "VARIANT", want), encode({"a": 1.5}), encode(7), encode("x"),
                  encode(None), None)
    assert found == values


def test_only_variants_become_variants() -> None:
    assert typed("v", "VARIANT", VariantType()) == "v"
    with pytest.raises(UserError, match="takes variants alone"):
        typed("v", "JSON", VariantType())
