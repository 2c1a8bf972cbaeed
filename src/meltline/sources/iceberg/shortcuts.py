"""Ways to the changed rows of rewritten files that read less than every column of every file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.kernels.changed_rows import Rows
from meltline.kernels.lineage_scan import KEPT_ID, LineageScan
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.row_reader import Positions
from meltline.kernels.twins import Pair, TwinScan
from meltline.model.content import DataFile, FileChange
from meltline.model.table_view import TableView

Fetch = Callable[[int, Positions, Positions, Sequence[DataFile]], Iterator[Rows]]
"""Rows of a sign, by the indices of their files and their positions, from these files."""


class Shortcuts:
    """For one snapshot, inside one task. Every method leaves to others what it cannot do.

    `whole`: rows that were replaced are wanted whole, not just their keys. Where the key of an
    updated row is known to be the same, the old row has nothing more to say.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, view: TableView, scan: ParquetScan,
        fetch: Fetch, whole: bool,
    ) -> None:
        self._view = view
        self._scan = scan
        self._fetch = fetch
        self._whole = whole
        self._keys = [field.name for field in view.identifier_fields]
        fields, keys = view.schema.fields, view.identifier_fields
        self._twins = TwinScan(connection, scan, fields, keys)
        self._lineage = LineageScan(connection, scan, fields, keys, view.base_sequence or 0)

    def by_place(self, changes: Sequence[FileChange]) -> tuple[list[FileChange], Iterator[Rows]]:
        """What is left to others, and the changed rows of groups in which every file has a twin."""
        if not self._view.identifiers:
            return list(changes), iter(())
        groups: dict[Any, list[FileChange]] = defaultdict(list)
        for change in changes:
            groups[change.file.group].append(change)
        pairs = {group: found for group, members in groups.items()
                 if self._are_plain(members) and (found := pair_up(members))}
        flat = [(group, pair) for group, found in pairs.items() for pair in found]
        twins, rows = self._twins.changed([pair for _, pair in flat])
        unlike = {group for index, (group, _) in enumerate(flat) if index not in twins}
        rest = [change for group, members in groups.items() for change in members
                if group not in pairs or group in unlike]
        mine = pa.array([group not in unlike for group, _ in flat], pa.bool_())
        rows = rows.filter(mine.take(rows.column("file")))
        return rest, self._replaced([pair for _, pair in flat], rows)

    def _replaced(self, pairs: Sequence[Pair], rows: pa.Table) -> Iterator[Rows]:
        owners, places = rows.column("file").to_numpy(), rows.column("pos").to_numpy()
        for found in self._fetch(1, owners, places, [new for _, new in pairs]):
            yield found
            if not self._whole:
                yield Rows(-1, found.positions, found.table.select(self._keys), bare=True)
        if self._whole:
            yield from self._fetch(-1, owners, places, [old for old, _ in pairs])

    def by_lineage(self, changes: Sequence[FileChange]) -> Iterator[Rows] | None:
        """None when the files or the history do not allow it."""
        base = self._view.base_sequence
        young = base is not None and all(
            change.file.sequence > base for change in changes if change.added)
        if not young or not self._view.identifiers or not self._are_plain(changes):
            return None
        return self._updated([change.file for change in changes if not change.added],
                             [change.file for change in changes if change.added])

    def _updated(self, removed: Sequence[DataFile], added: Sequence[DataFile]) -> Iterator[Rows]:
        changed = self._lineage.added(added)
        gone = self._lineage.gone(removed, added, changed)
        yield Rows(1, np.arange(changed.num_rows), changed.drop_columns([KEPT_ID]))
        if not self._whole:
            updated = gone.filter(gone.column("updated"))
            keys = updated.drop_columns(["file", "pos", "updated"]).rename_columns(self._keys)
            yield Rows(-1, updated.column("pos").to_numpy(), keys, bare=True)
            gone = gone.filter(pc.invert(gone.column("updated")))
        yield from self._fetch(-1, gone.column("file").to_numpy(), gone.column("pos").to_numpy(),
                               removed)

    def _are_plain(self, changes: Sequence[FileChange]) -> bool:
        return all(is_whole(change) and self._scan.is_plain(change.file) for change in changes)


def is_whole(change: FileChange) -> bool:
    """All rows of one side, and nothing to leave out."""
    return (change.before is None or change.after is None) and not (change.before or change.after)


def pair_up(changes: Sequence[FileChange]) -> list[Pair]:
    """Files of one group that may be twins by what metadata tells: their number of rows. Empty
    when not every file has one."""
    old = sorted((c.file for c in changes if not c.added), key=lambda file: file.records)
    new = sorted((c.file for c in changes if c.added), key=lambda file: file.records)
    if [file.records for file in old] != [file.records for file in new]:
        return []
    return list(zip(old, new, strict=True))
