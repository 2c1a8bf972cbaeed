"""Dead letters of typed events."""

from __future__ import annotations

import json

import pyarrow as pa

from meltline.engine.letters import make_letters
from meltline.engine.work import TaskPlace, TaskWork
from meltline.kernels.arrow_schema import VARIANT, variant_field
from meltline.kernels.connection import connect
from meltline.model.event import Shape
from meltline.model.plan import Split
from meltline.testing.source import ListReader
from tests.unit.kernels.variants import encode, primitive, sized

WORK = TaskWork(TaskPlace("p", "l", 7, 1_700_000_000_123, 2, "a"), Split({}), ListReader((), 1),
                (), (), ())
SHAPE = Shape("typed", {"place": "BIGINT"}, {"v": "VARIANT", "b": "BLOB", "n": "BIGINT"})


def test_typed_events_are_json_as_documents_have_it() -> None:
    nan, digits = primitive(7, "d", float("nan")), primitive(10, "BQQ", 3, 1, 10**18)
    value = encode({"b": sized(15, b"abc"), "d": digits, "n": nan})
    row = pa.struct([variant_field("v", VARIANT), ("b", pa.binary()), ("n", pa.int64())])
    chunk = pa.table({
        "row": pa.array([{"v": value, "b": b"\0", "n": 1}, None], row), "ord": [0, 1],
        "meta": pa.array([{"place": 5}, None], pa.struct({"place": pa.int64()}))})
    reasons = pa.table({"ord": [0, 1], "reason": ["no", "neither"]})
    with connect() as connection:
        letters = make_letters(connection, WORK, SHAPE, chunk, reasons, "s")
    event, none = letters.column("event").to_pylist()
    number = "18446744073709551616000000000000000.001"
    assert event == f'{{"v":{{"b":"YWJj","d":{number},"n":"NaN"}},"b":"AA==","n":1}}'
    assert json.loads(event) and none is None
