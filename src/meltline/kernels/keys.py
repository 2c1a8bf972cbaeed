"""The keys to look up: the rows of key files, and what can be said of a file without reading it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema, prune_columns
from pyiceberg.types import IcebergType

from meltline.kernels.bounds import comparable, file_bounds, has_bounds, null_count
from meltline.kernels.column_path import column_at, column_path
from meltline.kernels.data_file import open_data_file
from meltline.kernels.projection import Projection
from meltline.model.live_file import LiveFile


class KeyColumns:
    """The identifier columns of a table, as plain columns named by their place."""

    def __init__(
        self, schema: Schema, ids: Sequence[int], properties: Mapping[str, str]
    ) -> None:
        self.schema = schema
        self.ids = tuple(ids)
        self.types: list[IcebergType] = [schema.find_type(id_) for id_ in ids]
        self.projection = Projection(prune_columns(schema, set(ids)), properties)
        self._paths = [column_path(schema, id_) for id_ in ids]

    def take(self, read: pa.Table, constants: Mapping[int, Any] | None = None) -> pa.Table:
        """The key of each row that was read of a file; dates and times as the numbers they are."""
        rows = self.projection.project(read, constants)
        return pa.Table.from_arrays([_plain(column_at(rows, path)) for path in self._paths],
                                    names=[f"k{place}" for place in range(len(self._paths))])


class Keys:
    """Distinct keys, in memory. `rows` has the columns of KeyColumns.take."""

    def __init__(self, columns: KeyColumns, rows: pa.Table) -> None:
        self.columns = columns
        self.rows = rows.group_by(rows.column_names).aggregate([]).combine_chunks()

    @classmethod
    def read(
        cls, io: FileIO, paths: Sequence[str], columns: KeyColumns, format_: str = "parquet"
    ) -> Keys:
        tables = []
        for path in paths:
            with open_data_file(io, path, format_) as file:
                needed = columns.projection.columns(file.schema)
                tables += [columns.take(piece) for _, piece in file.pieces(needed)]
        return cls(columns, pa.concat_tables(tables))

    def may_be_in(self, file: LiveFile) -> bool:
        """False when the file's bounds leave no room for any key, column by column."""
        return all(self._overlap(place, file_bounds(file.content, id_, type_),
                                 null_count(file.content, id_))
                   for place, (id_, type_)
                   in enumerate(zip(self.columns.ids, self.columns.types, strict=True)))

    def any_between(self, place: int, low: Any, high: Any) -> bool:
        """Whether a value of the key column lies in the closed interval."""
        values = self._sorted[place]
        if isinstance(values, np.ndarray):
            at = int(np.searchsorted(values, low))
        else:
            at = bisect_left(values, low)
        return at < len(values) and bool(values[at] <= high)

    def has_null(self, place: int) -> bool:
        return bool(self.rows.column(place).null_count)

    def _overlap(self, place: int, bounds: tuple[Any, Any] | None, nulls: int | None) -> bool:
        if bounds is None or (self.has_null(place) and nulls != 0):
            return True
        return self.any_between(place, *bounds)

    @cached_property
    def _sorted(self) -> list[Any]:
        return [_sorted(self.rows.column(place), type_) if has_bounds(type_) else []
                for place, type_ in enumerate(self.columns.types)]


def _plain(array: pa.Array) -> pa.Array:
    """DuckDB has no nanoseconds with a time zone."""
    if not pa.types.is_temporal(array.type):
        return array
    return array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())


def _sorted(column: pa.ChunkedArray, type_: IcebergType) -> Any:
    """Numbers as a NumPy array, anything else as a list of Python values."""
    array = comparable(pa.concat_arrays(column.chunks) if column.num_chunks else
                       pa.nulls(0, column.type), type_).drop_null()
    ordered = array.take(pc.sort_indices(array))
    return ordered.to_numpy() if pa.types.is_integer(ordered.type) else ordered.to_pylist()
