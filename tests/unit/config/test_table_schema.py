from __future__ import annotations

from typing import Any

import pytest

from meltline.config.iceberg_type import PRIMITIVES, PrimitiveType, parse_type
from meltline.config.partition import Transform, parse_transform
from meltline.config.refused import Refused
from meltline.config.table_schema import SchemaBlock

TIMESTAMPS = {"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"}
BUCKETED = {"int", "long", "date", "time", "string", "uuid", "binary"} | TIMESTAMPS


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("identity", Transform("identity")),
        ("void", Transform("void")),
        ("Day", Transform("day")),
        ("bucket[16]", Transform("bucket", 16)),
        ("truncate[ 3 ]", Transform("truncate", 3)),
    ],
)
def test_transforms(text: str, transform: Transform) -> None:
    assert parse_transform(text) == transform


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("bucket", '"bucket" needs a number above 0', "write bucket[16]"),
        ("bucket[0]", '"bucket[0]" needs a number above 0', "write bucket[16]"),
        ("day[2]", '"day[2]" takes no number', "write day"),
        (
            "bucket(16)",
            '"bucket(16)" is not a partition transform',
            'did you mean "bucket[n]"? valid transforms: '
            "identity, year, month, day, hour, bucket[n], truncate[n], void",
        ),
    ],
)
def test_what_is_no_transform(text: str, what: str, hint: str) -> None:
    with pytest.raises(Refused) as raised:
        parse_transform(text)
    assert (raised.value.what, raised.value.hint) == (what, hint)


@pytest.mark.parametrize(
    ("transform", "taken"),
    [
        ("identity", {*PRIMITIVES, "decimal(9,2)", "fixed[4]"}),
        ("void", {*PRIMITIVES, "decimal(9,2)", "fixed[4]"}),
        ("year", {"date", *TIMESTAMPS}),
        ("month", {"date", *TIMESTAMPS}),
        ("day", {"date", *TIMESTAMPS}),
        ("hour", TIMESTAMPS),
        ("bucket[4]", {*BUCKETED, "decimal(9,2)", "fixed[4]"}),
        ("truncate[4]", {"int", "long", "string", "binary", "decimal(9,2)"}),
    ],
)
def test_which_types_a_transform_takes(transform: str, taken: set[str]) -> None:
    types = [*PRIMITIVES, "decimal(9,2)", "fixed[4]", "list<int>", "struct<a: int>"]
    found = {text for text in types if parse_transform(transform).takes(parse_type(text))}
    assert found == taken


def schema(columns: dict[str, str], *partition: tuple[str, str]) -> SchemaBlock:
    document: dict[str, Any] = {
        "columns": [{"name": name, "type": type_} for name, type_ in columns.items()],
        "partition_spec": [{"column": name, "transform": text} for name, text in partition],
    }
    return SchemaBlock.model_validate(document)


def test_a_field_of_a_struct_can_be_partitioned_by() -> None:
    found = schema({"a": "struct<b: struct<c: date>>", "x.y": "long"}, ("a.b.c", "day"))
    assert found.find("a.b.c") == PrimitiveType("date")
    assert found.find("x.y") == PrimitiveType("long")
    assert found.find("a.b.x") is None
    assert found.find("x.y.z") is None


@pytest.mark.parametrize(
    "partition",
    [
        [("at", "day"), ("id", "bucket[4]"), ("id", "truncate[4]")],
        [("id", "identity"), ("at", "void")],
    ],
)
def test_several_transforms(partition: list[tuple[str, str]]) -> None:
    assert len(schema({"id": "long", "at": "timestamp"}, *partition).partition_spec) > 1
