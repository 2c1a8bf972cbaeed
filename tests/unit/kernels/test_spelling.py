"""Names of fields whatever the letter case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

from meltline.codecs.parquet import duckdb_types
from meltline.kernels.convert import NO_MATCH, Converted, Converter
from meltline.kernels.spelling import fold_guess, match_spellings, spell_as
from meltline.model.event import Shape, json_shape
from meltline.sinks.iceberg.fields import KeyFilter
from tests.unit.kernels.conversion import CONNECTION, optional, reasons, register, required

KEYS = KeyFilter(any_case=True)
INNER = StructType(optional(11, "amount", LongType()), optional(12, "Code", StringType()))
SCHEMA = Schema(
    required(1, "id", LongType()), optional(2, "Name", StringType()), optional(3, "item", INNER),
    optional(4, "items", ListType(13, StructType(optional(14, "amount", LongType())), False)),
    optional(5, "byName", MapType(15, StringType(), 16, StructType(
        optional(17, "amount", LongType())), False)),
    optional(6, "at", TimestampType()))


def convert(bodies: Sequence[str], keys: KeyFilter = KEYS, schema: Schema = SCHEMA) -> Converted:
    events, shape = register(bodies), json_shape()
    spell = keys.spellings(CONNECTION, events, shape, schema)
    return Converter(schema, shape, keys.allows, spell=spell).convert(CONNECTION, events)


def rows(converted: Converted) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if value is not None}
            for row in converted.rows.sort_by("id").to_pylist()]


def test_every_event_in_another_spelling() -> None:
    found = convert(['{"ID":1,"NAME":"a","AT":0}', '{"ID":"2","NAME":5,"AT":1}'])
    assert [(row["id"], row["Name"]) for row in rows(found)] == [(1, "a"), (2, "5")]
    assert found.rows.schema.names == [f.name for f in SCHEMA.fields]


def test_spellings_mixed_in_one_chunk() -> None:
    found = convert(['{"id":1,"name":"a"}', '{"Id":2,"Name":"b"}', '{"ID":3,"NAME":"c"}',
                     '{"iD":4}'])
    assert [(row["id"], row.get("Name")) for row in rows(found)] == [
        (1, "a"), (2, "b"), (3, "c"), (4, None)]


def test_the_exact_spelling_wins_also_when_it_is_null() -> None:
    found = convert(['{"ID":9,"id":1,"NAME":"x","Name":"a"}', '{"id":2,"NAME":"x","Name":null}',
                     '{"id":null,"ID":3}'])
    assert [(row["id"], row.get("Name")) for row in rows(found)] == [(1, "a"), (2, None)]
    assert reasons(found) == {2: 'required column "id" is missing or null'}


def test_of_two_other_spellings_the_first_by_the_alphabet_wins() -> None:
    assert [row["id"] for row in rows(convert(['{"Id":2,"ID":1}', '{"Id":3}']))] == [1, 3]


def test_inside_of_structs_lists_and_maps_but_not_keys_of_maps() -> None:
    found = convert([
        '{"id":1,"ITEM":{"Amount":5,"CODE":"x","amount":6}}',
        '{"id":2,"Items":[{"AMOUNT":1},{"amount":2},{"Amount":3,"amount":null}]}',
        '{"id":3,"BYNAME":{"Amount":{"AMOUNT":7},"amount":{"amount":8}}}'])
    assert rows(found) == [
        {"id": 1, "item": {"amount": 6, "Code": "x"}},
        {"id": 2, "items": [{"amount": 1}, {"amount": 2}, {"amount": None}]},
        {"id": 3, "byName": [("Amount", {"amount": 7}), ("amount", {"amount": 8})]}]


def test_reasons_and_matches_know_the_spelling() -> None:
    found = convert(['{"ID":"x"}', '{"other":1}', '{"NAME":"a"}'])
    assert reasons(found) == {0: 'required column "id" (long) cannot take "x"', 1: NO_MATCH,
                              2: 'required column "id" is missing or null'}


def test_columns_that_differ_in_case_only_keep_their_own() -> None:
    schema = Schema(optional(1, "id", LongType()), optional(2, "ID", LongType()))
    found = convert(['{"id":1,"ID":2}', '{"id":3,"Id":4}', '{"iD":5}'], schema=schema)
    assert found.rows.sort_by("id").to_pylist() == [
        {"id": 1, "ID": 2}, {"id": 3, "ID": None}, {"id": 5, "ID": None}]


def test_a_chunk_that_spells_as_the_table_is_read_as_ever() -> None:
    bodies = ['{"id":1,"Name":"a","item":{"amount":1},"other":2}']
    shape = json_shape()
    assert KEYS.spellings(CONNECTION, register(bodies), shape, SCHEMA).others == {}
    assert KeyFilter().spellings(CONNECTION, register(['{"ID":1}']), shape, SCHEMA).others == {}


def test_key_filters_in_any_case() -> None:
    keys = KeyFilter(exclude=("NAME",), any_case=True)
    assert rows(convert(['{"id":1,"name":"a"}'], keys)) == [{"id": 1}]
    assert KeyFilter(include=("Id",), any_case=True).allows("ID")
    assert not KeyFilter(include=("Id",)).allows("ID")


def typed(columns: dict[str, pa.Array]) -> Converted:
    table = pa.table(columns)
    CONNECTION.register("typed_events", pa.table({
        "row": table.to_struct_array().combine_chunks(),
        "ord": pa.array(range(table.num_rows), pa.int64())}))
    shape = Shape("typed", {}, duckdb_types(table.schema, CONNECTION))
    spell = KEYS.spellings(CONNECTION, "typed_events", shape, SCHEMA)
    return Converter(SCHEMA, shape, spell=spell).convert(CONNECTION, "typed_events")


def test_typed_events() -> None:
    found = typed({"ID": pa.array([1, None]), "name": pa.array(["a", "b"]),
                   "Item": pa.array([{"AMOUNT": 1, "code": "x"}, None]),
                   "ITEMS": pa.array([[{"Amount": 1}], None])})
    assert rows(found) == [
        {"id": 1, "Name": "a", "item": {"amount": 1, "Code": "x"}, "items": [{"amount": 1}]}]
    assert reasons(found) == {1: 'required column "id" is missing or null'}


def test_spellings_by_field() -> None:
    field = NestedField(1, "id", LongType())
    found = match_spellings(Schema(field), ["ID", "id", "x"])
    assert found.of(field) == ("id", "ID")
    assert match_spellings(Schema(field), ["ID", "Id"]).of(field) == ("ID", "Id")


@pytest.mark.parametrize(
    ("guess", "folded"),
    [({"struct": {"ID": "long", "new": "long", "NEW": "string"}},
      {"struct": {"id": "long", "new": "string"}}),
     ({"struct": {"ITEM": {"struct": {"Amount": "long", "More": "long", "more": "double"}}}},
      {"struct": {"item": {"struct": {"amount": "long", "More": "double"}}}}),
     ({"struct": {"Items": {"list": {"struct": {"AMOUNT": "long"}}}}},
      {"struct": {"items": {"list": {"struct": {"amount": "long"}}}}}),
     ({"struct": {"a": {"struct": {"B": "long"}}, "A": {"struct": {"b": "long"}}}},
      {"struct": {"a": {"struct": {"B": "long"}}}}),
     ("null", "null")],
)  # fmt: skip
def test_a_guess_in_the_tables_spelling(guess: Any, folded: Any) -> None:
    assert fold_guess(guess, SCHEMA.as_struct()) == folded


def test_a_name_as_one_of_several_is_spelled() -> None:
    assert spell_as("ID", ["x", "Id", "id"]) == "Id"
    assert spell_as("id", ["Id", "id"]) == "id"
    assert spell_as("y", ["x"]) == "y"
