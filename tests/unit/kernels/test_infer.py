"""Guessing types from values, and what a table lacks of them."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from meltline.kernels.infer import (
    NULL,
    Addition,
    Guess,
    additions,
    guess_arrow,
    guess_structures,
    iceberg_schema,
    iceberg_type,
    keys_sql,
    merge,
)
from meltline.kernels.structures import DEEPEST, find_structures, nesting
from tests.unit.kernels.conversion import CONNECTION, dumps, optional, register

NAMES = ["long", "double", "boolean", "string", "int", "float", "date", "decimal(10, 2)", NULL]


def guess(*events: Any) -> Guess:
    """What the events of one chunk look like."""
    bodies = [event if isinstance(event, str) else dumps(event) for event in events]
    return guess_structures(find_structures(CONNECTION, register(bodies)))


def struct(**fields: Guess) -> Guess:
    return {"struct": fields}


def lists(inner: Guess, depth: int) -> Guess:
    return inner if depth == 0 else {"list": lists(inner, depth - 1)}


GUESSED: dict[str, tuple[list[Any], Guess]] = {
    "scalars": ([{"b": True, "l": 1, "n": -1, "d": 1.5, "s": "x"}],
                struct(b="boolean", l="long", n="long", d="double", s="string")),
    "numbers widen": ([{"v": 1}, {"v": 1.5}], struct(v="double")),
    "what does not fit is text": ([{"v": 1}, {"v": "x"}], struct(v="string")),
    "a date is text": ([{"v": "2024-01-01"}], struct(v="string")),
    "null says nothing": ([{"v": None}, {"v": 1}], struct(v="long")),
    "null alone": ([{"v": None}], struct(v=NULL)),
    "an empty list says nothing": ([{"v": []}, {"v": [1]}], struct(v={"list": "long"})),
    "lists of nulls": ([{"v": [None]}], struct(v=NULL)),
    "lists": ([{"v": [1, 1.5]}], struct(v={"list": "double"})),
    "lists of lists": ([{"v": [[1], []]}], struct(v={"list": {"list": "long"}})),
    "objects": ([{"v": {"a": 1}}, {"v": {"b": "x"}}], struct(v=struct(a="long", b="string"))),
    "an empty object": ([{"v": {}}], struct(v=struct())),
    "lists of objects": ([{"v": [{"a": 1}, {"b": None}]}],
                         struct(v={"list": struct(a="long", b=NULL)})),
    "an empty object says nothing": ([{"v": {}}, {"v": {"a": 1}}], struct(v=struct(a="long"))),
    "an object and a number": ([{"v": {}}, {"v": 1}], struct(v="string")),
    "items that differ": ([{"v": [1, "x"]}], struct(v={"list": "string"})),
    "items of both signs": ([{"v": [1, -1]}], struct(v={"list": "long"})),
    "an event without fields": (["{}", {"v": 1}], struct(v="long")),
    "fields from several events": ([{"a": 1}, {"b": 1}], struct(a="long", b="long")),
    "more than a long holds": (['{"v":123456789012345678901234567890}'], struct(v="double")),
    "names of every sort": ([{"a.b": 1, "é😀": 1, 'it\'s "q"': 1}],
                            {"struct": {"a.b": "long", "é😀": "long", 'it\'s "q"': "long"}}),
    "names that differ in case": (['{"a":1,"A":"x"}'], struct(a="long", A="string")),
    "no fields": (["{}"], struct()),
    "a name that is empty": (['{"":1,"a":{"":2,"b":3}}'], struct(a=struct(b="long"))),
    "no object": (["[1]", "5", {"v": 1}], struct(v="long")),
    "deep enough": (['{"v":[[[[[[1]]]]]]}'], struct(v=lists("long", 6))),
    "too deep": (['{"v":[[[[[[[1]]]]]]]}'], struct(v=lists("string", 6))),
    "no events": ([], NULL),
}  # fmt: skip


@pytest.mark.parametrize("case", GUESSED)
def test_guess(case: str) -> None:
    events, expected = GUESSED[case]
    assert guess(*events) == expected


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


DEPTHS = [("", 0), ("{}", 1), ('{"a":[1]}', 2), ("[[],[[]],[]]", 3), ('{"a":"[[[{{{"}', 1),
          ('{"a\\"[":"\\\\"}', 1), (nested(2000), 2000)]  # fmt: skip


@pytest.mark.parametrize(("text", "depth"), DEPTHS, ids=range(len(DEPTHS)))
def test_nesting(text: str, depth: int) -> None:
    assert nesting(text) == depth


def test_a_field_nested_too_deeply_says_nothing() -> None:
    """DuckDB's json_structure would take the database down with it."""
    fields = f'"a":1,"deep":{nested(2000)},"é.x":{{"b":[true]}}'
    assert guess(f"{{{fields}}}", '{"c":1}') == {
        "struct": {"a": "long", "é.x": struct(b={"list": "boolean"}), "c": "long"}}
    assert guess('{"c":1}') == struct(c="long")


