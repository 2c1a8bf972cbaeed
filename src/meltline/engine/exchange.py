"""Between the two stages of an epoch whose rows must meet by key. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from meltline.engine.work import TaskWork

IN_ONE_TASK = 128 << 20
PER_BUCKET = 64 << 20
"""Bytes of the source: what one task collapses by itself, and what a task of the second stage
gets on average."""


@dataclass(frozen=True)
class Part:
    """What one task hands to the second stage for one sink."""

    sink: int
    content: bytes


def bucket_count(works: Sequence[TaskWork], parallelism: int) -> int:
    """How many tasks the second stage has; 0 when the first does everything."""
    if not any(part.writer.keyed for work in works for part in work.sinks):
        return 0
    size = sum(work.split.weight for work in works)
    if len(works) == 1 and size <= IN_ONE_TASK:
        return 0
    return max(parallelism, -(-size // PER_BUCKET), 1)


def with_buckets(works: Sequence[TaskWork], buckets: int) -> list[TaskWork]:
    return [replace(work, place=replace(work.place, buckets=buckets)) for work in works]


def second_stage(some: TaskWork, count: int, bucket: int) -> TaskWork:
    """The work of one bucket, made of any of the `count` works of the first stage. Its shard comes
    after theirs: no two tasks of an epoch name their files alike."""
    return replace(some, place=replace(some.place, shard=count + bucket))
