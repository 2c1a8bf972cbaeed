"""Delete files and deletion vectors as sets of positions and of keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import duckdb
import numpy as np
import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField
from pyroaring import BitMap64

from meltline.kernels.deletion_vector import read_vector
from meltline.kernels.position_delete import read_position_deletes
from meltline.kernels.projection import Projection
from meltline.kernels.row_reader import Positions, errors_named, read_rows
from meltline.model.content import DeleteFile

NO_POSITIONS: Positions = np.empty(0, np.int64)


class Deletes:
    """Reads deletes inside one task; a delete file that serves many data files is read once.

    `fields` finds a column by its field id, also one that the table has dropped since.
    """

    def __init__(self, io: FileIO, fields: Callable[[int], NestedField]) -> None:
        self._io = io
        self._fields = fields
        self._positions = lru_cache(maxsize=64)(self._read_positions)
        self._keys = lru_cache(maxsize=32)(self._read_keys)

    def positions(self, deletes: Sequence[DeleteFile], path: str) -> Positions:
        """Ascending positions of a data file that position deletes and vectors remove."""
        found = []
        for delete in deletes:
            if delete.kind == "vector":
                found.append(self._read_vector(delete))
            elif delete.kind == "position":
                found.append(self._positions(delete).get(path, NO_POSITIONS))
        if len(found) == 1:
            return found[0]
        return np.unique(np.concatenate(found)) if found else NO_POSITIONS

    def keys(self, deletes: Sequence[DeleteFile]) -> list[tuple[tuple[NestedField, ...], pa.Table]]:
        """Per set of columns, the values that equality deletes remove."""
        by_columns: dict[tuple[int, ...], list[DeleteFile]] = {}
        for delete in deletes:
            if delete.kind == "equality":
                by_columns.setdefault(delete.equality_ids, []).append(delete)
        return [(tuple(self._column(id_) for id_ in ids), self._keys(tuple(group)))
                for ids, group in by_columns.items()]

    def _column(self, field_id: int) -> NestedField:
        """Under a name of its own: a dropped column's name may have been given to another one."""
        found = self._fields(field_id)
        return NestedField(field_id, f"_delete_key_{field_id}", found.field_type, required=False)

    def _read_positions(self, delete: DeleteFile) -> dict[str, Positions]:
        with errors_named(delete.path):
            found = read_position_deletes(self._io, delete.path, delete.format)
        return {path: _ascending(positions) for path, positions in found.items()}

    def _read_vector(self, delete: DeleteFile) -> Positions:
        with errors_named(delete.path):
            return _ascending(read_vector(self._io, delete.path, delete.offset, delete.length))

    def _read_keys(self, deletes: tuple[DeleteFile, ...]) -> pa.Table:
        columns = Schema(*(self._column(id_) for id_ in deletes[0].equality_ids))
        projection = Projection(columns, {})
        tables = [rows for delete in deletes for _, rows in read_rows(
            self._io, delete.path, delete.format, projection)]
        found = pa.concat_tables(tables) if tables else projection.arrow.empty_table()
        return found.rename_columns([f"k{i}" for i in range(found.num_columns)])


def _ascending(positions: BitMap64) -> Positions:
    return np.asarray(positions.to_array(), dtype=np.int64)


def matching(
    connection: duckdb.DuckDBPyConnection, rows: pa.Table, columns: Sequence[str], keys: pa.Table
) -> pa.Array:
    """Which rows (booleans) hold one of the keys in these columns; null matches null."""
    picked = pa.table({f"c{i}": rows.column(name) for i, name in enumerate(columns)})
    picked = picked.append_column("spot", pa.array(np.arange(rows.num_rows)))
    connection.register("delete_rows", picked)
    connection.register("delete_keys", keys)
    hits = connection.sql(matching_sql(len(columns))).to_arrow_table().column("spot").to_numpy()
    connection.unregister("delete_rows")
    connection.unregister("delete_keys")
    mask = np.zeros(rows.num_rows, np.bool_)
    mask[hits] = True
    return mask


def matching_sql(columns: int) -> str:
    same = " AND ".join(f"delete_rows.c{i} IS NOT DISTINCT FROM delete_keys.k{i}"
                        for i in range(columns))
    return f"SELECT delete_rows.spot FROM delete_rows SEMI JOIN delete_keys ON {same}"
