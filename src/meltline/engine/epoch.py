"""An epoch: the only unit of progress."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

from meltline.model.plan import Plan

_NAMESPACE = uuid.UUID("5f3c1a52-0d54-5e0a-9c55-3f1d7b6a4e11")


@dataclass(frozen=True)
class Epoch:
    """A recorded plan with its number. Equal epochs give equal rows, however often they run.

    `planned_at_ms` is when the plan was made; `now()` in expressions is this time, so that a
    replay sees the same clock. `parallelism` is recorded so that a replay cuts the same tasks,
    `ledger` so that a token says whose it is. `config` is the digest of the configuration that it
    is published with (config/digest.py), empty when that is not known.
    """

    pipeline: str
    lane: str
    number: int
    plan: Plan
    planned_at_ms: int
    parallelism: int = 1
    ledger: str = ""
    config: str = ""

    @property
    def label(self) -> str:
        """For people and Spark's job list: no two epochs that run at a time share it."""
        return f"{self.pipeline}/{self.lane} epoch {self.number}"

    @property
    def preparation(self) -> str:
        return preparation(self.pipeline, self.lane)

    def batch_id(self, table: str) -> str:
        """The token that makes publishing this epoch to a table happen once."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.pipeline}:{self.lane}:{table}:{self.number}"))

    @property
    def plan_digest(self) -> str:
        """Tells two epochs of the same number apart that do not hold the same data."""
        return hashlib.sha256(self.plan.to_json().encode()).hexdigest()[:16]


def preparation(pipeline: str, lane: str) -> str:
    """As the label, for what a source has to look up before it can say what tasks there are."""
    return f"{pipeline}/{lane} preparation"
