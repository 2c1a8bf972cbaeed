"""Texts of variants: DuckDB's where it spells as documents do, else made of the bytes."""

from __future__ import annotations

import json
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
        primitive(7, "d", float("inf")), primitive(17, "q", source.randrange(86_400_000_000))])


def test_both_ways_say_the_same() -> None:
    source = random.Random(7)
    values = [encode(random_value(source)) for _ in range(500)]
    for text, value in zip(texts(*values), values, strict=True):
        assert json.loads(text or "") == json.loads(variant_json(**value))


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
