"""A source beside its copy, inside of tasks: hashes meet by key, and few rows are read at last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meltline.engine.rounds import Piece
from meltline.kernels.alignment import differing
from meltline.kernels.batches import batched
from meltline.kernels.groups import groups
from meltline.model.content import FileChange
from meltline.model.table_view import TableView
from meltline.sources.iceberg.netting import Work, bucket_of
from meltline.sources.iceberg.pieces import (
    FetchPiece,
    KeysPiece,
    pack,
    read_table,
    split_table,
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
    files = tuple(change.file for change in changes)
    for waiting in batched(work.keyed(changes), lambda keys: keys.num_rows, SEND_ROWS):
        for bucket, part in split_table(pa.concat_tables(waiting), "k1", buckets):
            piece = KeysPiece(view, 1 if changes[0].added else -1, files, write_table(part))
            yield pack(bucket, piece, part.nbytes)


def rows_to_fetch(
    connection: duckdb.DuckDBPyConnection, pieces: Sequence[KeysPiece], buckets: int
) -> Iterator[Piece]:
    """The second round: what differs among the keys of one bucket, sent to where its file is
    read."""
    tables = [read_table(piece.keys) for piece in pieces]
    counts = [table.num_rows for table in tables]
    signs = np.repeat(np.array([piece.sign for piece in pieces], np.int8), counts)
    keys = pa.concat_tables(tables)
    ages = np.concatenate([_sequences(piece)[table.column("file").to_numpy()]
                           for piece, table in zip(pieces, tables, strict=True)])
    chosen = differing(connection, keys.select(["k1", "k2", "h1", "h2"]).append_column(
        "sign", pa.array(signs)).append_column("sequence", pa.array(ages)))
    owners = np.repeat(np.arange(len(pieces)), counts)[chosen]
    numbers = keys.column("file").to_numpy()[chosen]
    places = keys.column("pos").to_numpy()[chosen]
    for owner, of_piece in groups(owners):
        piece = pieces[owner]
        for number, of_file in groups(numbers[of_piece]):
            file = piece.files[number]
            mine = np.sort(places[of_piece[of_file]]).astype(np.int64)
            yield pack(bucket_of(file, buckets), FetchPiece(
                piece.view, file, piece.sign, mine.tobytes(), settled=True), mine.nbytes)


def _sequences(piece: KeysPiece) -> NDArray[np.int64]:
    return np.array([file.sequence for file in piece.files], np.int64)
