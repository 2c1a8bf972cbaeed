"""A source beside its copy, inside of tasks: hashes meet by key, and few rows are read at last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa

from meltline.engine.rounds import Piece
from meltline.kernels.alignment import differing
from meltline.model.content import DataFile, FileChange
from meltline.model.table_view import TableView
from meltline.sources.iceberg.netting import Work, bucket_of
from meltline.sources.iceberg.pieces import (
    FetchPiece,
    KeysPiece,
    pack,
    read_table,
    write_table,
)
from meltline.sources.iceberg.units import Unit

SEND_ROWS = 1_000_000
"""So many hashes wait in a task until they are sent."""


def key_hashes(
    connection: duckdb.DuckDBPyConnection, source: TableView, copy: TableView,
    units: Sequence[Unit], buckets: int,
) -> Iterator[Piece]:
    """The first round: files that are added are the source's, files that are removed the copy's."""
    for view, added in ((source, True), (copy, False)):
        changes = [one for unit in units for one in unit.changes if one.added == added]
        if changes:
            with closing(Work(connection, view)) as work:
                yield from _side(work, view, changes, buckets)


def _side(
    work: Work, view: TableView, changes: Sequence[FileChange], buckets: int
) -> Iterator[Piece]:
    files: list[DataFile] = []
    waiting: list[pa.Table] = []
    for change in changes:
        index = pa.scalar(len(files), pa.int32())
        files.append(change.file)
        for keys in work.keyed(change):
            waiting.append(keys.append_column("file", pa.repeat(index, keys.num_rows)))
            if sum(table.num_rows for table in waiting) >= SEND_ROWS:
                yield from _sent(view, changes[0].added, files, waiting, buckets)
                waiting = []
    yield from _sent(view, changes[0].added, files, waiting, buckets)


def _sent(
    view: TableView, added: bool, files: Sequence[DataFile], waiting: Sequence[pa.Table],
    buckets: int,
) -> Iterator[Piece]:
    if not waiting:
        return
    together = pa.concat_tables(waiting).combine_chunks()
    numbers = together.column("k1").to_numpy() % np.uint64(buckets)
    for bucket in np.unique(numbers):
        part = together.filter(pa.array(numbers == bucket))
        piece = KeysPiece(view, 1 if added else -1, tuple(files), write_table(part))
        yield pack(int(bucket), piece, part.nbytes)


def rows_to_fetch(
    connection: duckdb.DuckDBPyConnection, pieces: Sequence[KeysPiece], buckets: int
) -> Iterator[Piece]:
    """The second round: what differs among the keys of one bucket, sent to where its file is
    read."""
    tables = [read_table(piece.keys) for piece in pieces]
    counts = [table.num_rows for table in tables]
    signs = np.repeat(np.array([piece.sign for piece in pieces], np.int8), counts)
    keys = pa.concat_tables(tables)
    chosen = differing(connection, keys.select(["k1", "k2", "h1", "h2"]).append_column(
        "sign", pa.array(signs)))
    owners = np.repeat(np.arange(len(pieces)), counts)[chosen]
    numbers = keys.column("file").to_numpy()[chosen]
    places = keys.column("pos").to_numpy()[chosen]
    for owner in np.unique(owners):
        piece = pieces[int(owner)]
        for number in np.unique(numbers[owners == owner]):
            file = piece.files[int(number)]
            mine = np.sort(places[(owners == owner) & (numbers == number)]).astype(np.int64)
            yield pack(bucket_of(file, buckets), FetchPiece(
                piece.view, file, piece.sign, mine.tobytes(), settled=True), mine.nbytes)