def test_many_brackets_are_not_deep() -> None:
    events = [{"v": [{"a": [place]} for place in range(500)], "t": "[" * 500}]
    assert guess(*events) == struct(v={"list": struct(a={"list": "long"})}, t="string")


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 127, 128, 129])
def test_around_the_deepest_level(depth: int) -> None:
    found = guess(f'{{"k":1,"v":{nested(depth)}}}')
    assert found["struct"]["k"] == "long"
    assert ("v" in found["struct"]) == (depth < DEEPEST)


HOSTILE = ["[" * 1500 + "]" * 1500, '{"a":' * 900 + "1" + "}" * 900, "9" * 5000, "1e999",
           '{"":1}', '{"a":1,"a":"x"}', '"\\u0000"', "[1,[2,[{}]],null]"]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_do_not_raise(value: str) -> None:
    found = guess(f'{{"v":{value}}}', '{"k":1}')
    assert found["struct"]["k"] == "long"


def test_the_names_of_all_events() -> None:
    register(['{"a":1,"b":{"c":1}}', '{"a":1,"é":2}', "{}"])
    assert {name for (name,) in CONNECTION.sql(keys_sql("events")).fetchall()} == {"a", "b", "é"}


def random_guess(chance: random.Random, depth: int = 0) -> Guess:
    kind = chance.random()
    if depth < 3 and kind < 0.3:
        return struct(**{chance.choice("abcd"): random_guess(chance, depth + 1)
                         for _ in range(chance.randint(0, 3))})
    if depth < 3 and kind < 0.5:
        return {"list": random_guess(chance, depth + 1)}
    return chance.choice(NAMES)


def test_the_order_of_merging_does_not_matter() -> None:
    chance = random.Random(3)
    for _ in range(3000):
        one, two, three = (random_guess(chance) for _ in range(3))
        assert merge(one, two) == merge(two, one)
        assert merge(merge(one, two), three) == merge(one, merge(two, three))
        assert merge(one, one) == one
        assert merge(one, NULL) == one


def test_every_order_of_events_gives_one_guess() -> None:
    events = [{"a": 1}, {"a": None, "b": [1]}, {"b": [1.5], "c": {"x": 1}}, {"c": {"x": "t"}}]
    guesses = [guess(*order) for order in itertools.permutations(events)]
    assert all(found == guesses[0] for found in guesses)


TABLE = Schema(
    optional(1, "id", LongType()),
    optional(2, "s", StructType(optional(3, "a", LongType()), optional(
        4, "t", StructType(optional(5, "x", LongType()))))),
    optional(6, "l", ListType(7, StructType(optional(8, "a", LongType())), False)),
    optional(9, "ll", ListType(10, ListType(11, StructType(optional(12, "a", LongType())), False),
                               False)),
    optional(13, "m", MapType(14, StringType(), 15, IntegerType(), False)))

LACKING: dict[str, tuple[Guess, list[Addition]]] = {
    "nothing": (struct(id="string", s="long", m=struct(x="long")), []),
    "a column": (struct(n="long"), [Addition(None, "n", "long")]),
    "several": (struct(n="long", o={"list": "long"}),
                [Addition(None, "n", "long"), Addition(None, "o", {"list": "long"})]),
    "a struct": (struct(n=struct(x="long")), [Addition(None, "n", struct(x="long"))]),
    "in a struct": (struct(s=struct(a="string", b="long")), [Addition("s", "b", "long")]),
    "deep in a struct": (struct(s=struct(t=struct(y="long"))), [Addition("s.t", "y", "long")]),
    "in a list": (struct(l={"list": struct(b="long")}), [Addition("l.element", "b", "long")]),
    "in a list of lists": (struct(ll={"list": {"list": struct(b="long")}}),
                           [Addition("ll.element.element", "b", "long")]),
    "another case is another column": (struct(ID="long"), [Addition(None, "ID", "long")]),
    "nulls alone are not added": (struct(n=NULL, s=struct(b=NULL)), []),
    "nor are empty objects": (struct(n=struct(), s=struct(b=struct())), []),
    "a field without a name is not": ({"struct": {"": "long"}}, []),
    "a list where a struct is": (struct(s={"list": "long"}), []),
    "no events": (NULL, []),
    "not an object": ("long", []),
}


