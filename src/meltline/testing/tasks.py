"""Tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from meltline.engine.report import TaskReport
from meltline.engine.task import run_task
from meltline.engine.work import TaskWork

_attempts = count()


def run_here(works: Sequence[TaskWork], description: str) -> list[TaskReport]:  # noqa: ARG001
    """An engine.lane.RunTasks. Every task is an attempt of its own, as on Spark."""
    return [
        TaskReport.from_json(run_task(replace(
            work, place=replace(work.place, attempt=f"{next(_attempts)}"))))
        for work in works]
