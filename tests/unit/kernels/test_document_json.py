"""Typed values as JSON documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meltline.kernels.connection import connect
from meltline.kernels.document_json import object_json


def as_json(sql: str) -> Any:
    """The JSON that a value becomes as the field `v` of an event."""
    with connect() as connection:
        connection.execute(f"CREATE TEMP TABLE t AS SELECT struct_pack(v := {sql}) AS r")
        (type_,) = connection.sql("SELECT r.v FROM t").types
        ((text,),) = connection.sql(
            f"SELECT ({object_json('r', {'v': str(type_)})})::VARCHAR FROM t").fetchall()
    return json.loads(text)["v"]


@pytest.mark.parametrize(("sql", "value"), [
    ("true", True),
    ("42", 42),
    ("9007199254740993", 9007199254740993),
    ("1.5::DOUBLE", 1.5),
    ("'NaN'::DOUBLE", "NaN"),
    ("'-inf'::FLOAT", "-Infinity"),
    ("'say \"x\"'", 'say "x"'),
    ("1.50::DECIMAL(9,2)", "1.50"),
    ("'\\xFF\\x00'::BLOB", "/wA="),
    ("DATE '2024-02-29'", "2024-02-29"),
    ("TIME '01:02:03.5'", "01:02:03.5"),
    ("TIMESTAMP '2024-01-01 01:02:03'", "2024-01-01T01:02:03"),
    ("TIMESTAMPTZ '2024-01-01 01:02:03.000004+02'", "2023-12-31T23:02:03.000004Z"),
    ("'2024-01-01 00:00:00.123456789'::TIMESTAMP_NS", "2024-01-01T00:00:00.123456789"),
    ("'f79c3e09-677c-4bbd-a479-3f349cb785e7'::UUID", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    ("[1.5::DECIMAL(3,1), NULL]", ["1.5", None]),
    ("MAP {1: {'x': 'NaN'::FLOAT}}", {"1": {"x": "NaN"}}),
    ("{'q': NULL::INT, 'odd \"key\"': [DATE '2024-01-01']}",
     {"q": None, 'odd "key"': ["2024-01-01"]}),
    ("NULL::STRUCT(a INT)", None),
    ("NULL::INT[]", None),
    ("NULL::MAP(VARCHAR, INT)", None),
])
def test_values(sql: str, value: Any) -> None:
    assert as_json(sql) == value


@pytest.mark.parametrize("type_", [
    "BOOLEAN", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "VARCHAR", "BLOB",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "UUID", "JSON", "VARIANT",
    "INTEGER[]", "DOUBLE[]", "STRUCT(a DOUBLE)", "MAP(VARCHAR, DOUBLE)"])
def test_nothing_is_null_wherever_it_stands(type_: str) -> None:
    nothing = f"NULL::{type_}"
    assert as_json(nothing) is None
    assert as_json(f"[{nothing}]") == [None]
    assert as_json(f"{{'x': {nothing}}}") == {"x": None}
    assert as_json(f"MAP {{'x': {nothing}}}") == {"x": None}
