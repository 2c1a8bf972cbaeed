"""Epochs: the same slice is the same epoch, everywhere and always."""

from __future__ import annotations

import uuid
from dataclasses import replace

from meltline.model.plan import Plan
from tests.unit.engine.epochs import TABLE, epoch


def test_the_batch_id_is_fixed_for_ever() -> None:
    """Written into tables: another one would make a replay publish twice."""
    assert epoch().batch_id(TABLE) == "0f83d5ae-d75b-57f2-adb9-42d930838306"
    assert uuid.UUID(epoch().batch_id(TABLE)).version == 5


def test_the_batch_id_differs_by_pipeline_lane_table_and_number() -> None:
    ids = {epoch().batch_id(TABLE), epoch().batch_id("db.u"), epoch(4).batch_id(TABLE),
           epoch(pipeline="q").batch_id(TABLE), epoch(lane="m").batch_id(TABLE)}
    assert len(ids) == 5


def test_the_batch_id_does_not_depend_on_the_plan() -> None:
    assert epoch(start=0).batch_id(TABLE) == epoch(start=5).batch_id(TABLE)


def test_the_digest_tells_plans_apart() -> None:
    assert epoch(start=0).plan_digest != epoch(start=5).plan_digest
    written = Plan.from_json(epoch().plan.to_json())
    assert replace(epoch(), plan=written).plan_digest == epoch().plan_digest


def test_the_digest_does_not_depend_on_what_waits() -> None:
    waiting = replace(epoch(), plan=replace(epoch().plan, waiting=9))
    assert waiting.plan_digest == epoch().plan_digest
