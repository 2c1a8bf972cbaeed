"""The rows of one data file that a snapshot added or removed, deletes before and after applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from meltline.kernels.batches import batched
from meltline.kernels.deletes import Deletes, matching
from meltline.kernels.position_mask import unpack_positions
from meltline.kernels.projection import NAME_MAPPING, Projection
from meltline.kernels.row_reader import Positions, read_rows, schema_with
from meltline.model.content import DataFile, DeleteFile, FileChange
from meltline.model.lineage import LAST_UPDATED, LINEAGE, ROW_ID

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Rows with one sign and their positions in their files: +1 they appeared, -1 they are gone.

    `bare`: only their key columns are there. They are gone, and rows of the same keys have
    appeared in their place.
    """

    sign: int
    positions: Positions
    table: pa.Table
    bare: bool = False


def joined(found: Iterable[Rows], count: int) -> Iterator[Rows]:
    """The same rows in the same order, at least `count` at a time where they are of one kind."""
    for some in batched(found, lambda rows: len(rows.positions), count,
                        kind=lambda rows: (rows.sign, rows.bare, rows.table.schema)):
        yield replace(some[0], positions=np.concatenate([one.positions for one in some]),
                      table=pa.concat_tables([one.table for one in some]))


class ChangedRows:
    """Reads changes of files in the columns of `schema`, inside one task.

    `lineage` adds the row id and the sequence number of a row's last change, inherited ones
    filled in. `constants` gives the identity partition values of a file by field id.
    """

    def __init__(
        self, io: FileIO, schema: Schema, deletes: Deletes, *, name_mapping: str | None = None,
        lineage: bool = False,
        constants: Callable[[DataFile], Mapping[int, Any]] = lambda _: {},
    ) -> None:
        self._io = io
        self._deletes = deletes
        self._properties = {NAME_MAPPING: name_mapping} if name_mapping else {}
        self._lineage = lineage
        self._constants = constants
        self._schema = schema_with(schema, *LINEAGE) if lineage else schema
        self._projections: dict[tuple[tuple[int, str], ...], Projection] = {}

    def read(self, connection: duckdb.DuckDBPyConnection, change: FileChange) -> Iterator[Rows]:
        if change.before is None:
            yield from self._whole(connection, change.file, change.after or (), 1, change.without)
        elif change.after is None:
            yield from self._whole(connection, change.file, change.before, -1)
        else:
            yield from self._touched(connection, change.file, change.before, change.after)

    def fetch(self, file: DataFile, positions: Positions) -> Iterator[tuple[Positions, pa.Table]]:
        """Rows by their positions, whatever deletes say."""
        for found, table in self._read(file, self._projection(self._schema), positions):
            yield found, self._inherit(file, found, table)

    def _whole(
        self, connection: duckdb.DuckDBPyConnection, file: DataFile,
        deletes: Sequence[DeleteFile], sign: int, without: bytes = b"",
    ) -> Iterator[Rows]:
        gone = self._deletes.positions(deletes, file.path)
        unwanted = unpack_positions(without, file.records) if without else None
        keys = self._deletes.keys(deletes)
        schema = schema_with(self._schema, *(f for fields, _ in keys for f in fields))
        for positions, table in self._read(file, self._projection(schema), None):
            live = _without(positions, gone) & _unmatched(connection, table, schema, keys)
            if unwanted is not None:
                live &= ~unwanted[positions]
            if not live.all():
                positions, table = positions[live], table.filter(pa.array(live))
            if len(positions):
                table = table.select(self._names)
                yield Rows(sign, positions, self._inherit(file, positions, table))

    def _touched(
        self, connection: duckdb.DuckDBPyConnection, file: DataFile,
        before: Sequence[DeleteFile], after: Sequence[DeleteFile],
    ) -> Iterator[Rows]:
        gone_before = self._deletes.positions(before, file.path)
        gone_after = self._deletes.positions(after, file.path)
        keys_before, keys_after = self._deletes.keys(before), self._deletes.keys(after)
        only = None
        if _equality(before) == _equality(after):
            only = np.setxor1d(gone_before, gone_after, assume_unique=True)
            if not len(only):
                return
        fields = [f for fields, _ in (*keys_before, *keys_after) for f in fields]
        # the keys alone tell which rows changed: a few of all, and only those are read whole
        schema = schema_with(Schema(), *fields)
        gone: list[Positions] = []
        back: list[Positions] = []
        for positions, table in self._read(file, self._projection(schema), only):
            old = _without(positions, gone_before) & _unmatched(
                connection, table, schema, keys_before)
            new = _without(positions, gone_after) & _unmatched(
                connection, table, schema, keys_after)
            gone.append(positions[old & ~new])
            back.append(positions[new & ~old])
        for sign, parts in ((-1, gone), (1, back)):
            wanted = np.concatenate(parts) if parts else np.empty(0, np.int64)
            if len(wanted):
                for positions, table in self.fetch(file, wanted):
                    yield Rows(sign, positions, table)

    @property
    def _names(self) -> list[str]:
        return [field.name for field in self._schema.fields]

    def _read(
        self, file: DataFile, projection: Projection, only: Positions | None
    ) -> Iterator[tuple[Positions, pa.Table]]:
        if only is not None and not projection.arrow.names:
            yield only, pa.table({})
            return
        yield from read_rows(self._io, file.path, file.format, projection,
                             self._constants(file), only)

    def _projection(self, schema: Schema) -> Projection:
        # a column that equality deletes ask for has another name, not another id
        key = tuple((field.field_id, field.name) for field in schema.fields)
        if key not in self._projections:
            self._projections[key] = Projection(schema, self._properties)
        return self._projections[key]

    def _inherit(self, file: DataFile, positions: Positions, table: pa.Table) -> pa.Table:
        """What a row of a v3 table does not say itself it has from its file."""
        if not self._lineage:
            return table
        if file.first_row_id is not None:
            own = pc.coalesce(table.column(ROW_ID), pa.array(positions + file.first_row_id))
            table = table.set_column(table.column_names.index(ROW_ID), ROW_ID, own)
        changed = pc.fill_null(table.column(LAST_UPDATED), file.sequence)
        return table.set_column(table.column_names.index(LAST_UPDATED), LAST_UPDATED, changed)


def _equality(deletes: Sequence[DeleteFile]) -> list[DeleteFile]:
    return [delete for delete in deletes if delete.kind == "equality"]


def _without(positions: Positions, gone: Positions) -> Mask:
    if not len(gone):
        return np.ones(len(positions), np.bool_)
    at = np.minimum(np.searchsorted(gone, positions), len(gone) - 1)
    return np.not_equal(gone[at], positions)


def _unmatched(
    connection: duckdb.DuckDBPyConnection, table: pa.Table, schema: Schema,
    keys: Sequence[tuple[tuple[NestedField, ...], pa.Table]],
) -> Mask | np.bool_:
    """Rows that no equality delete removes."""
    live: Mask | np.bool_ = np.True_
    for fields, values in keys:
        names = [schema.find_field(field.field_id).name for field in fields]
        live = live & ~matching(connection, table, names, values)
    return live
