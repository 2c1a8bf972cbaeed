"""Parquet: typed events, one struct per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meltline.codecs.records import Records, Unreadable

BATCH_ROWS = 1 << 16
_VIEW = "meltline_parquet_columns"


def read_parquet(
    file: pa.NativeFile, con: duckdb.DuckDBPyConnection, *, start: int, end: int
) -> Iterator[tuple[Mapping[str, str], Records]]:
    """Rows with their columns' DuckDB types, of the row groups whose middle is in [start, end).

    Cutting a file anywhere gives every row group to exactly one range, and every row the same
    number. Raises Unreadable for what is not Parquet or has columns DuckDB cannot take.
    """
    try:
        content = pq.ParquetFile(file, pre_buffer=True)
        groups, firsts = _row_groups(content.metadata, start, end)
        schema = _readable_schema(content.schema_arrow, con)
        types = duckdb_types(schema, con)
        for group, first in zip(groups, firsts, strict=True):
            for batch in content.iter_batches(BATCH_ROWS, row_groups=[group]):
                table = pa.Table.from_batches([batch]).cast(schema).combine_chunks()
                rows = table.to_struct_array().combine_chunks()
                place = np.arange(first, first + len(rows), dtype=np.int64)
                yield types, Records(rows, place, place + 1)
                first += len(rows)
    except pa.ArrowException as error:
        raise Unreadable(f"not readable as Parquet ({error})") from error
    except OSError as error:
        # damage is an OSError too, without the number that one from the system has
        if error.errno is None and "AWS Error" not in str(error):
            raise Unreadable(f"not readable as Parquet ({error})") from error
        raise


def duckdb_types(schema: pa.Schema, con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Column names and DuckDB types of an Arrow schema, in order."""
    con.register(_VIEW, schema.empty_table())
    try:
        described = con.sql(f"DESCRIBE SELECT * FROM {_VIEW}").fetchall()
    finally:
        con.unregister(_VIEW)
    return {name: type_ for name, type_, *_ in described}


def _row_groups(metadata: pq.FileMetaData, start: int, end: int) -> tuple[list[int], list[int]]:
    """The row groups of a range, and the number of the first row of each."""
    groups, firsts = [], []
    rows = 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        if start <= _middle(group) < end:
            groups.append(index)
            firsts.append(rows)
        rows += group.num_rows
    return groups, firsts


def _middle(group: pq.RowGroupMetaData) -> int:
    begins = [
        offset
        for column in (group.column(index) for index in range(group.num_columns))
        for offset in (column.dictionary_page_offset, column.data_page_offset)
        if offset
    ]
    sizes = sum(group.column(index).total_compressed_size for index in range(group.num_columns))
    return int(min(begins, default=0) + sizes // 2)


def _readable_schema(schema: pa.Schema, con: duckdb.DuckDBPyConnection) -> pa.Schema:
    """The schema to read with: types DuckDB does not know become the nearest it does."""
    names = [name.lower() for name in schema.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Unreadable(f"columns must differ in more than upper and lower case: {twice}")
    fields = [field.with_type(_readable_type(field, con)) for field in schema.remove_metadata()]
    return pa.schema(fields)


def _readable_type(field: pa.Field, con: duckdb.DuckDBPyConnection) -> pa.DataType:
    if pa.types.is_dictionary(field.type):
        return field.type.value_type
    if pa.types.is_float16(field.type):
        return pa.float32()
    if pa.types.is_decimal256(field.type):
        return pa.string()  # DuckDB's decimals end at 38 digits
    try:
        duckdb_types(pa.schema([field]), con)
    except duckdb.Error as error:
        raise Unreadable(f'column "{field.name}" has the type {field.type}: {error}') from error
    return field.type
