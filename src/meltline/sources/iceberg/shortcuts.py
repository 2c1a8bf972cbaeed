"""Ways to the changed rows of rewritten files that read less than every column of every file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.kernels.changed_rows import Rows
from meltline.kernels.deletes import Deletes
from meltline.kernels.lineage_scan import KEPT_ID, LineageScan
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.row_reader import Positions
from meltline.kernels.twins import Differing, Twins, TwinScan
from meltline.model.content import DataFile, FileChange
from meltline.model.table_view import TableView
from meltline.sources.iceberg.units import Unit

Fetch = Callable[[int, Positions, Positions, Sequence[DataFile]], Iterator[Rows]]
"""Rows of a sign, by the indices of their files and their positions, from these files."""
FILES_AT_ONCE = 32


class Shortcuts:
    """For one snapshot, inside one task. Every method leaves to others what it cannot do.

    `whole`: rows that were replaced are wanted whole, not just their keys. Where the key of an
    updated row is known to be the same, the old row has nothing more to say.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, view: TableView, scan: ParquetScan,
        deletes: Deletes, fetch: Fetch, whole: bool,
    ) -> None:
        self._view = view
        self._scan = scan
        self._deletes = deletes
        self._fetch = fetch
        self._whole = whole
        self._keys = [field.name for field in view.identifier_fields]
        fields, keys = view.schema.fields, view.identifier_fields
        self._twins = TwinScan(connection, scan, fields, keys)
        self._lineage = LineageScan(connection, scan, fields, keys, view.base_sequence or 0)

    def by_place(self, units: Sequence[Unit]) -> tuple[list[FileChange], Iterator[Rows]]:
        """What is left to others, and the changed rows of units in which every file has a twin.

        A unit may be part of a group: its rows have the same keys in the same places before and
        after, so none of them can have been carried over from another part."""
        pairs = [(number, one) for number, unit in enumerate(units)
                 for one in self._pairs(unit.changes)]
        twins = [one for _, one in pairs]
        with self._scan.naming([file for one in twins for file in (*one.old, one.new)]):
            real, found = self._twins.changed(twins)
        mine = {number for number, _ in pairs} - {
            number for index, (number, _) in enumerate(pairs) if index not in real}
        rest = [change for number, unit in enumerate(units) if number not in mine
                for change in unit.changes]
        keep = pa.array([number in mine for number, _ in pairs], pa.bool_())
        return rest, (rows for one in found for rows in self._replaced(
            twins, one.filter(keep.take(one.places.column("file")))))

    def _pairs(self, changes: Sequence[FileChange]) -> list[Twins]:
        if not self._view.identifiers or not self._are_plain(changes):
            return []
        return pair_up(changes)

    def _replaced(self, twins: Sequence[Twins], differing: Differing) -> Iterator[Rows]:
        owners, places, old_owners, old_places = (
            column.to_numpy() for column in differing.places.columns)
        if differing.rows is not None:
            new = iter([Rows(1, places, differing.rows)])
        else:
            new = self._fetch(1, owners, places, [one.new for one in twins])
        for found in new:
            yield found
            if not self._whole:
                yield Rows(-1, found.positions, found.table.select(self._keys), bare=True)
        if self._whole:
            old = [file for one in twins for file in one.old]
            yield from self._fetch(-1, old_owners, old_places, old)

    def by_position(self, units: Sequence[Unit]) -> tuple[list[Unit], Iterator[Rows]]:
        """What is left to others, and the rows of files that stayed, deleted by their positions
        or no longer deleted."""
        mine: list[Unit] = []
        rest: list[Unit] = []
        for unit in units:
            (mine if self._is_touched(unit) else rest).append(unit)
        return rest, (rows for start in range(0, len(mine), FILES_AT_ONCE)
                      for rows in self._touched(mine[start:start + FILES_AT_ONCE]))

    def _is_touched(self, unit: Unit) -> bool:
        """By position deletes or vectors alone: equality deletes ask for values."""
        (change, *more) = unit.changes
        if more or change.before is None or change.after is None:
            return False
        kinds = {delete.kind for delete in (*change.before, *change.after)}
        return ("equality" not in kinds and self._scan.is_near(change.file)
                and self._scan.is_plain(change.file))

    def _touched(self, units: Sequence[Unit]) -> Iterator[Rows]:
        changes = [unit.changes[0] for unit in units]
        files = [change.file for change in changes]
        found: dict[int, list[Positions]] = {-1: [], 1: []}
        for change in changes:
            old = self._deletes.positions(change.before or (), change.file.path)
            new = self._deletes.positions(change.after or (), change.file.path)
            found[-1].append(np.setdiff1d(new, old, assume_unique=True))
            found[1].append(np.setdiff1d(old, new, assume_unique=True))
        for sign, places in found.items():
            owners = np.repeat(np.arange(len(files)), [len(some) for some in places])
            yield from self._fetch(sign, owners, np.concatenate(places), files)

    def by_lineage(self, changes: Sequence[FileChange]) -> Iterator[Rows] | None:
        """None when the files or the history do not allow it. Of a remote file two columns are
        less than all of it."""
        base = self._view.base_sequence
        young = base is not None and all(
            change.file.sequence > base for change in changes if change.added)
        near = all(self._scan.is_near(change.file) for change in changes)
        if not young or not near or not self._view.identifiers or not self._are_plain(changes):
            return None
        removed = [change.file for change in changes if not change.added]
        added = [change.file for change in changes if change.added]
        with self._scan.naming([*added, *removed]):
            changed = self._lineage.added(added)
            gone = self._lineage.gone(removed, added, changed)
        return None if gone is None else self._updated(changed, gone, removed)

    def _updated(
        self, changed: pa.Table, gone: pa.Table, removed: Sequence[DataFile]
    ) -> Iterator[Rows]:
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
    return ((change.before is None or change.after is None)
            and not (change.before or change.after or change.without))


def pair_up(changes: Sequence[FileChange]) -> list[Twins]:
    """Files that may be twins by what metadata tells, their number of rows: each with one, or all
    with a single one. Empty when a file is left over."""
    old = sorted((c.file for c in changes if not c.added), key=lambda file: file.path)
    new = sorted((c.file for c in changes if c.added), key=lambda file: file.path)
    if len(new) == 1 and old:
        # rows are sorted by file and place before they are written again
        return [Twins(tuple(old), new[0])] * (new[0].records == sum(one.records for one in old))
    old.sort(key=lambda file: file.records)
    new.sort(key=lambda file: file.records)
    if [file.records for file in old] != [file.records for file in new]:
        return []
    return [Twins((before,), after) for before, after in zip(old, new, strict=True)]
