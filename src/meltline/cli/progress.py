"""A live line on a terminal while an epoch runs. Nothing at all elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from meltline.engine.epoch import Epoch
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
        if epoch is not None:
            seconds = time.monotonic() - self._since
            self._stream.write(f"\r\x1b[K{line(epoch, self._jobs.progress, seconds)}")
            self._stream.flush()
            self._drawn = True


def line(
    epoch: Epoch, progress: Callable[[str], tuple[int, int, int]], seconds: float
) -> str:
    """`progress` tells of the jobs of a name: tasks done, tasks in all, events read."""
    done, tasks, rows = progress(epoch.label)
    summary = epoch.plan.summary
    parts = [f"{summary['files']} files"] if "files" in summary else []
    parts += [summary["load"]] if "load" in summary else []
    if rows and seconds:
        parts.append(f"{rows:,} events, {rows / seconds:,.0f}/s")
    if tasks:
        parts.append(f"{done}/{tasks} tasks")
    else:
        done, tasks, _ = progress(epoch.preparation)
        parts.append(f"looking at keys, {done}/{tasks} tasks" if tasks else "publishing")
    return f"{epoch.label}: {', '.join(parts)}, {seconds:.0f}s"
