"""Positions and plans survive being written down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meltline.model.plan import Plan, Position, Split

DATA: list[dict[str, Any]] = [
    {}, {"next": 0}, {"offsets": {"0": 12, "1": 9007199254740993}},
    {"é😀": ["a\n", None, True, 1.5]},
]


@pytest.mark.parametrize("data", DATA, ids=repr)
def test_a_position_comes_back(data: dict[str, Any]) -> None:
    assert Position.from_json(Position(data).to_json()) == Position(data)


def test_a_position_is_one_text_whatever_the_order() -> None:
    assert Position({"b": 1, "a": 2}).to_json() == Position({"a": 2, "b": 1}).to_json()


@pytest.mark.parametrize("data", DATA, ids=repr)
def test_a_plan_comes_back_without_what_waits_behind_it(data: dict[str, Any]) -> None:
    plan = Plan(data, Position({"next": 5}), waiting=7, summary={"files": "a, b"})
    assert Plan.from_json(plan.to_json()) == Plan(data, Position({"next": 5}), 0, {"files": "a, b"})


def test_what_waits_does_not_change_a_plan() -> None:
    one, other = (Plan({"a": 1}, Position({"next": 2}), waiting) for waiting in (0, 9))
    assert one.to_json() == other.to_json()
    assert json.loads(one.to_json()) == {"data": {"a": 1}, "end": {"next": 2}, "summary": {}}


def test_a_split_weighs_nothing_unless_said() -> None:
    assert Split({"a": 1}).weight == 0
