"""Units of work inside a task: which rows changed, with carried-over rows cancelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import duckdb
import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema

from meltline.engine.rounds import Piece
from meltline.kernels.batches import batched
from meltline.kernels.changed_rows import ChangedRows, Rows
from meltline.kernels.changes import Changes
from meltline.kernels.deletes import Deletes
from meltline.kernels.groups import groups
from meltline.kernels.netting import survivors
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.row_reader import Positions
from meltline.kernels.storage import open_storage
from meltline.model.content import DataFile, FileChange
from meltline.model.lineage import LAST_UPDATED, ROW_ID
from meltline.model.table_view import TableView
from meltline.sources.iceberg.pieces import (
    FetchPiece,
    HashPiece,
    pack,
    read_table,
    split_table,
    write_table,
)
from meltline.sources.iceberg.shortcuts import FILES_AT_ONCE, Shortcuts, is_whole
from meltline.sources.iceberg.units import Unit

TOGETHER_ROWS = 1_000_000
LINEAGE_ROWS = 4_000_000
"""Small groups are netted in one go, up to about so many rows. Of row lineage only what changed
is held."""
_NO_KEYS = pa.table({"h1": pa.array([], pa.uint64())})


class Work:
    """For one snapshot, inside one task. `whole`: see Shortcuts."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, view: TableView, whole: bool = True
    ) -> None:
        self._connection = connection
        self._view = view
        self._io = open_storage(view.io_properties)
        self._deletes = Deletes(self._io, view.find_field)
        self._rows = self._reader(view.schema, lineage=view.row_ids)
        self._narrow = self._reader(Schema(), lineage=True)
        self._scan = ParquetScan(connection, self._io, view.schema)
        self._changes = Changes(connection, view)
        self._shortcuts = Shortcuts(
            connection, view, self._scan, self._deletes, self._fetch_all, whole)

    def close(self) -> None:
        self._scan.close()

    def _reader(self, schema: Schema, lineage: bool) -> ChangedRows:
        return ChangedRows(
            self._io, schema, self._deletes, name_mapping=self._view.name_mapping,
            lineage=lineage, constants=self._view.constants)

    def changed(self, units: Sequence[Unit]) -> Iterator[Rows]:
        """Rows of units in which nothing cancels."""
        units, rows = self._shortcuts.by_position(units)
        yield from rows
        for change in (change for unit in units for change in unit.changes):
            yield from self._rows.read(self._connection, change)

    def keyed(self, changes: Sequence[FileChange], near: bool = False) -> Iterator[pa.Table]:
        """k1, k2 over the key columns, h1, h2 over all, `file` by its index, and `pos`, of the
        rows of whole files. `near`: of a remote file the columns are less than all of it."""
        plain = [(place, change.file) for place, change in enumerate(changes)
                 if (not near or self._scan.is_near(change.file)) and self._is_plain(change)]
        for some in batched(plain, lambda one: one[1].records, TOGETHER_ROWS):
            places = pa.array([place for place, _ in some], pa.int32())
            for keys in self._scan.key_hashes([file for _, file in some],
                                              self._view.identifier_fields, TOGETHER_ROWS):
                at = keys.column_names.index("file")
                yield keys.set_column(at, "file", places.take(keys.column(at)))
        for place in sorted(set(range(len(changes))) - {place for place, _ in plain}):
            for rows in self._rows.read(self._connection, changes[place]):
                keys = self._changes.key_hashes(rows)
                owner = pa.repeat(pa.scalar(place, pa.int32()), keys.num_rows)
                yield keys.add_column(4, "file", owner)

    def netted(self, units: Iterable[Unit], lineage: bool = False) -> Iterator[Rows]:
        """Small groups together, as long as they are not too many rows: equal rows of different
        partitions do not exist, so they cannot cancel by mistake. `lineage`: equal by row id."""
        net, most = (self._by_lineage, LINEAGE_ROWS) if lineage else (self._net, TOGETHER_ROWS)
        for batch in batched(units, _records, most):
            yield from net(batch)

    def _net(self, units: Sequence[Unit]) -> Iterator[Rows]:
        batch, rows = self._shortcuts.by_place(units)
        yield from rows
        keys, files, kept_rows = self._hashed(batch)
        if not keys.num_rows:
            return
        kept = survivors(self._connection, keys.select(["h1", "h2", "sign"]))
        chosen = keys.select(["sign", "file", "pos"]).take(pa.array(kept))
        yield from self._chosen(chosen, files, kept_rows)

    def _hashed(
        self, batch: Sequence[FileChange]
    ) -> tuple[pa.Table, list[DataFile], dict[int, Rows]]:
        """Keys of every changed row (h1, h2, sign, file, pos), the files by index, and rows that
        had to be read already, by the index of their file."""
        plain = [change for change in batch if self._is_plain(change)]
        files = [change.file for change in plain]
        signs = {change.file.path: 1 if change.added else -1 for change in plain}
        parts = [self._scan.hashes(files, signs)] if files else []
        read: dict[int, Rows] = {}
        for change in batch:
            if not self._is_plain(change):
                for rows in self._rows.read(self._connection, change):
                    parts.append(self._keys(rows, len(files)))
                    read[len(files)] = rows
                    files.append(change.file)
        return pa.concat_tables(parts) if parts else _NO_KEYS, files, read

    def _is_plain(self, change: FileChange) -> bool:
        return (is_whole(change) and not self._view.row_ids
                and self._scan.is_plain(change.file))

    def _chosen(
        self, chosen: pa.Table, files: Sequence[DataFile], read: Mapping[int, Rows]
    ) -> Iterator[Rows]:
        """Rows of the keys that did not cancel: taken from what was read, or fetched now."""
        owners = chosen.column("file").to_numpy()
        places = chosen.column("pos").to_numpy()
        signs = chosen.column("sign").to_numpy()
        for index, rows in read.items():
            mine = places[owners == index]
            if len(mine):
                here = np.searchsorted(rows.positions, np.sort(mine))
                yield Rows(rows.sign, rows.positions[here], rows.table.take(pa.array(here)))
        for sign in (-1, 1):
            mask = (signs == sign) & ~np.isin(owners, list(read))
            yield from self._fetch_all(sign, owners[mask], places[mask], files)

    def _fetch_all(
        self, sign: int, owners: Positions, places: Positions, files: Sequence[DataFile]
    ) -> Iterator[Rows]:
        """Rows of many files; those of plain ones in one go, unless they are many."""
        found_in, counts = np.unique(owners, return_counts=True)
        present = {int(owner): int(rows) for owner, rows in zip(found_in, counts, strict=True)}
        plain = [owner for owner, rows in present.items() if not self._view.row_ids
                 and rows <= TOGETHER_ROWS and self._scan.is_near(files[owner])
                 and self._scan.is_plain(files[owner])]
        for some in _together(plain, present):
            mask = np.isin(owners, some)
            wanted = pa.table({
                "file": pa.array(np.searchsorted(some, owners[mask]), pa.int32()),
                "pos": pa.array(places[mask], pa.int64())})
            found = self._scan.fetch([files[owner] for owner in some], wanted)
            # by place: a table may have columns of these names too
            own = list(range(found.num_columns - 2))
            yield Rows(sign, found.column(len(own) + 1).to_numpy(), found.select(own))
        for owner in present:
            if owner not in plain:
                positions = np.sort(places[owners == owner])
                for found_at, table in self._rows.fetch(files[owner], positions):
                    yield Rows(sign, found_at, table)

    def _keys(self, rows: Rows, index: int) -> pa.Table:
        h1, h2 = self._changes.hashes(rows.table)
        count = len(rows.positions)
        return pa.table({
            "h1": h1, "h2": h2, "sign": pa.repeat(pa.scalar(rows.sign, pa.int8()), count),
            "file": pa.repeat(pa.scalar(index, pa.int32()), count),
            "pos": pa.array(rows.positions)})

    def _by_lineage(self, units: Sequence[Unit]) -> Iterator[Rows]:
        """A row of the same id and the same last change is the same row: two narrow columns tell
        which rows changed, and only those are read."""
        batch = [change for unit in units for change in unit.changes]
        short = self._shortcuts.by_lineage(batch)
        if short is not None:
            yield from short
            return
        files = [change.file for change in batch]
        parts = []
        for index, change in enumerate(batch):
            for rows in self._narrow.read(self._connection, change):
                count = len(rows.positions)
                parts.append(pa.table({
                    "h1": rows.table.column(ROW_ID), "h2": rows.table.column(LAST_UPDATED),
                    "sign": pa.repeat(pa.scalar(rows.sign, pa.int8()), count),
                    "file": pa.repeat(pa.scalar(index, pa.int32()), count),
                    "pos": pa.array(rows.positions)}))
        if parts:
            keys = pa.concat_tables(parts)
            kept = survivors(self._connection, keys.select(["h1", "h2", "sign"]))
            chosen = keys.select(["sign", "file", "pos"]).take(pa.array(kept))
            yield from self._chosen(chosen, files, {})

    def in_place(self, units: Sequence[Unit]) -> tuple[list[FileChange], Iterator[Rows]]:
        """Parts of big groups: changed rows that need no hash, and what is left."""
        return self._shortcuts.by_place(units)

    def hashes(self, changes: Sequence[FileChange], buckets: int) -> Iterator[Piece]:
        """Parts of a big group: hashes and positions travel, rows do not."""
        keys, files, _ = self._hashed(changes)
        if not keys.num_rows:
            return
        for bucket, part in split_table(keys, "h1", buckets):
            yield pack(bucket, HashPiece(self._view, tuple(files), write_table(part)), part.nbytes)

    def survivors(self, pieces: Sequence[HashPiece], buckets: int) -> Iterator[Piece]:
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
        for owner, some in groups(owners):
            file = files[owner]
            for sign in (-1, 1):
                mine = np.sort(places[some[signs[some] == sign]])
                if len(mine):
                    piece = FetchPiece(self._view, file, sign, mine.astype(np.int64).tobytes())
                    yield pack(bucket_of(file, buckets), piece, mine.nbytes)

    def fetched(self, pieces: Sequence[FetchPiece]) -> Iterator[Rows]:
        """Each file is read once for all the buckets that asked for rows of it."""
        files = list(dict.fromkeys(piece.file for piece in pieces))
        numbers = {file: index for index, file in enumerate(files)}
        for sign in (-1, 1):
            mine = [piece for piece in pieces if piece.sign == sign]
            if mine:
                owners = np.concatenate([np.full(len(piece.places()), numbers[piece.file])
                                         for piece in mine])
                places = np.concatenate([piece.places() for piece in mine])
                yield from self._fetch_all(sign, owners, places, files)


def _records(unit: Unit) -> int:
    return sum(change.file.records for change in unit.changes)


def _together(files: Sequence[int], rows: Mapping[int, int]) -> Iterator[list[int]]:
    """Not too many files at once, and not too many rows of them."""
    some: list[int] = []
    for file in files:
        full = sum(rows[one] for one in some) + rows[file] > TOGETHER_ROWS
        if some and (full or len(some) == FILES_AT_ONCE):
            yield some
            some = []
        some.append(file)
    if some:
        yield some


def bucket_of(file: DataFile, buckets: int) -> int:
    """Where rows of a file are fetched, whoever asks for them."""
    return sum(file.path.encode()[-16:]) % buckets
