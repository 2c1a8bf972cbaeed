"""Plain Parquet files on local disk, read by DuckDB itself: hashes and rows without a detour.

A file is plain when its columns are what the schema asks for, by field id, name and type. Anything
else is read the general way (kernels/row_reader.py), with the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from meltline.expressions.quoting import quote_identifier, quote_list
from meltline.kernels.projection import field_id
from meltline.kernels.row_hash import row_hash_sql
from meltline.kernels.storage import Storage
from meltline.model.content import DataFile

_GLOBS = "*?["
_SIMPLE = ("boolean", "int", "long", "float", "double", "string", "binary", "date", "timestamp",
           "timestamptz")


class ParquetScan:
    """Inside one task, for one schema."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, io: Storage, schema: Schema
    ) -> None:
        self._connection = connection
        self._io = io
        self._schema = schema
        self.arrow: pa.Schema = schema_to_pyarrow(schema, include_field_ids=True)
        self._simple = all(str(field.field_type) in _SIMPLE
                           or str(field.field_type).startswith("decimal")
                           for field in schema.fields)
        self._known: dict[bytes, bool] = {}
        self._paths: dict[str, str | None] = {}

    def is_plain(self, file: DataFile) -> bool:
        return self._path(file) is not None

    def key_hashes(self, file: DataFile, keys: Sequence[NestedField]) -> pa.Table:
        """k1, k2 over the key columns, h1, h2 over all, and `pos`, of every row of a plain file."""
        key, row = row_hash_sql(keys), row_hash_sql(self._schema.fields)
        return self._connection.sql(
            f"SELECT {key[0]} AS k1, {key[1]} AS k2, {row[0]} AS h1, {row[1]} AS h2, "
            f"file_row_number AS pos FROM {self._relation([file])}").to_arrow_table()

    def hashes(self, files: Sequence[DataFile], signs: Mapping[str, int]) -> pa.Table:
        """h1, h2, sign, `file` by its index, and `pos`, of every row of plain files."""
        first, second = row_hash_sql(self._schema.fields)
        cases = " ".join(f"WHEN {i} THEN {signs[file.path]}" for i, file in enumerate(files))
        return self._connection.sql(
            f"SELECT {first} AS h1, {second} AS h2, "
            f"(CASE file_index {cases} END)::TINYINT AS sign, file_index::INTEGER AS file, "
            f"file_row_number AS pos FROM {self._relation(files)}").to_arrow_table()

    def fetch(self, files: Sequence[DataFile], wanted: pa.Table) -> pa.Table:
        """The rows that `wanted` (file, pos) names, with these two columns behind their own."""
        names = ", ".join(f"s.{quote_identifier(field.name)}" for field in self._schema.fields)
        self._connection.register("wanted_rows", wanted)
        found = self._connection.sql(
            f"SELECT {names}, w.file AS meltline_file, w.pos AS meltline_pos "
            f"FROM {self._relation(files)} s JOIN wanted_rows w "
            f"ON s.file_index = w.file AND s.file_row_number = w.pos "
            f"ORDER BY w.file, w.pos").to_arrow_table()
        self._connection.unregister("wanted_rows")
        fields = [*self.arrow, pa.field("file", pa.int32()), pa.field("pos", pa.int64())]
        return found.rename_columns([field.name for field in fields]).cast(pa.schema(fields))

    def _relation(self, files: Sequence[DataFile]) -> str:
        paths = [path for file in files if (path := self._path(file)) is not None]
        return f"read_parquet({quote_list(paths)}, hive_partitioning = false)"

    def _path(self, file: DataFile) -> str | None:
        if file.path not in self._paths:
            self._paths[file.path] = self._local(file) if self._simple else None
        return self._paths[file.path]

    def _local(self, file: DataFile) -> str | None:
        scheme, _, path = self._io.parse_location(file.path)
        if file.format != "parquet" or scheme != "file" or any(c in path for c in _GLOBS):
            return None
        try:
            columns = pq.read_schema(path)
        except (OSError, pa.ArrowException):
            return None  # the general way says what is wrong with it
        key = columns.serialize().to_pybytes()
        if key not in self._known:
            self._known[key] = self._fits(columns)
        return path if self._known[key] else None

    def _fits(self, columns: pa.Schema) -> bool:
        lower = [name.lower() for name in columns.names]
        if len(set(lower)) < len(lower):
            return False  # names differ in their case alone: DuckDB takes them for the same
        known = {field_id(field): field for field in columns}
        return all(field_id(want) in known and _same(known[field_id(want)], want)
                   for want in self.arrow)


def _same(found: pa.Field, want: pa.Field) -> bool:
    return bool(found.name == want.name and _wide(found.type) == _wide(want.type))


def _wide(type_: pa.DataType) -> Any:
    if pa.types.is_string(type_):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(type_) else type_
