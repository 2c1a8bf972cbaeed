"""The mismatch table of the Iceberg sink: which events are rows, which are refused and why."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    UUIDType,
)

from meltline.kernels.convert import NO_MATCH, Converter
from meltline.model.event import json_shape
from meltline.sinks.iceberg.fields import KeyFilter
from tests.unit.kernels.conversion import (
    CONNECTION,
    convert,
    dumps,
    optional,
    reasons,
    required,
)

ID = required(1, "id", LongType())
NOTE = optional(2, "note", StringType())
MISSING_ID = 'required column "id" is missing or null'

ROWS = {
    "exact match": ('{"id":1,"note":"a"}', {"id": 1, "note": "a"}),
    "extra fields are ignored": ('{"id":1,"note":"a","x":[{}]}', {"id": 1, "note": "a"}),
    "missing optional is null": ('{"id":1}', {"id": 1, "note": None}),
    "null optional is null": ('{"id":1,"note":null}', {"id": 1, "note": None}),
    "coercible is coerced": ('{"id":"1","note":5}', {"id": 1, "note": "5"}),
    "not coercible optional is null": ('{"id":1,"note":{}}', {"id": 1, "note": None}),
    "names match in their case": ('{"id":1,"Note":"a"}', {"id": 1, "note": None}),
    "spaces do not matter": (' { "id" : 1 ,\n"note":\t"a" } ', {"id": 1, "note": "a"}),
    "an escaped name is the name": ('{"\\u0069d":1}', {"id": 1, "note": None}),
}

REFUSED = {
    "missing required": ('{"note":"a"}', MISSING_ID),
    "null required": ('{"id":null,"note":"a"}', MISSING_ID),
    "required in another case": ('{"ID":1,"note":"a"}', MISSING_ID),
    "required not coercible": ('{"id":"x"}', 'required column "id" (long) cannot take "x"'),
    "required is an object": ('{"id":{"a":1}}', 'required column "id" (long) cannot take {"a":1}'),
    "required is true": ('{"id":true}', 'required column "id" (long) cannot take true'),
    "required does not fit": (
        '{"id":9223372036854775808}',
        'required column "id" (long) cannot take 9223372036854775808',
    ),
    "no field matches": ('{"x":1,"y":"a"}', NO_MATCH),
    "no field at all": ("{}", NO_MATCH),
    "only the case differs": ('{"ID":1,"NOTE":"a"}', NO_MATCH),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row(case: str) -> None:
    body, row = ROWS[case]
    converted = convert([ID, NOTE], [body])
    assert converted.rows.to_pylist() == [row]
    assert converted.rejects.num_rows == 0


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal(case: str) -> None:
    body, reason = REFUSED[case]
    converted = convert([ID, NOTE], [body])
    assert converted.rows.num_rows == 0
    assert reasons(converted) == {0: reason}


def test_one_bad_event_leaves_the_others_alone() -> None:
    bodies = [body for body, _ in [*ROWS.values(), *REFUSED.values()]]
    converted = convert([ID, NOTE], bodies)
    assert sorted(map(repr, converted.rows.to_pylist())) == sorted(
        repr(row) for _, row in ROWS.values())
    assert reasons(converted) == {
        len(ROWS) + place: reason for place, (_, reason) in enumerate(REFUSED.values())}


def test_the_first_required_column_that_fails_is_the_reason() -> None:
    fields = [required(1, "a", LongType()), required(2, "b", DoubleType())]
    converted = convert(fields, ['{"a":1}', '{"b":1}', '{"a":"x","b":"y"}', '{"a":1,"b":"y"}'])
    assert reasons(converted) == {
        0: 'required column "b" is missing or null',
        1: 'required column "a" is missing or null',
        2: 'required column "a" (long) cannot take "x"',
        3: 'required column "b" (double) cannot take "y"',
    }


def test_without_required_columns_a_null_of_a_known_name_is_a_row() -> None:
    converted = convert([NOTE], ['{"note":null}', '{"note":{}}', '{"other":1}'])
    assert converted.rows.to_pylist() == [{"note": None}, {"note": None}]
    assert reasons(converted) == {2: NO_MATCH}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        (required(1, "t", TimestamptzType()), '"epoch"',
         'required column "t" (timestamptz) cannot take "epoch"'),
        (required(1, "d", DecimalType(4, 2)), "100",
         'required column "d" (decimal(4, 2)) cannot take 100'),
        (required(1, "d", DoubleType()), "1e400", 'required column "d" (double) cannot take 1e400'),
        (required(1, "u", UUIDType()), '"é\\n"', 'required column "u" (uuid) cannot take "é\\n"'),
        (required(1, "l", ListType(2, LongType(), element_required=True)), "[1,null]",
         'required column "l" (list<long>) cannot take [1,null]'),
        (required(1, "s", StructType(required(2, "a", LongType()))), '{"a":"x"}',
         'required column "s" (struct<2: a: required long>) cannot take {"a":"x"}'),
        (required(1, 'it\'s "q"', LongType()), '"x"',
         'required column "it\'s "q"" (long) cannot take "x"'),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_the_reason_quotes_the_value(field: NestedField, value: str, reason: str) -> None:
    converted = convert([field], [f"{{{dumps(field.name)}:{value}}}"])
    assert reasons(converted) == {0: reason}


def test_a_long_value_is_cut_in_the_reason() -> None:
    converted = convert([ID], ['{"id":"' + "x" * 1000 + '"}'])
    assert reasons(converted) == {
        0: 'required column "id" (long) cannot take "' + "x" * 99}


def test_nested_extra_and_missing_fields() -> None:
    field = optional(1, "s", StructType(optional(2, "a", LongType()), optional(3, "b", LongType())))
    converted = convert([field], ['{"s":{"a":1,"c":2}}', '{"s":{"c":2}}'])
    assert converted.rows.to_pylist() == [
        {"s": {"a": 1, "b": None}}, {"s": {"a": None, "b": None}}]


NAMES = ["a", "A", "a.b", "a b", "it's", '"q"', "é", "日本", "😀", "$.x", "$", "\\", "a\nb", "\t",
         "ord", "body", "flag", "c0", "j0", "select", "x" * 300]  # fmt: skip


def test_column_names_of_every_sort() -> None:
    fields = [optional(place + 1, name, LongType()) for place, name in enumerate(NAMES)]
    event = {name: place for place, name in enumerate(NAMES)}
    converted = convert(fields, [dumps(event)])
    assert converted.rows.to_pylist() == [event]


@pytest.mark.parametrize("name", NAMES)
def test_a_lone_column_of_any_name_matches(name: str) -> None:
    converted = convert([optional(1, name, LongType())], [dumps({name: 7}), dumps({name: None})])
    assert converted.rows.to_pylist() == [{name: 7}, {name: None}]


def test_names_that_differ_in_case_alone_are_different_columns() -> None:
    fields = [optional(1, "key", LongType()), required(2, "KEY", LongType()),
              optional(3, "Key", StringType())]
    converted = convert(fields, ['{"key":1,"KEY":2,"Key":3}', '{"key":1}', '{"KEY":2}'])
    assert converted.rows.to_pylist() == [
        {"key": 1, "KEY": 2, "Key": "3"}, {"key": None, "KEY": 2, "Key": None}]
    assert reasons(converted) == {1: 'required column "KEY" is missing or null'}


# lists, not sets: their text is in the tests' names, and is to be the same in every process
FILTERS = [
    (KeyFilter(), ["a", "b", "c"]),
    (KeyFilter(include=("a", "b")), ["a", "b"]),
    (KeyFilter(exclude=("a",)), ["b", "c"]),
    (KeyFilter(include=("a", "b"), exclude=("b",)), ["a"]),
    (KeyFilter(include=("z",)), []),
]


@pytest.mark.parametrize(("keys", "allowed"), FILTERS, ids=lambda value: str(value))
def test_a_key_filter(keys: KeyFilter, allowed: list[str]) -> None:
    assert [name for name in "abc" if keys.allows(name)] == allowed


@pytest.mark.parametrize(("keys", "allowed"), FILTERS, ids=lambda value: str(value))
def test_filtered_keys_are_as_if_absent(keys: KeyFilter, allowed: list[str]) -> None:
    fields = [optional(place, name, LongType()) for place, name in enumerate("abc", 1)]
    event = {"a": 1, "b": 2, "c": 3}
    kept = {name: value for name, value in event.items() if name in allowed}
    by_filter = convert(fields, [dumps(event), '{"b":5}'], keys.allows)
    by_hand = convert(fields, [dumps(kept), dumps({"b": 5} if "b" in allowed else {})])
    assert by_filter.rows.to_pylist() == by_hand.rows.to_pylist()
    assert reasons(by_filter) == reasons(by_hand)


def test_a_filtered_required_column_is_missing() -> None:
    converted = convert([ID, NOTE], ['{"id":1,"note":"a"}'], KeyFilter(exclude=("id",)).allows)
    assert reasons(converted) == {0: MISSING_ID}


def test_several_rows_of_one_event_are_all_decided() -> None:
    """A processor may unfold an event into several, which keep its number."""
    bodies = ['{"id":1}', '{"id":"2"}', '{"id":"x"}', '{"id":4}', '{"id":"+5"}']
    CONNECTION.register("unfolded", pa.table({
        "body": bodies, "ord": pa.array([0, 0, 0, 1, 1], pa.int64())}))
    converter = Converter(Schema(ID, NOTE), json_shape())
    converted = converter.convert(CONNECTION, "unfolded")
    assert sorted(converted.rows.column("id").to_pylist()) == [1, 2, 4, 5]
    assert converted.rejects.to_pylist() == [
        {"ord": 0, "reason": 'required column "id" (long) cannot take "x"'}]


def test_no_events() -> None:
    converted = convert([ID, NOTE], [])
    assert (converted.rows.num_rows, converted.rejects.num_rows) == (0, 0)
    assert converted.rows.schema.names == ["id", "note"]
