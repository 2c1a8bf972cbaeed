"""Processors and routes over a chunk of events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from meltline.config.processors import ProcessorBlock
from meltline.engine.flow import Flow
from meltline.kernels.connection import connect
from meltline.model.event import Shape, json_shape

CONNECTION = connect()
SHAPE = json_shape(place="BIGINT")
BIG = (("big", "/n >= 10"), ("named", '/name == "x"'))


def chunk(bodies: Sequence[str], bad: Sequence[str | None] | None = None) -> pa.Table:
    count = len(bodies)
    return pa.table({
        "body": pa.array(bodies, pa.string()),
        "meta": pa.array([{"place": place} for place in range(count)],
                         pa.struct({"place": pa.int64()})),
        "ord": pa.array(range(count), pa.int64()),
        "bad": pa.array(bad or [None] * count, pa.string())})


def events(*numbers: int) -> pa.Table:
    return chunk([json.dumps({"n": number}) for number in numbers])


def taken(flow: Flow, ready: pa.Table, routes: Sequence[str]) -> list[int]:
    """The places of the events that a sink with these routes gets."""
    CONNECTION.register("ready", ready)
    relation = flow.relation(ready, "ready", routes)
    rows = CONNECTION.sql(f"SELECT ord FROM {relation} ORDER BY ord").fetchall()
    CONNECTION.unregister("ready")
    return [ord_ for (ord_,) in rows]


def test_without_processors_and_routes_events_pass_untouched() -> None:
    flow = Flow(SHAPE, (), ())
    whole = chunk(['{"n":1}', "no json"])
    checked, ready = flow.run(CONNECTION, whole, checked=False)
    assert flow.plain
    assert checked is whole is ready
    assert flow.relation(ready, "ready", ()) == "ready"
    assert flow.unrouted(ready, [((), None)]) == 0


def test_a_check_marks_what_is_no_json_object() -> None:
    flow = Flow(SHAPE, (), ())
    checked, ready = flow.run(CONNECTION, chunk(['{"n":1}', "no json", "[1]"]), checked=True)
    assert checked.column("bad").null_count == 1
    assert taken(flow, ready, ()) == [0]


@pytest.mark.parametrize(
    ("routes", "expected"),
    [((), [0, 1, 2]), (("big",), [2]), (("named",), []), (("big", "named"), [2]),
     (("_default",), [0, 1]), (("big", "_default"), [0, 1, 2])],
    ids=str,
)  # fmt: skip
def test_routes(routes: tuple[str, ...], expected: list[int]) -> None:
    flow = Flow(SHAPE, (), BIG)
    assert not flow.plain
    _, ready = flow.run(CONNECTION, events(1, 2, 30), checked=False)
    assert taken(flow, ready, routes) == expected


UNROUTED: list[tuple[list[tuple[str, ...]], int]] = [
    ([("big",)], 2), ([("big",), ("named",)], 2), ([("big",), ("_default",)], 0), ([()], 0),
    ([("big",), ()], 0), ([("named",)], 3), ([("_default",)], 1),
]  # fmt: skip


@pytest.mark.parametrize(("sinks", "expected"), UNROUTED, ids=str)
def test_events_that_no_sink_takes_are_counted(
    sinks: list[tuple[str, ...]], expected: int
) -> None:
    flow = Flow(SHAPE, (), BIG)
    _, ready = flow.run(CONNECTION, events(1, 2, 30), checked=False)
    assert flow.unrouted(ready, [(routes, None) for routes in sinks]) == expected


def test_every_event_is_routed_or_counted() -> None:
    flow = Flow(SHAPE, (), BIG)
    bodies = ["{}", '{"n":null}', '{"n":"x"}', '{"name":"x","n":50}', '{"n":9.99}', '{"n":[10]}']
    _, ready = flow.run(CONNECTION, chunk(bodies), checked=False)
    for routes in (("big",), ("named",), ("big", "named"), ("_default",)):
        left = flow.unrouted(ready, [(routes, None)])
        assert len(taken(flow, ready, routes)) + left == len(bodies)
    both = set(taken(flow, ready, ("big", "named"))) | set(taken(flow, ready, ("_default",)))
    assert both == set(range(len(bodies)))


def test_bad_events_go_nowhere_and_are_not_unrouted() -> None:
    flow = Flow(SHAPE, (), BIG)
    whole = chunk(['{"n":30}', "no json", '{"n":1}', '{"n":50}'], [None, None, None, "was bad"])
    checked, ready = flow.run(CONNECTION, whole, checked=False)
    assert taken(flow, ready, ()) == [0, 2]
    assert taken(flow, ready, ("_default",)) == [2]
    assert flow.unrouted(ready, [(("big",), None)]) == 1
    assert checked.column("bad").to_pylist()[3] == "was bad"


def test_an_empty_chunk() -> None:
    flow = Flow(SHAPE, (), BIG)
    _, ready = flow.run(CONNECTION, events(), checked=False)
    assert flow.unrouted(ready, [(("big",), None)]) == 0
    assert taken(flow, ready, ("big",)) == []


def blocks(*settings: dict[str, Any]) -> tuple[ProcessorBlock, ...]:
    return tuple(ProcessorBlock.model_validate(one) for one in settings)


def test_routes_see_what_processors_made() -> None:
    add = blocks({"add_entries": {"entries": [{"key": "n", "value": 99, "overwrite_if_key_exists":
                                               True}]}})
    flow = Flow(SHAPE, add, BIG)
    whole = events(1, 2)
    CONNECTION.execute("SET VARIABLE meltline_now_ms = 0")
    CONNECTION.execute("SET VARIABLE meltline_epoch_seed = 's'")
    checked, ready = flow.run(CONNECTION, whole, checked=False)
    assert taken(flow, ready, ("big",)) == [0, 1]
    assert checked.column("body").to_pylist() == ['{"n": 1}', '{"n": 2}']
    assert [json.loads(body) for body in ready.column("body").to_pylist()] == [{"n": 99}] * 2


def test_typed_events_are_routed_too() -> None:
    shape = Shape("typed", {"place": "BIGINT"}, {"n": "BIGINT"})
    whole = chunk(["", "", ""]).drop_columns(["body"]).append_column(
        "row", pa.array([{"n": 1}, {"n": None}, {"n": 30}], pa.struct({"n": pa.int64()})))
    flow = Flow(shape, (), (("big", "/n >= 10"),))
    _, ready = flow.run(CONNECTION, whole, checked=True)
    assert taken(flow, ready, ("big",)) == [2]
    assert taken(flow, ready, ("_default",)) == [0, 1]
    assert flow.unrouted(ready, [(("big",), None)]) == 2
