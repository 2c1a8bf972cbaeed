"""The token a publish leaves on its table, and what it tells the next one. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from meltline.engine.epoch import Epoch
from meltline.engine.ledger import LaneState
from meltline.errors import Fenced, RunError
from meltline.model.plan import Plan


@dataclass(frozen=True)
class Token:
    """Kept in the table's properties, in the same commit as the rows: expiry cannot erase it.

    It carries the whole plan, so that a lost ledger can be rebuilt from any one table. `config` is
    the digest of the configuration that made the rows; tokens of earlier versions have none.
    """

    epoch: int
    batch_id: str
    plan_digest: str
    planned_at_ms: int
    parallelism: int
    ledger: str
    plan: str
    config: str = ""

    def to_json(self) -> str:
        return json.dumps(self.__dict__, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Token:
        return cls(**json.loads(text))

    @classmethod
    def of(cls, epoch: Epoch, table: str) -> Token:
        return cls(epoch.number, epoch.batch_id(table), epoch.plan_digest, epoch.planned_at_ms,
                   epoch.parallelism, epoch.ledger, epoch.plan.to_json(), epoch.config)

    def as_epoch(self, pipeline: str, lane: str) -> Epoch:
        return Epoch(pipeline, lane, self.epoch, Plan.from_json(self.plan), self.planned_at_ms,
                     self.parallelism, self.ledger, self.config)


def already_published(token: Token | None, epoch: Epoch, table: str) -> bool:
    """Whether the table holds the epoch already.

    Raises Fenced when the table is ahead (a newer driver went on), and RunError when it holds
    other data under this very number (two pipelines of one name).
    """
    if token is None or token.epoch < epoch.number:
        return False
    if token.epoch > epoch.number:
        raise Fenced(
            f"table {table} already holds epoch {token.epoch} of pipeline {epoch.pipeline!r}, "
            f"and this driver is at epoch {epoch.number}: a newer driver has taken over",
            hint="stop one of the two drivers")
    check_same_plan(token.plan_digest, epoch, table)
    return True


def check_same_plan(found: str, epoch: Epoch, table: str) -> None:
    if found != epoch.plan_digest:
        raise RunError(
            f"table {table} holds an epoch {epoch.number} of a pipeline called "
            f"{epoch.pipeline!r} with other source positions than this one",
            hint="two pipelines of one name write to this table with ledgers of their own; "
                 "rename one of them")


def recovered(
    state: LaneState | None, tokens: Iterable[Token], pipeline: str, lane: str, ledger: str
) -> LaneState | None:
    """The state to start from. The newest token wins over a ledger that is lost or too old.

    A ledger that knows the lane does not follow the token of another ledger: raises RunError.

    The token's epoch becomes pending and runs again: a table that has it skips it, one that has
    not (a crash came between two tables) gets it now.
    """
    newest = max(tokens, key=lambda token: token.epoch, default=None)
    if newest is None:
        return state
    known = 0
    if state is not None:
        known = state.pending.number if state.pending else state.epoch
    if newest.epoch <= known:
        return state
    if state is not None and newest.ledger != ledger:
        raise RunError(
            f"a table of pipeline {pipeline!r} holds epoch {newest.epoch} of another pipeline of "
            f"this name, which has a ledger of its own; this one is at epoch {known}",
            hint="rename one of the two pipelines")
    return LaneState(newest.epoch - 1, None, newest.as_epoch(pipeline, lane))
