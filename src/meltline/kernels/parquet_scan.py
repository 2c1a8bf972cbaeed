"""Plain Parquet files, read by DuckDB itself from local disk: hashes and rows without a detour.

A file is plain when its columns are what the schema asks for, by field id, name and type. Anything
else is read the general way (kernels/row_reader.py), with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from meltline.expressions.quoting import quote_identifier, quote_list
from meltline.kernels.arrow_schema import arrow_schema, field_id
from meltline.kernels.parquet_footer import read_footer, schema_part
from meltline.kernels.row_hash import key_hashes_sql, row_hash_sql
from meltline.kernels.row_reader import errors_named
from meltline.kernels.staging import Staging
from meltline.kernels.storage import Storage
from meltline.model.content import DataFile
from meltline.model.lineage import LINEAGE

MASK_ROWS = 1 << 22
"""Up to this place in their files, rows are told from others by a bit each."""
_VIRTUAL = ("file_index", "file_row_number", "filename")
_GLOBS = "*?["
_SIMPLE = ("boolean", "int", "long", "float", "double", "string", "binary", "date", "timestamp",
           "timestamptz")


@dataclass(frozen=True)
class Plain:
    """Where DuckDB finds the file, and whether it holds the columns of row lineage."""

    path: str
    lineage: bool


class ParquetScan:
    """Inside one task, for one schema."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, io: Storage, schema: Schema
    ) -> None:
        self._connection = connection
        self._io = io
        self._staging = Staging(io)
        self._schema = schema
        self.arrow: pa.Schema = arrow_schema(schema)
        self._simple = all(str(field.field_type) in _SIMPLE
                           or str(field.field_type).startswith("decimal")
                           for field in schema.fields)
        self._known: dict[bytes, tuple[bool, bool]] = {}
        self._found: dict[str, Plain | None] = {}

    def close(self) -> None:
        """Removes the copies of remote files."""
        self._staging.close()

    def find(self, file: DataFile) -> Plain | None:
        """None when the file is not plain. A remote file is fetched to find out."""
        if file.path not in self._found:
            self._found[file.path] = self._local(file) if self._simple else None
        return self._found[file.path]

    def is_plain(self, file: DataFile) -> bool:
        return self.find(file) is not None

    def is_near(self, file: DataFile) -> bool:
        """Whether it lies on local disk, or a copy of it."""
        return file.path in self._found or self._io.parse_location(file.path)[0] == "file"

    @contextmanager
    def naming(self, files: Sequence[DataFile]) -> Iterator[None]:
        """Around work on plain files. What DuckDB says does not tell which one of them is broken,
        so they are looked at one by one."""
        try:
            yield
        except duckdb.OutOfMemoryException:
            raise
        except (duckdb.Error, pa.ArrowException, OSError):
            for file in files:
                found = self.find(file)
                if found is not None:
                    with errors_named(file.path), pq.ParquetFile(found.path) as opened:
                        for _ in opened.iter_batches():
                            pass
            raise

    def key_hashes(
        self, files: Sequence[DataFile], keys: Sequence[NestedField], rows: int
    ) -> Iterator[pa.Table]:
        """k1, k2 over the key columns, h1, h2 over all, `file` by its index, and `pos`, of every
        row of plain files, about so many `rows` at a time."""
        sql = (f"SELECT {key_hashes_sql(keys, self._schema.fields)}, "
               f"file_index::INTEGER AS file, file_row_number AS pos FROM {self.relation(files)}")
        # a cursor of its own: whoever takes the hashes may ask other things in between
        with self.naming(files), self._connection.cursor() as cursor:
            for batch in cursor.sql(sql).to_arrow_reader(rows):
                yield pa.Table.from_batches([batch])

    def hashes(self, files: Sequence[DataFile], signs: Mapping[str, int]) -> pa.Table:
        """h1, h2, sign, `file` by its index, and `pos`, of every row of plain files."""
        first, second = row_hash_sql(self._schema.fields)
        cases = " ".join(f"WHEN {i} THEN {signs[file.path]}" for i, file in enumerate(files))
        with self.naming(files):
            return self._connection.sql(
                f"SELECT {first} AS h1, {second} AS h2, "
                f"(CASE file_index {cases} END)::TINYINT AS sign, file_index::INTEGER AS file, "
                f"file_row_number AS pos FROM {self.relation(files)}").to_arrow_table()

    def fetch(self, files: Sequence[DataFile], wanted: pa.Table) -> pa.Table:
        """The rows that `wanted` (file, pos) names, with these two columns behind their own."""
        names = ", ".join(f"s.{quote_identifier(field.name)}" for field in self._schema.fields)
        self._connection.register("wanted_rows", wanted)
        with self.naming(files):
            found = self._connection.sql(
                f"SELECT {names}, w.file AS meltline_file, w.pos AS meltline_pos FROM "
                f"(SELECT *, file_index, file_row_number FROM {self.relation(files)}"
                f"{self._mask(wanted)}) s JOIN wanted_rows w "
                f"ON s.file_index = w.file AND s.file_row_number = w.pos "
                f"ORDER BY w.file, w.pos").to_arrow_table()
        self._connection.unregister("wanted_rows")
        fields = [*self.arrow, pa.field("file", pa.int32()), pa.field("pos", pa.int64())]
        return found.rename_columns([field.name for field in fields]).cast(pa.schema(fields))

    def _mask(self, wanted: pa.Table) -> str:
        """SQL: a condition on the place of a row, whatever its file. A join alone comes too late:
        it gets every row decoded. Empty where it would leave most of them."""
        places = wanted.column("pos").to_numpy()
        last = int(places.max(initial=0))
        if last > MASK_ROWS or 2 * len(places) > last:
            return ""
        mask = np.zeros(last + 1, np.uint8)
        mask[places] = 1
        text = (mask + ord("0")).tobytes().decode()
        return (f" WHERE CASE WHEN file_row_number <= {last} "
                f"THEN get_bit('{text}'::BIT, file_row_number::INTEGER) = 1 ELSE FALSE END")

    def relation(self, files: Sequence[DataFile]) -> str:
        """Of plain files; `file_index` is the place of a file among them."""
        paths = [found.path for file in files if (found := self.find(file)) is not None]
        return f"read_parquet({quote_list(paths)}, hive_partitioning = false)"

    def _local(self, file: DataFile) -> Plain | None:
        scheme, _, path = self._io.parse_location(file.path)
        if file.format != "parquet":
            return None
        try:
            path = path if scheme == "file" else self._staging.fetch(file.path)
            if any(c in path for c in _GLOBS):
                return None
            fits, lineage = self._look_at(path)
        except (OSError, ValueError, IndexError, pa.ArrowException):
            return None  # the general way says what is wrong with it
        return Plain(path, lineage) if fits else None

    def _look_at(self, path: str) -> tuple[bool, bool]:
        """Whether the columns fit, and are those of row lineage among them. Most files of a table
        are alike: to compare bytes is ten times as fast as to read a schema."""
        footer = read_footer(path)
        for part, answer in self._known.items():
            if footer.startswith(part):
                return answer
        columns = pq.read_schema(path)
        found = self._known[schema_part(footer)] = self._fits(columns), _has_lineage(columns)
        return found

    def _fits(self, columns: pa.Schema) -> bool:
        lower = [name.lower() for name in columns.names]
        if len(set(lower)) < len(lower) or set(lower) & set(_VIRTUAL):
            return False  # DuckDB takes names that differ in their case alone for the same
        known = {field_id(field): field for field in columns}
        if any(one.field_id in known and known[one.field_id].name != one.name for one in LINEAGE):
            return False
        return all(field_id(want) in known and _same(known[field_id(want)], want)
                   for want in self.arrow)


def _has_lineage(columns: pa.Schema) -> bool:
    return {one.field_id for one in LINEAGE} <= {field_id(field) for field in columns}


def _same(found: pa.Field, want: pa.Field) -> bool:
    return bool(found.name == want.name and _wide(found.type) == _wide(want.type))


def _wide(type_: pa.DataType) -> Any:
    if pa.types.is_string(type_):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(type_) else type_
