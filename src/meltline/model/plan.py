"""Positions, plans and splits: what a source promises about a slice of its data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class Position:
    """How far a source has been read. `data` is the source's own JSON; nobody else looks inside."""

    data: JsonObject

    def to_json(self) -> str:
        return json.dumps(self.data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Position:
        return cls(json.loads(text))


@dataclass(frozen=True)
class Split:
    """One task's share of a slice, small enough to be recorded. Opened inside a worker.

    `data` is the source's own JSON. `weight` is the expected work in bytes.
    """

    data: JsonObject
    weight: int = 0


@dataclass(frozen=True)
class Plan:
    """A fixed slice of a source: the same plan gives the same rows, however often it is read.

    `data` alone is written to the ledger; `Source.splits(plan)` must depend on nothing else.
    `end` is the position after the slice. `waiting` counts what is left for later slices (files,
    offsets, ...); it is not recorded.
    `summary` is short and for people and snapshot summaries (file names, offsets).
    `start` is the position before the slice; the engine fills it in. `resolved` is the source's
    own word for a moment up to which nothing is missing, `valid_through_ms` the event time of it.
    """

    data: JsonObject
    end: Position
    waiting: int = 0
    summary: Mapping[str, str] = field(default_factory=dict)
    start: Position | None = None
    resolved: str | None = None
    valid_through_ms: int | None = None

    def to_json(self) -> str:
        body = {"data": self.data, "end": self.end.data, "summary": dict(self.summary),
                "start": None if self.start is None else self.start.data,
                "resolved": self.resolved, "valid_through_ms": self.valid_through_ms}
        kept = {key: value for key, value in body.items() if value is not None}
        return json.dumps(kept, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        body = json.loads(text)
        start = body.get("start")
        return cls(body["data"], Position(body["end"]), 0, body["summary"],
                   None if start is None else Position(start), body.get("resolved"),
                   body.get("valid_through_ms"))
