"""Remembers what lanes say."""

from __future__ import annotations

from dataclasses import dataclass, field

from meltline.engine.lane import EpochResult, Lane
from meltline.errors import Retryable


@dataclass
class Recorder:
    """See engine.runner.Listener. `told` is one word for each thing that happened."""

    told: list[str] = field(default_factory=list)
    results: list[EpochResult] = field(default_factory=list)
    failures: list[tuple[str, float]] = field(default_factory=list)
    stopped_by: dict[str, BaseException | None] = field(default_factory=dict)

    def epoch_started(self, lane: Lane) -> None:  # noqa: ARG002
        self.told.append("started")

    def epoch_done(self, lane: Lane, result: EpochResult, seconds: float) -> None:  # noqa: ARG002
        self.told.append("done")
        self.results.append(result)

    def lane_idle(self, lane: Lane) -> None:  # noqa: ARG002
        self.told.append("idle")

    def lane_failed(self, lane: Lane, error: Retryable, retry_in: float) -> None:  # noqa: ARG002
        self.told.append("failed")
        self.failures.append((error.what, retry_in))

    def lane_stopped(self, lane: Lane, error: BaseException | None) -> None:
        self.told.append("stopped")
        self.stopped_by[lane.plan.name] = error
