"""Cuts the files of a snapshot into units of work, and units into tasks. Pure.

Rows that were only carried over cancel each other within their unit, so a unit holds every file
in which its rows may be: those of one Iceberg partition, unless it is too big for one task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from typing import Any, Literal

from meltline.model.content import FileChange
from meltline.sources.iceberg.parts import Bounds, no_bounds, parts

Mode = Literal["rows", "net", "lineage", "hash"]
ALONE = 128 << 20
"""Bytes; with more to read it is worth while to start several tasks."""


@dataclass(frozen=True)
class Unit:
    """- rows: every changed row counts, nothing can cancel
    - net: removed and added rows cancel when they are equal
    - lineage: as net, by row id and last change instead of by all columns
    - hash: one part of a group too big for a task; what cancels in no other way is found through
      a shuffle
    """

    mode: Mode
    changes: tuple[FileChange, ...]

    @property
    def weight(self) -> int:
        return sum(change.weight for change in self.changes)


@dataclass(frozen=True)
class Limits:
    """`split_size`: bytes of files per task. `open_cost`: bytes that could be read in the time that
    it takes to open a file. `group_rows`: the most rows one task nets."""

    split_size: int = 256 << 20
    group_rows: int = 3_000_000
    group_bytes: int = 384 << 20
    open_cost: int = 128 << 10


def cut_units(
    changes: Sequence[FileChange], lineage: bool, limits: Limits, bounds: Bounds = no_bounds,
    keyed: bool = True,
) -> list[Unit]:
    """`lineage`: the table keeps row ids. `bounds` tells of the keys of a file. Not `keyed`: row
    ids are the keys, and rows that look alike are not the same."""
    groups: dict[Any, list[FileChange]] = defaultdict(list)
    for change in changes:
        groups[change.file.group].append(change)
    units: list[Unit] = []
    for group in groups.values():
        if all(one.added for one in group) or not any(one.added for one in group):
            units += [Unit("rows", (one,)) for one in group]
        elif lineage and _has_lineage(group) and (not keyed or _is_narrow(group, limits)):
            units.append(Unit("lineage", tuple(group)))
        elif _is_small(group, limits):
            units.append(Unit("net", tuple(group)))
        else:
            units += [Unit("hash", part) for part in parts(group, bounds)]
    return [Unit(unit.mode, tuple(map(_bare, unit.changes))) for unit in units]


def _bare(change: FileChange) -> FileChange:
    return replace(change, file=change.file.bare())


def _has_lineage(group: Sequence[FileChange]) -> bool:
    return all(one.file.first_row_id is not None for one in group)


def _is_narrow(group: Sequence[FileChange], limits: Limits) -> bool:
    """Row ids are two numbers a row: a task can hold more of them than of rows."""
    return sum(one.file.records for one in group) <= 2 * limits.group_rows


def _is_small(group: Sequence[FileChange], limits: Limits) -> bool:
    return (sum(one.file.records for one in group) <= limits.group_rows
            and sum(one.file.size for one in group) <= limits.group_bytes)


def pack(units: Sequence[Unit], parallelism: int, limits: Limits) -> list[tuple[Unit, ...]]:
    """Units by task, of about equal cost. Little work is one task."""
    costs = [unit.weight + len(unit.changes) * limits.open_cost for unit in units]
    total = sum(costs)
    if not units:
        return []
    alone = 2 * limits.split_size if parallelism < 2 else min(limits.split_size // 2, ALONE)
    if total <= alone:
        return [tuple(units)]
    # none waits for one last task while the others are idle
    count = -(-total // (limits.split_size * parallelism)) * parallelism
    bins: list[list[Unit]] = [[] for _ in range(min(count, len(units)))]
    lightest = [(0, place) for place in range(len(bins))]
    # the heaviest first, always to the lightest task
    for cost, unit in sorted(zip(costs, units, strict=True), key=lambda one: -one[0]):
        load, place = lightest[0]
        bins[place].append(unit)
        heapreplace(lightest, (load + max(cost, 1), place))
    return [tuple(one) for one in bins]
