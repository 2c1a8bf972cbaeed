"""Tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from meltline.engine.exchange import Part, bucket_count, second_stage, with_buckets
from meltline.engine.protocols import Item, Outcome
from meltline.engine.report import TaskReport
from meltline.engine.rounds import Piece
from meltline.engine.task import gather_task, run_task
from meltline.engine.work import TaskWork

_attempts = count()


def run_here(works: Sequence[TaskWork], description: str) -> list[TaskReport]:  # noqa: ARG001
    """An engine.lane.RunTasks. Every task is an attempt of its own, as on Spark."""
    buckets = bucket_count(works, parallelism=2)
    reports: list[TaskReport] = []
    scattered: dict[int, list[Part]] = {}
    for work in with_buckets(works, buckets):
        for made in run_task(_attempt(work)):
            if isinstance(made, TaskReport):
                reports.append(TaskReport.from_json(made.to_json()))
            else:
                scattered.setdefault(made[0], []).append(made[1])
    return reports + [gather_task(_attempt(second_stage(works[0], len(works), bucket)), parts)
                      for bucket, parts in scattered.items()]


def meet_here(
    scatter: Callable[[Item], Iterator[Piece]], gather: Callable[[Sequence[Piece]], Outcome],
    items: Sequence[Item], tasks: int,  # noqa: ARG001
) -> list[Outcome]:
    """An engine.protocols.Meet."""
    buckets: dict[int, list[Piece]] = {}
    for item in items:
        for piece in scatter(item):
            buckets.setdefault(piece.bucket, []).append(piece)
    return [gather(buckets[bucket]) for bucket in sorted(buckets)]


def _attempt(work: TaskWork) -> TaskWork:
    return replace(work, place=replace(work.place, attempt=f"{next(_attempts)}"))
