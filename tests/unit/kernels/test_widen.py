"""Columns that must take more than they do."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    DecimalType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    StringType,
    StructType,
)

from meltline.kernels.infer import merge
from meltline.kernels.widen import Widening, widenings, wider
from tests.unit.kernels.conversion import optional, required

SCHEMA = Schema(
    required(1, "id", IntegerType()), optional(2, "x", FloatType()),
    required(3, "s", StructType(required(4, "n", IntegerType()), optional(5, "t", StringType()))),
    optional(6, "l", ListType(7, IntegerType(), False)),
    optional(8, "m", ListType(9, StructType(optional(10, "d", DecimalType(9, 2))), False)))


def typed(fields: dict[str, Any], *nulls: str) -> dict[str, Any]:
    return {"struct": fields, "typed": True, **({"nulls": list(nulls)} if nulls else {})}


@pytest.mark.parametrize(
    ("have", "seen", "type_"),
    [(IntegerType(), "long", "long"), (FloatType(), "double", "double"),
     (DecimalType(9, 2), "decimal(12, 2)", "decimal(12, 2)"),
     (LongType(), "int", None), (IntegerType(), "int", None), (IntegerType(), "double", None),
     (DecimalType(9, 2), "decimal(12, 3)", None), (DecimalType(9, 2), "decimal(8, 2)", None),
     (DecimalType(9, 2), "decimal(39, 2)", None), (DateType(), "timestamp", None),
     (IntegerType(), {"list": "long"}, None)],
)  # fmt: skip
def test_what_is_wider(have: IcebergType, seen: Any, type_: str | None) -> None:
    assert wider(have, seen) == type_


def test_columns_at_any_depth() -> None:
    guess = typed({"id": "long", "x": "float", "s": {"struct": {"n": "long", "new": "long"}},
                   "l": {"list": "long"},
                   "m": {"list": {"struct": {"d": "decimal(10, 2)"}}}, "other": "long"})
    assert widenings(SCHEMA, guess) == [
        Widening("id", "long"), Widening("s.n", "long"), Widening("l.element", "long"),
        Widening("m.element.d", "decimal(10, 2)")]


def test_required_columns_that_have_nulls() -> None:
    guess = typed({"id": "long", "x": "float", "s": {"struct": {"n": "int"}}}, "id", "s.n", "x")
    assert widenings(SCHEMA, guess) == [
        Widening("id", "long", optional=True), Widening("s.n", None, optional=True)]


def test_values_of_json_never_widen() -> None:
    assert widenings(SCHEMA, {"struct": {"id": "long", "x": "double"}}) == []
    assert widenings(SCHEMA, "null") == []


def test_types_of_several_tasks() -> None:
    one, other = typed({"a": "int", "d": "decimal(9, 2)"}, "a"), typed(
        {"a": "long", "d": "decimal(11, 2)"}, "b")
    assert merge(one, other) == typed({"a": "long", "d": "decimal(11, 2)"}, "a", "b")
    assert merge(one, {"struct": {"a": "long"}}) == {
        "struct": {"a": "long", "d": "decimal(9, 2)"}}
    assert merge("decimal(9, 2)", "decimal(9, 3)") == "string"
