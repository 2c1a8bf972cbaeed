"""Data files to tasks."""

from __future__ import annotations

import pytest

from meltline.model.live_file import LiveFile
from meltline.sinks.iceberg import grouping
from meltline.sinks.iceberg.grouping import group_files
from meltline.sinks.iceberg.patch import Candidate


def candidate(name: str, records: int, partition: str = "") -> Candidate:
    return Candidate(LiveFile({"file-path": name, "record-count": records, "spec-id": 0,
                               "partition": [partition]}))


def sizes(groups: list[list[Candidate]]) -> list[int]:
    return [sum(one.file.records for one in group) for group in groups]


def test_little_is_one_task() -> None:
    some = [candidate(str(n), 10) for n in range(100)]
    assert len(group_files(some, 8, keep_partitions=False)) == 1
    assert group_files([], 8, keep_partitions=True) == []


@pytest.mark.parametrize("keep", [False, True])
def test_much_is_spread_evenly(keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "TASK_ROWS", 100)
    some = [candidate(str(n), 1 + n % 7) for n in range(400)]
    groups = group_files(some, 4, keep_partitions=keep)
    assert len(groups) == 4
    assert max(sizes(groups)) - min(sizes(groups)) <= 14
    assert sorted(one.file.path for group in groups for one in group) == sorted(
        one.file.path for one in some)


def test_a_partition_stays_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "TASK_ROWS", 100)
    some = [candidate(f"{n}", 10, "abcd"[n % 4]) for n in range(80)]
    groups = group_files(some, 4, keep_partitions=True)
    assert [len({one.file.partition for one in group}) for group in groups] == [1, 1, 1, 1]
