"""A live line on a terminal while an epoch runs. Nothing at all elsewhere."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import TextIO

from meltline.engine.lane import Lane
from meltline.spark.jobs import SparkJobs

_INTERVAL = 0.5


class Progress:
    """`show` starts the line for a lane's epoch, `clear` takes it away."""

    def __init__(self, stream: TextIO, jobs: SparkJobs, enabled: bool) -> None:
        self._stream = stream
        self._jobs = jobs
        self._enabled = enabled and stream.isatty()
        self._lock = threading.Lock()
        self._lane: Lane | None = None
        self._since = 0.0
        self._drawn = False
        self._stop = threading.Event()

    def __enter__(self) -> Progress:
        if self._enabled:
            threading.Thread(target=self._draw_often, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self.clear()

    def show(self, lane: Lane) -> None:
        with self._lock:
            self._lane, self._since = lane, time.monotonic()

    def clear(self) -> None:
        with self._lock:
            self._lane = None
            if self._drawn:
                self._stream.write("\r\x1b[K")
                self._stream.flush()
                self._drawn = False

    def _draw_often(self) -> None:
        while not self._stop.wait(_INTERVAL):
            with self._lock:
                if self._lane and self._lane.state.pending:
                    self._draw(self._lane)

    def _draw(self, lane: Lane) -> None:
        epoch = lane.state.pending
        if epoch is None:
            return
        done, tasks, rows = self._jobs.progress(epoch.label)
        seconds = time.monotonic() - self._since
        plan = " ".join(f"{v} {k}" for k, v in epoch.plan.summary.items() if k in ("files",))
        work = f"{done}/{tasks} tasks" if tasks else "publishing"
        rate = f"{rows:,} events, {rows / seconds:,.0f}/s, " if rows and seconds else ""
        self._stream.write(f"\r\x1b[K{epoch.label}: {plan}, {rate}{work}, "
                           f"{seconds:.0f}s")
        self._stream.flush()
        self._drawn = True
