"""The half of the source `iceberg` that works inside of workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from meltline.engine.rounds import Events, Piece, read_alone
from meltline.kernels.changed_rows import Rows, joined
from meltline.kernels.changes import Changes
from meltline.kernels.connection import connect
from meltline.kernels.pairing import AFTER, INSERT
from meltline.kernels.position_mask import unpack_positions
from meltline.model.event import PLACE_BITS, Shape
from meltline.model.plan import Split
from meltline.model.table_view import TableView
from meltline.sources.iceberg.aligning import key_hashes, rows_to_fetch
from meltline.sources.iceberg.events import CHUNK_ROWS, METADATA, event_shape, to_events
from meltline.sources.iceberg.netting import Work
from meltline.sources.iceberg.pieces import (
    FetchPiece,
    HashPiece,
    KeysPiece,
    RowsPiece,
    pack,
    read_table,
    unpack,
    write_table,
)
from meltline.sources.iceberg.units import Mode, Unit

SEND_BYTES = 32 << 20


@dataclass
class IcebergReader:
    """Implements SplitReader and ExchangingReader.

    A split's data: `view`, `units`, the number of its `task`, `load` (an initial load: every row
    is an insert), `rounds`, `buckets` and how many `tasks` share them. With `copy`, the view of
    another table, files that are removed are of that one.
    """

    update_before: bool = False
    skipped_files: int = 0
    duplicate_keys: int = field(default=0, compare=False)

    def shape(self) -> Shape:
        """The columns are known when a snapshot is read."""
        return Shape("typed", METADATA)

    def line_numbers(self, split: Split, ords: Sequence[int]) -> list[int]:  # noqa: ARG002
        return list(ords)

    def open(self, split: Split) -> Events:
        if not split.data["load"]:
            yield from read_alone(self, split)
            return
        with closing(connect()) as connection:
            yield from self._load(connection, split)

    def _load(self, connection: duckdb.DuckDBPyConnection, split: Split) -> Events:
        view: TableView = split.data["view"]
        operation = AFTER if split.data.get("again", False) and view.identifiers else INSERT
        work = Work(connection, view)
        changes = Changes(connection, view)
        shape: Shape | None = None
        first = split.data["task"] << PLACE_BITS
        for rows in joined(work.changed(split.data["units"]), CHUNK_ROWS):
            packed = changes.pack(rows, hashed=False)
            shape = shape or event_shape(connection, packed.column("row").type)
            operations = pa.repeat(operation, packed.num_rows)
            yield from to_events(shape, view, packed.column("row"), packed.column("id"),
                                 operations, first)
            first += packed.num_rows
        self.duplicate_keys += sum(
            int(unpack_positions(change.without, change.file.records).sum())
            for unit in split.data["units"] for change in unit.changes if change.without)

    def rounds(self, split: Split) -> int:
        return int(split.data["rounds"])

    def buckets(self, split: Split) -> int:
        return int(split.data["buckets"])

    def tasks(self, split: Split) -> int:
        return int(split.data["tasks"])

    def scatter(self, split: Split) -> Iterator[Piece]:
        with closing(connect()) as connection:
            yield from self._find(connection, split)

    def scatter_again(self, pieces: Sequence[Piece], buckets: int) -> Iterator[Piece]:
        found = [(piece, unpack(piece)) for piece in pieces]
        # rows are where they belong already
        yield from (piece for piece, what in found if isinstance(what, RowsPiece))
        hashes = [what for _, what in found if isinstance(what, HashPiece)]
        keys = [what for _, what in found if isinstance(what, KeysPiece)]
        with closing(connect()) as connection:
            if hashes:
                yield from Work(connection, hashes[0].view).survivors(hashes, buckets)
            if keys:
                yield from rows_to_fetch(connection, keys, buckets)
            for sign in (-1, 1):
                # the rows of a copy, which are the removed ones, have a view of their own
                yield from self._fetch(connection, [
                    what for _, what in found
                    if isinstance(what, FetchPiece) and what.sign == sign], buckets)

    def _fetch(
        self, connection: duckdb.DuckDBPyConnection, pieces: Sequence[FetchPiece], buckets: int
    ) -> Iterator[Piece]:
        if pieces:
            view = pieces[0].view
            outbox = _Outbox(connection, view, buckets, pieces[0].settled)
            with closing(Work(connection, view)) as work:
                yield from outbox.all(work.fetched(pieces))
            yield from outbox.rest()

    def _find(
        self, connection: duckdb.DuckDBPyConnection, split: Split
    ) -> Iterator[Piece]:
        view, buckets = split.data["view"], split.data["buckets"]
        units: Sequence[Unit] = split.data["units"]
        if "copy" in split.data:
            yield from key_hashes(connection, view, split.data["copy"], units, buckets)
            return
        outbox = _Outbox(connection, view, buckets)
        with closing(Work(connection, view, whole=self.update_before)) as work:
            rest, in_place = work.in_place(_of("hash", units))
            yield from outbox.all(in_place)
            yield from work.hashes(rest, buckets)
            yield from outbox.all(work.changed(_of("rows", units)))
            yield from outbox.all(work.netted(_of("net", units)))
            yield from outbox.all(work.netted(_of("lineage", units), lineage=True))
        yield from outbox.rest()

    def gather(self, pieces: Sequence[Piece]) -> Events:
        found = [unpack(piece) for piece in pieces]
        if not found:
            return
        view = found[0].view
        changed = pa.concat_tables(read_table(piece.rows) for piece in found)
        with closing(connect()) as connection:
            changed, paired = Changes(connection, view).settle(
                changed, self.update_before, net=not found[0].settled)
            self.duplicate_keys += paired.duplicates
            rows = changed.select(["row", "id"]).take(paired.at)
            shape = event_shape(connection, changed.column("row").type)
            yield from to_events(shape, view, rows.column("row"), rows.column("id"),
                                 paired.operation)


def _of(mode: Mode, units: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.mode == mode]


class _Outbox:
    """Collects changed rows by bucket until they are worth sending."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, view: TableView, buckets: int,
        settled: bool = False,
    ) -> None:
        self._settled = settled
        self._changes = Changes(connection, view)
        self._view = view
        self._buckets = buckets
        self._waiting: list[pa.Table] = []
        self._bytes = 0

    def all(self, found: Iterable[Rows]) -> Iterator[Piece]:
        for rows in joined(found, CHUNK_ROWS):
            yield from self.add(rows)

    def add(self, rows: Rows) -> Iterator[Piece]:
        # without a key it is the content that says which rows must meet
        packed = self._changes.pack(rows, hashed=not self._changes.keyed)
        self._waiting.append(packed)
        self._bytes += packed.nbytes
        if self._bytes > SEND_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        if self._waiting:
            together = pa.concat_tables(self._waiting)
            for bucket, table in self._changes.split(together, self._buckets):
                yield pack(bucket, RowsPiece(self._view, write_table(table), self._settled),
                           table.nbytes)
        self._waiting, self._bytes = [], 0
