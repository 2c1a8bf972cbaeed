"""Epochs and states to test with."""

from __future__ import annotations

from meltline.engine.epoch import Epoch
from meltline.engine.token import Token
from meltline.model.plan import Plan, Position

TABLE = "db.t"


def epoch(number: int = 3, start: int = 0, pipeline: str = "p", lane: str = "l") -> Epoch:
    """`start` makes a plan of its own: another one is another slice of the source."""
    plan = Plan({"from": start}, Position({"next": start + 10}), summary={"files": "é.json"})
    return Epoch(pipeline, lane, number, plan, planned_at_ms=1_700_000_000_123, parallelism=4,
                 ledger="led", config="cfg")


def token(number: int = 3, start: int = 0, lane: str = "l") -> Token:
    return Token.of(epoch(number, start, lane=lane), TABLE)
