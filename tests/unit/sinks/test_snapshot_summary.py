"""The names that are written into tables, and what stands under them."""

from __future__ import annotations

from dataclasses import replace

from meltline.model.plan import Position
from meltline.sinks.iceberg import summary
from meltline.sinks.iceberg.summary import (
    POSITION,
    POSITION_LIMIT,
    RESOLVED,
    START,
    VALID_THROUGH,
    lane_key,
    snapshot_summary,
    token_key,
)
from tests.unit.engine.epochs import TABLE, epoch


def test_the_summary_of_an_epoch() -> None:
    assert snapshot_summary(epoch(), TABLE, "host/1 (abc)", 3, 2, 1000, 7) == {
        "meltline.pipeline": "p", "meltline.lane": "l", "meltline.epoch": "3",
        "meltline.batch-id": epoch().batch_id(TABLE),
        "meltline.plan-digest": epoch().plan_digest, "meltline.owner": "host/1 (abc)",
        "meltline.data-files": "3", "meltline.delete-files": "2", "meltline.rows": "1000",
        "meltline.keys": "7",
        "meltline.position": '{"next":10}', "meltline.source.files": "é.json"}


def test_how_far_the_source_is_complete() -> None:
    plan = replace(epoch().plan, start=Position({"next": 5}), resolved="17.1", valid_through_ms=42)
    summary = snapshot_summary(replace(epoch(), plan=plan), TABLE, "o", 1, 0, 1, 0)
    assert {name: summary[name] for name in (START, RESOLVED, VALID_THROUGH)} == {
        "meltline.position-start": '{"next":5}', "meltline.resolved": "17.1",
        "meltline.valid-through-ms": "42"}


def test_a_long_position_is_left_out() -> None:
    plan = epoch().plan
    for length, there in ((POSITION_LIMIT - 8, True), (POSITION_LIMIT - 7, False)):
        long = replace(epoch(), plan=replace(plan, end=Position({"a": "x" * length})))
        assert (POSITION in snapshot_summary(long, TABLE, "o", 1, 0, 1, 0)) == there


def test_keys_in_table_properties() -> None:
    assert token_key("orders", "files") == "meltline.token.orders.files"
    assert lane_key("files") == "meltline.ledger.lane.files"


def test_every_name_has_our_prefix() -> None:
    names = [value for name, value in vars(summary).items()
             if name.isupper() and isinstance(value, str)]
    assert len(names) > 10
    assert all(name.startswith(summary.PREFIX) for name in names)
    assert len(set(names)) == len(names)