@pytest.mark.parametrize("case", LACKING)
def test_what_a_table_lacks(case: str) -> None:
    found, expected = LACKING[case]
    assert additions(TABLE, found) == expected


def test_nothing_is_lacking_once_it_was_added() -> None:
    chance = random.Random(9)
    for _ in range(300):
        fields = {name: random_guess(chance, 1) for name in "abc"}
        schema = Schema.model_validate_json(iceberg_schema({"struct": fields}))
        assert additions(schema, {"struct": fields}) == []


TYPES: dict[str, tuple[Guess, str]] = {
    "long": ("long", "long"),
    "null": (NULL, "string"),
    "an empty object": (struct(), "string"),
    "a list of nulls": ({"list": NULL}, "string"),
    "a list": ({"list": "long"}, "list<long>"),
    "a decimal": ("decimal(10, 2)", "decimal(10, 2)"),
}


@pytest.mark.parametrize("case", TYPES)
def test_the_type_of_a_guess(case: str) -> None:
    found, expected = TYPES[case]
    schema = {"type": "struct", "schema-id": 0, "fields": [
        {"id": 100, "name": "x", "required": False, "type": iceberg_type(found)}]}
    assert str(Schema.model_validate_json(json.dumps(schema)).find_type("x")) == expected


def test_a_schema_of_a_guess() -> None:
    found = {"struct": {"id": "long", "s": struct(a="double", l={"list": struct(x="string")}),
                        "n": NULL, "": "long", "a.b": "boolean"}}
    schema = Schema.model_validate_json(iceberg_schema(found))
    assert [field.name for field in schema.fields] == ["id", "s", "n", "a.b"]
    assert all(not field.required for field in schema.fields)
    assert str(schema.find_type("n")) == "string"
    assert str(schema.find_type("s.l.element.x")) == "string"


def test_ids_are_unique() -> None:
    chance = random.Random(4)
    for _ in range(300):
        fields = {name: random_guess(chance, 0) for name in "abcd"}
        schema = Schema.model_validate_json(iceberg_schema({"struct": fields}))
        ids = [field_id for field in schema.fields for field_id in _ids(field.field_id,
                                                                        field.field_type)]
        assert len(ids) == len(set(ids))


def _ids(own: int, type_: IcebergType) -> list[int]:
    if isinstance(type_, StructType):
        return [own, *(id_ for f in type_.fields for id_ in _ids(f.field_id, f.field_type))]
    if isinstance(type_, ListType):
        return [own, *_ids(type_.element_id, type_.element_type)]
    return [own]


ARROW: list[tuple[pa.DataType, Guess]] = [
    (pa.bool_(), "boolean"), (pa.int8(), "int"), (pa.int16(), "int"), (pa.int32(), "int"),
    (pa.uint8(), "int"), (pa.uint16(), "int"), (pa.uint32(), "long"), (pa.int64(), "long"),
    (pa.uint64(), "decimal(20, 0)"), (pa.float32(), "float"), (pa.float64(), "double"),
    (pa.decimal128(10, 2), "decimal(10, 2)"), (pa.string(), "string"),
    (pa.large_string(), "string"),
    (pa.binary(), "binary"), (pa.large_binary(), "binary"), (pa.binary(4), "binary"),
    (pa.date32(), "date"), (pa.time64("us"), "time"), (pa.timestamp("us"), "timestamp"),
    (pa.timestamp("ms"), "timestamp"), (pa.timestamp("us", "UTC"), "timestamptz"),
    (pa.timestamp("ns"), "timestamp"), (pa.timestamp("ns", "UTC"), "timestamptz"),
    (pa.null(), NULL), (pa.list_(pa.int64()), {"list": "long"}),
    (pa.large_list(pa.string()), {"list": "string"}),
    (pa.struct({"a": pa.int64()}), struct(a="long")),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "expected"), ARROW, ids=str)
def test_typed_events_say_their_types(type_: pa.DataType, expected: Guess) -> None:
    assert guess_arrow(type_) == expected
