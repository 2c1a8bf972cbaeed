"""What tasks of one snapshot send each other: changed rows, row hashes, positions to fetch."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from meltline.engine.rounds import Piece
from meltline.kernels.row_reader import Positions
from meltline.model.content import DataFile
from meltline.model.table_view import TableView

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class RowsPiece:
    """Changed rows: the columns of kernels.changes.CHANGED. `settled`: none of them cancel."""

    view: TableView
    rows: bytes
    settled: bool = False


@dataclass(frozen=True)
class HashPiece:
    """Hashes of rows that may cancel: h1, h2, sign, the file by its index, and the position."""

    view: TableView
    files: tuple[DataFile, ...]
    keys: bytes


@dataclass(frozen=True)
class KeysPiece:
    """Hashes of keys and rows of one side: k1, k2, h1, h2, the position, and the file by its
    index."""

    view: TableView
    sign: int
    files: tuple[DataFile, ...]
    keys: bytes


@dataclass(frozen=True)
class FetchPiece:
    """Rows of one file that did not cancel, to be read now. `settled`: none will cancel later."""

    view: TableView
    file: DataFile
    sign: int
    positions: bytes
    settled: bool = False

    def places(self) -> Positions:
        return np.frombuffer(self.positions, np.int64)


def pack(
    bucket: int, piece: RowsPiece | HashPiece | KeysPiece | FetchPiece, weight: int
) -> Piece:
    """`weight`: of its table, or of what is read for it."""
    return Piece(bucket, pickle.dumps(piece, protocol=pickle.HIGHEST_PROTOCOL), weight)


def unpack(piece: Piece) -> Any:
    # only ever bytes that a task of this very epoch has written
    return pickle.loads(piece.content)


def write_table(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def split_table(table: pa.Table, column: str, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """By a column of hashes."""
    if buckets == 1:
        yield 0, table
        return
    # numbers of 16 bits are sorted ten times as fast
    small = np.uint16 if buckets <= 1 << 16 else np.uint32
    numbers = (table.column(column).to_numpy() % np.uint64(buckets)).astype(small)
    order = np.argsort(numbers, kind="stable")
    together = table.take(pa.array(order))
    ends = np.cumsum(np.bincount(numbers, minlength=buckets))
    for bucket, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if end > start:
            yield bucket, together.slice(start, end - start)


def read_table(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()
