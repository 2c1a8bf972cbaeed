"""The pipeline's memory: what every lane has done and what it is doing."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from meltline.engine.epoch import Epoch
from meltline.engine.protocols import Blobs
from meltline.errors import Fenced
from meltline.model.plan import Plan, Position


@dataclass(frozen=True)
class Owner:
    """A running driver. The token is drawn at start and never used again."""

    token: str
    place: str

    def __str__(self) -> str:
        return f"{self.place} ({self.token[:8]})"

    def to_text(self) -> str:
        return f"{self.token} {self.place}"

    @classmethod
    def from_text(cls, text: str) -> Owner:
        token, _, place = text.partition(" ")
        return cls(token, place)


def new_owner() -> Owner:
    return Owner(uuid.uuid4().hex, f"{socket.gethostname()}/{os.getpid()}")


@dataclass(frozen=True)
class LaneState:
    """`epoch` is the last one done (0: none). `pending` is recorded, perhaps partly published."""

    epoch: int = 0
    position: Position | None = None
    pending: Epoch | None = None
    published: Mapping[str, int] = field(default_factory=dict)
    updated_at_ms: int = 0

    def recorded(self, epoch: Epoch, now_ms: int) -> LaneState:
        return LaneState(self.epoch, self.position, epoch, self.published, now_ms)

    def done(self, published: Mapping[str, int], now_ms: int) -> LaneState:
        if self.pending is None:
            raise ValueError("no epoch is pending")
        return LaneState(self.pending.number, self.pending.plan.end, None,
                         {**self.published, **published}, now_ms)

    def to_json(self) -> str:
        pending = None
        if self.pending:
            pending = {"number": self.pending.number, "at": self.pending.planned_at_ms,
                       "parallelism": self.pending.parallelism, "ledger": self.pending.ledger,
                       "config": self.pending.config, "plan": self.pending.plan.to_json()}
        return json.dumps({
            "epoch": self.epoch, "position": self.position and dict(self.position.data),
            "pending": pending, "published": dict(self.published), "updated": self.updated_at_ms,
        }, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, pipeline: str, lane: str) -> LaneState:
        body = json.loads(text)
        pending = body["pending"] and Epoch(
            pipeline, lane, body["pending"]["number"], Plan.from_json(body["pending"]["plan"]),
            body["pending"]["at"], body["pending"]["parallelism"], body["pending"]["ledger"],
            # ledgers of earlier versions do not say
            body["pending"].get("config", ""))
        position = None if body["position"] is None else Position(body["position"])
        return cls(body["epoch"], position, pending, body["published"], body["updated"])


def taken_over(pipeline: str, mine: Owner | None, found: Owner | None) -> Fenced:
    """What a driver says that finds somebody else in its place."""
    return Fenced(
        f"pipeline {pipeline!r} was taken over by {found}; this driver ({mine}) stops and writes "
        f"nothing more",
        hint="run one driver per pipeline; `meltline status` shows the owner")


class Ledger(Protocol):
    """Every write is a compare-and-swap that fails once another driver has claimed the pipeline.

    `identity` is drawn when the ledger is created: two ledgers of one name differ in it.
    """

    blobs: Blobs
    identity: str

    def claim(self, owner: Owner) -> Owner | None:
        """Become the owner; returns who was before. From now on the previous owner is fenced."""

    def owner(self) -> Owner | None:
        """Who owns the pipeline now. For people; decisions are made by the swap itself."""

    def load(self, lane: str) -> LaneState | None:
        """None when nothing is recorded for the lane."""

    def save(self, lane: str, state: LaneState) -> None:
        """Raises Fenced when another driver owns the pipeline. May be repeated."""


class ReadOnlyLedger(Protocol):
    """What `status` needs; it never claims."""

    blobs: Blobs

    def owner(self) -> Owner | None: ...

    def load(self, lane: str) -> LaneState | None: ...
