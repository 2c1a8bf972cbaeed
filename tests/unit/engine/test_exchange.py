"""When rows have to meet by key, and where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from meltline.engine.exchange import (
    IN_ONE_TASK,
    PER_BUCKET,
    bucket_count,
    second_stage,
    with_buckets,
)
from meltline.engine.work import SinkPart, TaskWork
from meltline.model.plan import Split
from meltline.testing.sink import MemoryWriter
from tests.unit.engine.test_run_task import work


def works(*weights: int, keyed: bool = True) -> list[TaskWork]:
    sink = SinkPart("t", (), MemoryWriter(None, None, keyed=keyed))
    return [replace(work(["{}"], sink), split=Split({}, weight)) for weight in weights]


@pytest.mark.parametrize(("given", "expected"), [
    (works(1, 1, keyed=False), 0), (works(IN_ONE_TASK), 0), (works(IN_ONE_TASK + 1), 3),
    (works(1, 1), 3), (works(0, 0), 3), (works(10 * PER_BUCKET), 10),
    (works(5 * PER_BUCKET, 5 * PER_BUCKET + 1), 11)])
def test_how_many_tasks_gather(given: list[TaskWork], expected: int) -> None:
    assert bucket_count(given, parallelism=3) == expected


def test_no_two_tasks_of_an_epoch_have_the_same_shard() -> None:
    first = [replace(one, place=replace(one.place, shard=shard))
             for shard, one in enumerate(works(1, 1))]
    assert {one.place.buckets for one in with_buckets(first, 4)} == {4}
    second = [second_stage(first[0], len(first), bucket) for bucket in range(4)]
    shards = [one.place.shard for one in (*first, *second)]
    assert shards == list(range(6))
