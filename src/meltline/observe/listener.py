"""Turns what the lanes do into log lines and metrics."""

from __future__ import annotations

import logging
from typing import Any, Protocol

from meltline.engine.lane import EpochResult, Lane
from meltline.errors import MeltlineError, Retryable
from meltline.observe.metrics import Metrics

log = logging.getLogger("meltline.lane")


class Line(Protocol):
    """A progress line that must step aside when a log line is written."""

    def show(self, lane: Lane) -> None: ...

    def clear(self) -> None: ...


class LogListener:
    """See engine.runner.Listener."""

    def __init__(self, metrics: Metrics, line: Line) -> None:
        self._metrics = metrics
        self._line = line
        self._warned_of_duplicates: set[tuple[str, str]] = set()

    def epoch_started(self, lane: Lane) -> None:
        self._line.show(lane)

    def epoch_done(self, lane: Lane, result: EpochResult, seconds: float) -> None:
        self._line.clear()
        self._metrics.epoch_done(result)
        report = result.report
        common = _place(lane) | {"epoch": result.epoch.number}
        for published in result.published:
            message = "epoch was published already" if published.repeated else "epoch published"
            log.info(message, extra=common | {
                "table": published.table, "batch_id": result.epoch.batch_id(published.table),
                "snapshot": published.snapshot_id, "rows": published.rows,
                "files": published.files, "keys": published.keys or None,
                "conflicts": published.conflicts or None})
        refused = report.undecodable + sum(sink.rejected for sink in report.sinks)
        rate = int(report.read / seconds) if seconds else 0
        log.info("epoch done", extra=common | {
            "events": report.read, "refused": refused or None,
            "unrouted": report.unrouted or None, "seconds": round(seconds, 2),
            "events_per_second": rate})
        place = lane.plan.pipeline, lane.plan.name
        if report.duplicates and place not in self._warned_of_duplicates:
            self._warned_of_duplicates.add(place)
            log.warning("rows share a key: one of them stands for all (said once)",
                        extra=common | {"rows_left_out": report.duplicates})
        if report.skipped:
            log.warning("planned files were skipped", extra=common | {
                "count": report.skipped})

    def lane_idle(self, lane: Lane) -> None:
        self._line.clear()
        log.debug("nothing to do", extra=_place(lane))

    def lane_failed(self, lane: Lane, error: Retryable, retry_in: float) -> None:
        self._line.clear()
        self._metrics.failures.labels(lane.plan.pipeline).inc()
        log.warning("epoch failed, will be tried again", extra=_place(lane) | {
            "retry_in": retry_in, "error": error.what})

    def lane_stopped(self, lane: Lane, error: BaseException | None) -> None:
        self._line.clear()
        if error is None:
            log.info("lane ended", extra=_place(lane) | {"epoch": lane.state.epoch})
        elif isinstance(error, MeltlineError):
            self._metrics.failures.labels(lane.plan.pipeline).inc()
            log.error("lane stopped", extra=_place(lane) | {"error": error.what.splitlines()[0]})


def _place(lane: Lane) -> dict[str, Any]:
    return {"pipeline": lane.plan.pipeline, "lane": lane.plan.name}
