"""Variants in expressions are the JSON that documents have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from meltline.expressions import compile_condition, compile_format
from meltline.kernels.arrow_schema import variant_field
from meltline.kernels.connection import connect
from meltline.model.event import Shape
from tests.unit.kernels.variants import encode, primitive, sized

SHAPE = Shape("typed", {}, {"v": "VARIANT", "id": "BIGINT"})
VALUE = encode({"b": sized(15, b"abc"), "n": primitive(7, "d", float("nan")),
                "t": primitive(12, "q", 0)})


def evaluate(sql: str) -> list[object]:
    row = pa.struct([variant_field("v"), ("id", pa.int64())])
    rows = [{"v": VALUE, "id": 1}, {"v": encode({"b": 1}), "id": 2}, {"v": None, "id": 3}]
    with connect() as connection:
        connection.register("events", pa.table({"row": pa.array(rows, row)}))
        return [one for (one,) in connection.sql(f"SELECT {sql} FROM events").fetchall()]


JSON = '{"b":"YWJj","n":"NaN","t":"1970-01-01T00:00:00Z"}'


@pytest.mark.parametrize(("text", "expected"), [
    ("${/v}", [JSON, '{"b":1}', ""]), ("${/v/b}", ["YWJj", "1", ""]),
    ("${/v/t}", ["1970-01-01T00:00:00Z", "", ""]),
    ("${toJsonString()}", [f'{{"v":{JSON},"id":1}}', '{"v":{"b":1},"id":2}',
                           '{"v":null,"id":3}']),
])
def test_formats(text: str, expected: list[str]) -> None:
    assert evaluate(compile_format(text, SHAPE)) == expected


def test_conditions() -> None:
    assert evaluate(compile_condition("/v/b == 1", SHAPE)) == [False, True, False]
    assert evaluate(compile_condition('/v/b == "YWJj"', SHAPE)) == [True, False, False]
