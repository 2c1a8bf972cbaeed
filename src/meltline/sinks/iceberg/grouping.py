"""Data files to tasks of about the same size. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meltline.sinks.iceberg.patch import Candidate

TASK_ROWS = 1 << 19
"""With fewer rows than so many for each task there are fewer tasks."""


def group_files(
    candidates: Sequence[Candidate], parallelism: int, keep_partitions: bool
) -> list[list[Candidate]]:
    """No group is empty. `keep_partitions`: files of one partition stay together as far as the
    sizes allow, so that there are few delete files; else the sizes alone count."""
    total = sum(_weight(one) for one in candidates)
    count = max(1, min(parallelism, -(-total // TASK_ROWS), len(candidates)))
    if keep_partitions:
        return _runs(sorted(candidates, key=lambda one: one.file.partition), total, count)
    groups: list[list[Candidate]] = [[] for _ in range(count)]
    sizes = [0] * count
    for one in sorted(candidates, key=_weight, reverse=True):
        place = sizes.index(min(sizes))
        groups[place].append(one)
        sizes[place] += _weight(one)
    return [group for group in groups if group]


def _runs(ordered: Sequence[Candidate], total: int, count: int) -> list[list[Candidate]]:
    groups: list[list[Candidate]] = [[] for _ in range(count)]
    before = 0
    for one in ordered:
        groups[min(before * count // max(total, 1), count - 1)].append(one)
        before += _weight(one)
    return [group for group in groups if group]


def _weight(one: Candidate) -> int:
    return max(one.file.records, 1)
