"""The state of a pipeline's lanes: one shape for the terminal, for scripts and for pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from meltline.engine.ledger import LaneState, Owner


@dataclass(frozen=True)
class LaneStatus:
    """`lag` counts what waits at the source, None when unknown."""

    pipeline: str
    lane: str
    epoch: int
    pending: int | None
    snapshots: Mapping[str, int]
    position: Mapping[str, Any] | None
    lag: int | None
    owner: str | None
    updated_at: str | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def lane_status(
    pipeline: str, lane: str, state: LaneState | None, owner: Owner | None, lag: int | None
) -> LaneStatus:
    state = state or LaneState()
    updated = None
    if state.updated_at_ms:
        at = datetime.fromtimestamp(state.updated_at_ms / 1000, timezone.utc)
        updated = at.isoformat(timespec="seconds")
    return LaneStatus(
        pipeline, lane, state.epoch, state.pending.number if state.pending else None,
        dict(state.published), dict(state.position.data) if state.position else None, lag,
        None if owner is None else str(owner), updated)
