"""Runs lanes side by side until told to stop. A lane that fails leaves the others alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from meltline.engine.lane import EpochResult, Lane
from meltline.engine.pace import Pace, after_epoch, after_failure, after_idle
from meltline.errors import Retryable

ONCE_RETRIES = 5


class Listener(Protocol):
    """Told what happens, from the lanes' threads. Must not raise."""

    def epoch_started(self, lane: Lane) -> None: ...

    def epoch_done(self, lane: Lane, result: EpochResult, seconds: float) -> None: ...

    def lane_idle(self, lane: Lane) -> None: ...

    def lane_failed(self, lane: Lane, error: Retryable, retry_in: float) -> None: ...

    def lane_stopped(self, lane: Lane, error: BaseException | None) -> None: ...


@dataclass
class LaneRunner:
    """One lane in one thread. `retry` False: the first failure stops it. `error` is set then."""

    lane: Lane
    pace: Pace
    listener: Listener
    once: bool = False
    retry: bool = True
    error: BaseException | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        try:
            self.loop()
        except Exception as error:  # noqa: BLE001
            self.error = error
        self.listener.lane_stopped(self.lane, self.error)

    def loop(self) -> None:
        """As `run`, but in the caller's thread and raising what stops the lane."""
        failures = 0
        started = False
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                if not started:
                    self.lane.start()
                    started = True
                self.listener.epoch_started(self.lane)
                result = self.lane.run_epoch()
            except Retryable as error:
                failures += 1
                if not self.retry or (self.once and failures > ONCE_RETRIES):
                    raise
                wait = after_failure(failures)
                self.listener.lane_failed(self.lane, error, wait)
                self.stop.wait(wait)
                continue
            failures = 0
            elapsed = time.monotonic() - began
            if result is None:
                self.listener.lane_idle(self.lane)
                if self.once:
                    return
                self.stop.wait(after_idle(self.pace))
            else:
                self.listener.epoch_done(self.lane, result, elapsed)
                if not self.once:
                    self.stop.wait(after_epoch(self.pace, elapsed, result.waiting > 0))


def run_lanes(runners: Sequence[LaneRunner], stop: threading.Event) -> list[BaseException]:
    """Run until every lane has ended or `stop` is set; returns the failures.

    After `stop`, a running epoch is finished; nothing half-visible remains either way.
    """
    for runner in runners:
        runner.stop = stop
    threads = [threading.Thread(target=runner.run, name=runner.lane.plan.name, daemon=True)
               for runner in runners]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            # short joins: the main thread must stay able to take a signal
            thread.join(0.2)
    return [runner.error for runner in runners if runner.error is not None]
