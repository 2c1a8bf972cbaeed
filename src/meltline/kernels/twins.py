"""Files that hold the same rows in the same places, but for what was changed in them.

Who rewrites files to change some of their rows mostly keeps their order. Rows are then compared
with what stands in their place, and that only in columns whose bytes differ: nothing is hashed.
Equal rows in equal places cancel whatever else there is, so files may be taken for twins by mistake
and the result is still right.
"""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
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

ROWS_AT_HAND = 250_000
"""The most new rows that one call takes along."""
BATCH_ROWS = 1 << 14
_PLACES = ("file", "pos", "old_file", "old_pos")
_RESULT = ("n.file_index AS file, n.file_row_number AS pos, "
           "o.file_index AS old_file, o.file_row_number AS old_pos")


@dataclass(frozen=True)
class Twins:
    """Files that are gone, and one that may hold their rows in their order."""

    old: tuple[DataFile, ...]
    new: DataFile


@dataclass(frozen=True)
class Differing:
    """Rows that differ. `places`: `file`, the index of the new file, and `pos`; `old_file`, an
    index into all the old files, and `old_pos`. `rows` are the new ones where they were at hand."""

    places: pa.Table
    rows: pa.Table | None = None

    def filter(self, mask: pa.ChunkedArray) -> Differing:
        rows = None if self.rows is None else self.rows.filter(mask)
        return Differing(self.places.filter(mask), rows)


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

    def changed(self, twins: Sequence[Twins]) -> tuple[set[int], list[Differing]]:
        """Which ones are twins indeed (by index), and the rows that differ in them. Twins have the
        same key, never null, in every place."""
        by_columns: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for index, one in enumerate(twins):
            columns = self._unequal(one)
            if columns is not None:
                by_columns[columns].append(index)
        real: set[int] = set()
        found: list[Differing] = []
        room = ROWS_AT_HAND
        for columns, members in by_columns.items():
            alike = self._aligned(twins, members, [key for key in self._keys if key in columns])
            real.update(alike)
            rest = [name for name in columns if name not in self._keys]
            if alike and rest:
                differing = self._differing(twins, alike, rest, room)
                room -= 0 if differing.rows is None else differing.places.num_rows
                found.append(differing)
        return real, found

    def _unequal(self, twins: Twins) -> tuple[str, ...] | None:
        """Columns in which the files differ, by their bytes. None: they cannot be twins."""
        paths = [found.path for file in twins.old if (found := self._scan.find(file))]
        new = self._scan.find(twins.new)
        if new is None or len(paths) < len(twins.old):
            return None
        return unequal_columns(paths, new.path, list(self._fields), self._keys)

    def _aligned(
        self, twins: Sequence[Twins], members: Sequence[int], keys: Sequence[str]
    ) -> list[int]:
        if not keys:
            return list(members)
        unlike = self._compare(twins, members, "DISTINCT n.file_index AS file", keys)
        wrong = {file for (file,) in unlike.fetchall()}
        return [index for place, index in enumerate(members) if place not in wrong]

    def _differing(
        self, twins: Sequence[Twins], members: Sequence[int], columns: Sequence[str], room: int
    ) -> Differing:
        """With the new rows where half of the columns are read anyway, if they are at most `room`:
        to read them again would cost more."""
        found = None
        if room > 0 and 2 * len(columns) >= len(self._fields):
            names = "".join(f", n.{quote_identifier(name)}" for name in self._fields)
            found = self._few(self._compare(twins, members, _RESULT + names, columns), room)
        if found is None:
            found = self._compare(twins, members, _RESULT, columns).to_arrow_table()
        rows = found.select(list(range(len(_PLACES), found.num_columns)))
        firsts = [0, *accumulate(len(one.old) for one in twins)]
        old = [firsts[index] + place for index in members
               for place in range(len(twins[index].old))]
        return Differing(pa.table([
            pa.array(members, pa.int64()).take(found.column(0).combine_chunks()),
            found.column(1).cast(pa.int64()),
            pa.array(old, pa.int64()).take(found.column(2).combine_chunks()),
            found.column(3).cast(pa.int64())], names=_PLACES),
            rows.rename_columns(list(self._fields)).cast(self._scan.arrow)
            if rows.num_columns else None)

    def _few(self, relation: duckdb.DuckDBPyRelation, most: int) -> pa.Table | None:
        """None when there are more rows: they are not held all at once."""
        with relation.to_arrow_reader(BATCH_ROWS) as reader:
            batches: list[pa.RecordBatch] = []
            for batch in reader:
                batches.append(batch)
                most -= batch.num_rows
                if most < 0:
                    return None
            return pa.Table.from_batches(batches, reader.schema)

    def _compare(
        self, twins: Sequence[Twins], members: Sequence[int], result: str, columns: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        old = self._scan.relation([file for index in members for file in twins[index].old])
        new = self._scan.relation([twins[index].new for index in members])
        fields = [self._fields[name] for name in columns]
        return self._connection.sql(compare_sql(result, old, new, fields))


def compare_sql(result: str, old: str, new: str, fields: Sequence[NestedField]) -> str:
    """Places in which two relations of the same length differ in one of the columns."""
    names = [quote_identifier(field.name) for field in fields]
    differ = " OR ".join(differs_sql(f"o.{name}", f"n.{name}", field)
                         for name, field in zip(names, fields, strict=True))
    return f"SELECT {result} FROM {old} o POSITIONAL JOIN {new} n WHERE {differ}"


def unequal_columns(
    old: Sequence[str], new: str, columns: Sequence[str], keys: Sequence[str]
) -> tuple[str, ...] | None:
    """Columns whose chunks are not the same bytes; None when the footers tell that the files are
    no twins, or that a key may be null."""
    if any("." in name for name in keys):
        return None  # a footer names a column as it does one inside of a struct
    before, after = [_Footer(path) for path in old], _Footer(new)
    if sum(one.count for one in before) != after.count or any(
            one.has_nulls(keys) for one in (*before, after)):
        return None
    if len(before) > 1 or any("." in name for name in columns):
        return tuple(columns)
    with before[0].mapped() as old_bytes, after.mapped() as new_bytes:
        return tuple(name for name in columns
                     if not _same(before[0], after, name, old_bytes, new_bytes))


def _same(before: _Footer, after: _Footer, name: str, old: mmap.mmap, new: mmap.mmap) -> bool:
    """Chunks of the same kind and the same bytes hold the same values."""
    pairs = list(zip(before.chunks(name), after.chunks(name), strict=False))
    return (before.level(name) == after.level(name)
            and len(pairs) == before.groups == after.groups
            and all(a.total_compressed_size == b.total_compressed_size for a, b in pairs)
            and all(_kind(a) == _kind(b) and old[_span(a)] == new[_span(b)] for a, b in pairs))


def _kind(chunk: Any) -> tuple[object, ...]:
    return chunk.num_values, chunk.physical_type, chunk.compression


def _span(chunk: Any) -> slice:
    pages = chunk.data_page_offset
    start = min(pages, chunk.dictionary_page_offset or pages)
    return slice(start, start + chunk.total_compressed_size)


class _Footer:
    """What is in a Parquet file, and where."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._data = pq.read_metadata(path)
        self._columns = [self._data.schema.column(place) for place in range(self._data.num_columns)]
        self._places = {column.path: place for place, column in enumerate(self._columns)}
        self._groups = [self._data.row_group(group) for group in range(self._data.num_row_groups)]
        self.count: int = self._data.num_rows
        self.groups = len(self._groups)

    def level(self, name: str) -> int:
        level: int = self._columns[self._places[name]].max_definition_level
        return level

    def chunks(self, name: str) -> list[Any]:
        return [group.column(self._places[name]) for group in self._groups]

    def has_nulls(self, columns: Sequence[str]) -> bool:
        """Or may have: not every writer counts them."""
        chunks = [chunk for name in columns for chunk in self.chunks(name)]
        return any(not chunk.is_stats_set or not chunk.statistics.has_null_count
                   or chunk.statistics.null_count for chunk in chunks)

    def mapped(self) -> mmap.mmap:
        with Path(self._path).open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
