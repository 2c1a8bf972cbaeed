"""Pairs of files that hold the same rows in the same places, but for what was changed in them.

Who rewrites a file to change some of its rows mostly keeps their order. Rows are then compared with
what stands in their place, and that only in columns whose bytes differ: nothing is hashed. Equal
rows in equal places cancel whatever else there is, so a pair may be taken for twins by mistake and
the result is still right.
"""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.types import NestedField

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.row_hash import differs_sql
from meltline.model.content import DataFile

Pair = tuple[DataFile, DataFile]
"""A file that is gone and one that came in its place."""
_NO_ROWS = pa.table({"file": pa.array([], pa.int32()), "pos": pa.array([], pa.int64())})


class TwinScan:
    """Inside one task. Files must be plain (see ParquetScan)."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, scan: ParquetScan,
        fields: Sequence[NestedField], keys: Sequence[NestedField],
    ) -> None:
        self._connection = connection
        self._scan = scan
        self._fields = {field.name: field for field in fields}
        self._keys = [field.name for field in keys]

    def changed(self, pairs: Sequence[Pair]) -> tuple[set[int], pa.Table]:
        """Which pairs are twins (by index), and the rows that differ in them: `file`, the index of
        their pair, and `pos`. Twins have the same key, never null, in every place."""
        by_columns: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for index, pair in enumerate(pairs):
            columns = self._unequal(pair)
            if columns is not None:
                by_columns[columns].append(index)
        twins: set[int] = set()
        found = []
        for columns, members in by_columns.items():
            alike = self._aligned(pairs, members, [key for key in self._keys if key in columns])
            twins.update(alike)
            rest = [name for name in columns if name not in self._keys]
            if alike and rest:
                found.append(self._differing(pairs, alike, rest))
        return twins, pa.concat_tables(found) if found else _NO_ROWS

    def _unequal(self, pair: Pair) -> tuple[str, ...] | None:
        """Columns in which the files differ, by their bytes. None: they cannot be twins."""
        old, new = (self._scan.find(file) for file in pair)
        if old is None or new is None:
            return None
        return unequal_columns(old.path, new.path, list(self._fields), self._keys)

    def _aligned(
        self, pairs: Sequence[Pair], members: Sequence[int], keys: Sequence[str]
    ) -> list[int]:
        if not keys:
            return list(members)
        unlike = self._compare(pairs, members, "DISTINCT o.file_index AS file",
                               [self._fields[name] for name in keys])
        wrong = set(unlike.column("file").to_pylist())
        return [index for place, index in enumerate(members) if place not in wrong]

    def _differing(
        self, pairs: Sequence[Pair], members: Sequence[int], columns: Sequence[str]
    ) -> pa.Table:
        found = self._compare(pairs, members, "o.file_index AS file, o.file_row_number AS pos",
                              [self._fields[name] for name in columns])
        owners = pa.array(members, pa.int32()).take(found.column("file").combine_chunks())
        return pa.table({"file": owners, "pos": found.column("pos").cast(pa.int64())})

    def _compare(
        self, pairs: Sequence[Pair], members: Sequence[int], result: str,
        fields: Sequence[NestedField],
    ) -> pa.Table:
        old = self._scan.relation([pairs[index][0] for index in members])
        new = self._scan.relation([pairs[index][1] for index in members])
        return self._connection.sql(compare_sql(result, old, new, fields)).to_arrow_table()


def compare_sql(result: str, old: str, new: str, fields: Sequence[NestedField]) -> str:
    """Places in which two relations of the same length differ in one of the columns."""
    names = [quote_identifier(field.name) for field in fields]
    differ = " OR ".join(differs_sql(f"o.{name}", f"n.{name}", field)
                         for name, field in zip(names, fields, strict=True))
    return f"SELECT {result} FROM {old} o POSITIONAL JOIN {new} n WHERE {differ}"


def unequal_columns(
    old: str, new: str, columns: Sequence[str], keys: Sequence[str]
) -> tuple[str, ...] | None:
    """Columns whose chunks are not the same bytes; None when the footers tell that the files are
    no twins, or that a key may be null."""
    before, after = _Footer(old), _Footer(new)
    if before.count != after.count or before.has_nulls(keys) or after.has_nulls(keys):
        return None
    with before.mapped() as old_bytes, after.mapped() as new_bytes:
        return tuple(name for name in columns if before.kind(name) != after.kind(name) or any(
            old_bytes[a] != new_bytes[b] for a, b in zip(
                before.spans(name), after.spans(name), strict=True)))


class _Footer:
    """What is in a Parquet file, and where."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._data = pq.read_metadata(path)
        self._places = {self._data.schema.column(place).path: place
                        for place in range(self._data.num_columns)}
        self.count: int = self._data.num_rows

    def kind(self, name: str) -> tuple[object, ...]:
        """Chunks of the same kind and the same bytes hold the same values."""
        level = self._data.schema.column(self._places[name]).max_definition_level
        return level, *((chunk.num_values, chunk.physical_type, chunk.compression,
                         chunk.total_compressed_size) for chunk in self._chunks(name))

    def spans(self, name: str) -> list[slice]:
        starts = [min(chunk.data_page_offset, chunk.dictionary_page_offset or
                      chunk.data_page_offset) for chunk in self._chunks(name)]
        return [slice(start, start + chunk.total_compressed_size)
                for start, chunk in zip(starts, self._chunks(name), strict=True)]

    def has_nulls(self, columns: Sequence[str]) -> bool:
        """Or may have: not every writer counts them."""
        chunks = [chunk for name in columns for chunk in self._chunks(name)]
        return any(not chunk.is_stats_set or not chunk.statistics.has_null_count
                   or chunk.statistics.null_count for chunk in chunks)

    def mapped(self) -> mmap.mmap:
        with Path(self._path).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def _chunks(self, name: str) -> list[Any]:
        return [self._data.row_group(group).column(self._places[name])
                for group in range(self._data.num_row_groups)]
