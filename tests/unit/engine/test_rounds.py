"""Reading in rounds: how many tasks share the buckets, and how events are counted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from meltline.engine.rounds import BUCKETS_PER_TASK, numbered, tasks_for
from meltline.model.event import ORD, PLACE_BITS, Shape

SHAPE = Shape("typed")


@pytest.mark.parametrize(("buckets", "parallelism", "tasks"), [
    (1, 8, 1), (5, 8, 5), (16, 2, 2), (8 * BUCKETS_PER_TASK, 2, 8), (100, 200, 100)])
def test_tasks_are_few_but_use_every_core(buckets: int, parallelism: int, tasks: int) -> None:
    assert tasks_for(buckets, parallelism) == tasks


def test_events_of_several_buckets_are_counted_through() -> None:
    def part(*counts: int) -> list[tuple[Shape, pa.Table]]:
        first, chunks = 0, []
        for count in counts:
            chunks.append((SHAPE, pa.table({"row": ["r"] * count,
                                            ORD: range(first, first + count)})))
            first += count
        return chunks

    found = list(numbered(map(iter, [part(2, 1), part(), part(3), part(1)])))
    assert [table.column(ORD).to_pylist() for _, table in found] == [
        [0, 1], [2], [3, 4, 5], [6]]
    (_, other), *_ = numbered([iter(part(2))], task=3)
    assert other.column(ORD).to_pylist() == [3 << PLACE_BITS, (3 << PLACE_BITS) + 1]
    assert {tuple(table.column_names) for _, table in found} == {("row", ORD)}
