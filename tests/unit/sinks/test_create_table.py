"""The schema and the partitions of a table that the sink creates."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from meltline.config.table_schema import SchemaBlock
from meltline.sinks.iceberg.create import schema_json, spec_json


def block(columns: dict[str, str], *parts: tuple[str, str], required: str = "") -> SchemaBlock:
    return SchemaBlock.model_validate({
        "columns": [{"name": name, "type": type_, "required": name == required}
                    for name, type_ in columns.items()],
        "partition_spec": [{"column": column, "transform": transform}
                           for column, transform in parts]})


def schema(made: SchemaBlock) -> Schema:
    return Schema.model_validate_json(schema_json(made))


TYPES = {
    "boolean": "boolean", "int": "int", "long": "long", "float": "float", "double": "double",
    "decimal(12,2)": "decimal(12, 2)", "date": "date", "time": "time", "timestamp": "timestamp",
    "timestamptz": "timestamptz", "timestamp_ns": "timestamp_ns",
    "timestamptz_ns": "timestamptz_ns", "string": "string", "uuid": "uuid", "binary": "binary",
    "fixed[4]": "fixed[4]", "LIST< Long >": "list<long>",
    "map<string,double>": "map<string, double>",
    "struct<a: int, `b c`: string>": "struct<2: a: optional int, 3: b c: optional string>",
    "list<struct<a: map<string,list<int>>>>":
        "list<struct<3: a: optional map<string, list<int>>>>",
}  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_every_type(text: str) -> None:
    found = schema(block({"c": text}))
    assert str(found.find_type("c")) == TYPES[text]


def test_ids_are_unique_and_inner_fields_optional() -> None:
    made = block({"id": "long", "s": "struct<a: struct<b: int>, c: list<struct<d: int>>>",
                  "m": "map<string,struct<e: int>>", "last": "int"}, required="id")
    found = schema(made)
    ids = sorted(found._lazy_id_to_name)
    assert ids == list(range(1, len(ids) + 1))
    assert [field.required for field in found.fields] == [True, False, False, False]
    assert not found.find_field("s.c.element.d").required
    assert not found.find_field("m.value.e").required


TRANSFORMS: list[tuple[str, str, str]] = [
    ("id", "identity", "id"), ("id", "bucket[16]", "id_bucket"),
    ("name", "truncate[4]", "name_trunc"), ("at", "year", "at_year"),
    ("at", "month", "at_month"), ("at", "day", "at_day"),
    ("at", "hour", "at_hour"), ("id", "void", "id_null"), ("s.x", "identity", "s.x"),
    ("s.x", "bucket[2]", "s_x_bucket"), ("a.b", "identity", "a.b"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "transform", "name"), TRANSFORMS)
def test_a_partition_field(column: str, transform: str, name: str) -> None:
    made = block({"id": "long", "name": "string", "at": "timestamptz", "s": "struct<x: long>",
                  "a": "struct<z: long>", "a.b": "long"}, (column, transform))
    [field] = PartitionSpec.model_validate_json(spec_json(made)).fields
    assert (str(field.transform), field.name, field.field_id) == (transform, name, 1000)
    assert schema(made).find_column_name(field.source_id) == column


def test_several_partition_fields() -> None:
    made = block({"id": "long", "at": "date"}, ("at", "day"), ("id", "bucket[4]"))
    found = PartitionSpec.model_validate_json(spec_json(made))
    assert [(field.name, field.field_id, field.source_id) for field in found.fields] == [
        ("at_day", 1000, 2), ("id_bucket", 1001, 1)]


def test_no_partition_fields() -> None:
    found: Any = PartitionSpec.model_validate_json(spec_json(block({"id": "long"})))
    assert found.fields == ()
    assert found.spec_id == 0
