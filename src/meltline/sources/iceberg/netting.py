"""Units of work inside a task: which rows changed, with carried-over rows cancelled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema

from meltline.kernels.changed_rows import LAST_UPDATED, ROW_ID, ChangedRows, Rows
from meltline.kernels.changes import Changes
from meltline.kernels.deletes import Deletes
from meltline.kernels.netting import survivors
from meltline.kernels.row_reader import Positions
from meltline.kernels.storage import open_storage
from meltline.model.content import DataFile
from meltline.model.table_view import TableView
from meltline.sources.iceberg.pieces import (
    FetchPiece,
    HashPiece,
    read_table,
    to_bytes,
    write_table,
)
from meltline.sources.iceberg.units import Unit

TOGETHER_ROWS = 400_000
"""Small groups are netted in one go, up to about so many rows."""


class Work:
    """For one snapshot, inside one task."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, view: TableView) -> None:
        self._connection = connection
        self._view = view
        self._io = open_storage(view.io_properties)
        self._deletes = Deletes(self._io, view.find_field)
        self._rows = self._reader(view.schema, lineage=view.row_ids)
        self._changes = Changes(connection, view)

    def _reader(self, schema: Schema, lineage: bool) -> ChangedRows:
        return ChangedRows(
            self._io, schema, self._deletes, name_mapping=self._view.name_mapping,
            lineage=lineage, constants=self._view.constants)

    def changed(self, unit: Unit) -> Iterator[Rows]:
        """Rows of a unit in which nothing cancels, or of one that keeps row ids."""
        if unit.mode == "lineage":
            yield from self._by_lineage(unit)
            return
        for change in unit.changes:
            yield from self._rows.read(self._connection, change)

    def netted(self, units: Iterable[Unit]) -> Iterator[Rows]:
        """Small groups together, as long as they are not too many rows: equal rows of different
        partitions do not exist, so they cannot cancel by mistake."""
        batch: list[Rows] = []
        count = 0
        for unit in units:
            for change in unit.changes:
                found = list(self._rows.read(self._connection, change))
                batch += found
                count += sum(len(rows.positions) for rows in found)
            if count > TOGETHER_ROWS:
                yield from self._net(batch)
                batch, count = [], 0
        yield from self._net(batch)

    def _net(self, batch: Sequence[Rows]) -> Iterator[Rows]:
        if len({rows.sign for rows in batch}) < 2:
            yield from batch
            return
        keys = pa.concat_tables(self._keys(rows) for rows in batch)
        kept = survivors(self._connection, keys)
        first = 0
        for rows in batch:
            count = len(rows.positions)
            low, high = np.searchsorted(kept, [first, first + count])
            if high > low:
                here = kept[low:high] - first
                yield Rows(rows.sign, rows.positions[here], rows.table.take(pa.array(here)))
            first += count

    def _keys(self, rows: Rows) -> pa.Table:
        h1, h2 = self._changes.hashes(rows.table)
        sign = pa.repeat(pa.scalar(rows.sign, pa.int8()), len(rows.positions))
        return pa.table({"h1": h1, "h2": h2, "sign": sign})

    def _by_lineage(self, unit: Unit) -> Iterator[Rows]:
        """A row of the same id and the same last change is the same row: two narrow columns tell
        which rows changed, and only those are read."""
        narrow = self._reader(Schema(), lineage=True)
        found = [(change.file, rows) for change in unit.changes
                 for rows in narrow.read(self._connection, change)]
        if not found:
            return
        keys = pa.concat_tables(
            pa.table({"h1": rows.table.column(ROW_ID), "h2": rows.table.column(LAST_UPDATED),
                      "sign": pa.repeat(pa.scalar(rows.sign, pa.int8()), len(rows.positions))})
            for _, rows in found)
        kept = survivors(self._connection, keys)
        first = 0
        for file, rows in found:
            count = len(rows.positions)
            low, high = np.searchsorted(kept, [first, first + count])
            if high > low:
                for positions, table in self._rows.fetch(
                        file, rows.positions[kept[low:high] - first]):
                    yield Rows(rows.sign, positions, table)
            first += count

    def hashes(self, units: Sequence[Unit], buckets: int) -> Iterator[tuple[int, bytes]]:
        """Parts of a big group: hashes and positions travel, rows do not."""
        files: list[DataFile] = []
        keys: list[pa.Table] = []
        for change in (change for unit in units for change in unit.changes):
            for rows in self._rows.read(self._connection, change):
                keys.append(self._keys(rows).append_column(
                    "file", pa.repeat(pa.scalar(len(files), pa.int32()), len(rows.positions))
                ).append_column("pos", pa.array(rows.positions)))
            files.append(change.file)
        if not keys:
            return
        together = pa.concat_tables(keys).combine_chunks()
        numbers = together.column("h1").to_numpy() % np.uint64(buckets)
        for bucket in np.unique(numbers):
            part = together.filter(pa.array(numbers == bucket))
            yield int(bucket), to_bytes(HashPiece(self._view, tuple(files), write_table(part)))

    def survivors(self, pieces: Sequence[HashPiece], buckets: int) -> Iterator[tuple[int, bytes]]:
        """What did not cancel in one bucket of hashes, sent to where its file is read."""
        tables = [read_table(piece.keys) for piece in pieces]
        files = [file for piece in pieces for file in piece.files]
        firsts = np.cumsum([0] + [len(piece.files) for piece in pieces[:-1]])
        numbers = np.concatenate([table.column("file").to_numpy() + first
                                  for table, first in zip(tables, firsts, strict=True)])
        keys = pa.concat_tables(tables)
        kept = survivors(self._connection, keys.select(["h1", "h2", "sign"]))
        signs = keys.column("sign").to_numpy()[kept]
        places = keys.column("pos").to_numpy()[kept]
        owners = numbers[kept]
        for owner in np.unique(owners):
            file = files[int(owner)]
            for sign in (-1, 1):
                mine = np.sort(places[(owners == owner) & (signs == sign)])
                if len(mine):
                    piece = FetchPiece(self._view, file, sign, mine.astype(np.int64).tobytes())
                    yield _bucket_of(file, buckets), to_bytes(piece)

    def fetched(self, pieces: Sequence[FetchPiece]) -> Iterator[Rows]:
        """Each file is read once for all the buckets that asked for rows of it."""
        wanted: dict[tuple[DataFile, int], list[Positions]] = defaultdict(list)
        for piece in pieces:
            wanted[piece.file, piece.sign].append(piece.places())
        for (file, sign), parts in wanted.items():
            positions = np.sort(np.concatenate(parts))
            for found, table in self._rows.fetch(file, positions):
                yield Rows(sign, found, table)


def _bucket_of(file: DataFile, buckets: int) -> int:
    return sum(file.path.encode()[-16:]) % buckets
