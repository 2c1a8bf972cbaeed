from __future__ import annotations

import pytest

from meltline.config.iceberg_type import (
    PRIMITIVES,
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_type,
)
from meltline.config.refused import Refused

LONG, STRING = PrimitiveType("long"), PrimitiveType("string")


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitive_types(name: str) -> None:
    assert parse_type(name) == PrimitiveType(name)
    assert parse_type(f" {name.upper()} ") == PrimitiveType(name)


@pytest.mark.parametrize(
    ("text", "type_", "canonical"),
    [
        ("fixed[16]", FixedType(16), "fixed[16]"),
        ("fixed [ 16 ]", FixedType(16), "fixed[16]"),
        ("decimal(12,2)", DecimalType(12, 2), "decimal(12,2)"),
        ("Decimal( 38 , 38 )", DecimalType(38, 38), "decimal(38,38)"),
        ("list<long>", ListType(LONG), "list<long>"),
        ("map<string, long>", MapType(STRING, LONG), "map<string,long>"),
        (
            "struct<a: long,b:list<string>>",
            StructType((StructField("a", LONG), StructField("b", ListType(STRING)))),
            "struct<a: long, b: list<string>>",
        ),
        (
            "struct<`a b`: long, größe: string, 2nd: long>",
            StructType(
                (StructField("a b", LONG), StructField("größe", STRING), StructField("2nd", LONG))
            ),
            "struct<`a b`: long, größe: string, 2nd: long>",
        ),
        (
            "map<string,struct<a: list<map<long,decimal(9,0)>>>>",
            MapType(
                STRING,
                StructType((StructField("a", ListType(MapType(LONG, DecimalType(9, 0)))),)),
            ),
            "map<string,struct<a: list<map<long,decimal(9,0)>>>>",
        ),
    ],
)
def test_types_with_parts(text: str, type_: IcebergType, canonical: str) -> None:
    assert parse_type(text) == type_
    assert str(type_) == canonical
    assert parse_type(canonical) == type_


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a type, found the end (character 1)"),
        ("5", 'expected a type, found "5" (character 1)'),
        ("long long", 'nothing more was expected, found "l" (character 6)'),
        ("long>", 'nothing more was expected, found ">" (character 5)'),
        ("fixed", 'expected "[", found the end (character 6)'),
        ("fixed(16)", 'expected "[", found "(" (character 6)'),
        ("fixed[0]", "a length must be from 1 to 2147483647, found 0 (character 7)"),
        ("decimal", 'expected "(", found the end (character 8)'),
        ("decimal(12)", 'expected ",", found ")" (character 11)'),
        ("decimal(39,2)", "a precision must be from 1 to 38, found 39 (character 9)"),
        ("decimal(5,6)", "a scale must be from 0 to 5, found 6 (character 11)"),
        ("decimal(5,-1)", 'expected a scale, found "-" (character 11)'),
        ("list", 'expected "<", found the end (character 5)'),
        ("list<>", 'expected a type, found ">" (character 6)'),
        ("list<long", 'expected ">", found the end (character 10)'),
        ("list<long,long>", 'expected ">", found "," (character 10)'),
        ("map<string>", 'expected ",", found ">" (character 11)'),
        ("struct<>", 'expected a field name, found ">" (character 8)'),
        ("struct<a long>", 'expected ":", found "l" (character 10)'),
        ("struct<a: long b: long>", 'expected "," or ">", found "b" (character 16)'),
        ("struct<a: long, a: int>", 'the field "a" is there twice (character 18)'),
        ("struct<`a: long>", "a field name in backticks has no end (character 9)"),
        ("list<varchar>", 'there is no "varchar" (character 6)'),
        ("list<" * 60, "it is nested too deeply (character 256)"),
    ],
)
def test_the_message_points_at_the_problem(text: str, why: str) -> None:
    with pytest.raises(Refused) as raised:
        parse_type(text)
    assert raised.value.what == f'"{text}" is not a type: {why}'


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("bigint", "long"),
        ("integer", "int"),
        ("VARCHAR", "string"),
        ("array", "list<...>"),
        ("numeric", "decimal(p,s)"),
        ("timestmp", "timestamp"),
        ("strng", "string"),
    ],
)
def test_names_of_other_systems(text: str, meant: str) -> None:
    with pytest.raises(Refused) as raised:
        parse_type(text)
    assert raised.value.what == f'"{text}" is not a type'
    assert (raised.value.hint or "").startswith(
        f'did you mean "{meant}"? valid types: boolean, int'
    )
