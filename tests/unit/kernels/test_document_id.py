"""Document ids: readable where they can be, and never two keys under one id."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
    UUIDType,
)

from meltline.kernels.connection import connect
from meltline.kernels.document_id import document_id_sql


def ids(types: list[IcebergType], keys: list[tuple[Any, ...]]) -> list[str]:
    schema = Schema(*(NestedField(i + 1, f"k{i}", type_) for i, type_ in enumerate(types)))
    rows = [{f"k{i}": value for i, value in enumerate(key)} for key in keys]
    table = pa.Table.from_pylist(rows, schema=schema_to_pyarrow(schema, include_field_ids=False))
    with connect() as connection:
        connection.register("t", table)
        found = connection.sql(f"SELECT {document_id_sql(schema.fields)} FROM t").fetchall()
    return [id_ for (id_,) in found]


def test_values_are_joined_as_the_rfc_shows() -> None:
    assert ids([StringType(), StringType()], [("us", "electronics")]) == ["us-electronics"]


@pytest.mark.parametrize(("type_", "value", "text"), [
    (LongType(), -5, "-5"),
    (BooleanType(), True, "true"),
    (DoubleType(), float("nan"), "nan"),
    (DoubleType(), -float("nan"), "nan"),
    (FloatType(), -float("nan"), "nan"),
    (DoubleType(), -0.0, "-0.0"),
    (DoubleType(), -float("inf"), "-inf"),
    (StringType(), "us-east", "us-east"),
    (StringType(), "a\\b", "a\\\\b"),
    (StringType(), "", "\\E"),
    (StringType(), None, "\\N"),
    (DateType(), date(2024, 2, 29), "2024-02-29"),
    (TimestamptzType(), datetime(2024, 1, 2, 3, 4, 5, 6, timezone.utc),
     "2024-01-02T03:04:05.000006Z"),
    (DecimalType(9, 2), Decimal("1.50"), "1.50"),
    (BinaryType(), b"\xff\0", "/wA="),
])
def test_one_column(type_: IcebergType, value: Any, text: str) -> None:
    assert ids([type_], [(value,)]) == [text]


def test_a_uuid() -> None:
    value = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
    assert ids([UUIDType()], [(value.bytes,)]) == [str(value)]


def test_no_two_keys_share_an_id() -> None:
    texts = ["", "-", "\\", "a", "-a", "a-", "\\-", "\\N", "N", "\\E", None, "a-a", "\\\\"]
    pairs = list(itertools.product(texts, texts))
    assert len(set(ids([StringType(), StringType()], pairs))) == len(pairs)
    singles = [(text,) for text in texts]
    assert len(set(ids([StringType()], singles))) == len(singles)


def test_long_ids_become_a_digest() -> None:
    long, longer = ids([StringType()], [("x" * 513,), ("x" * 514,)])
    assert long != longer
    assert long.startswith("\\#")
    assert len(long) == 66
    assert ids([StringType()], [("x" * 512,)]) == ["x" * 512]
