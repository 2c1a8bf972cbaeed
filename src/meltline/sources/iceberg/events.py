"""Changed rows as events: typed columns and the metadata that the RFC names."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.codecs.parquet import duckdb_types
from meltline.kernels.pairing import BEFORE, DELETE
from meltline.model.event import BAD, META, ORD, ROW, Shape
from meltline.model.table_view import TableView

METADATA = MappingProxyType({
    "iceberg_operation": "VARCHAR",
    "iceberg_table_name": "VARCHAR",
    "iceberg_snapshot_id": "BIGINT",
    "iceberg_sequence_number": "BIGINT",
    "iceberg_snapshot_timestamp": "TIMESTAMP WITH TIME ZONE",
    "document_id": "VARCHAR",
    "bulk_action": "VARCHAR",
})
CHUNK_ROWS = 1 << 16


def event_shape(connection: duckdb.DuckDBPyConnection, rows: pa.StructType) -> Shape:
    return Shape("typed", METADATA, duckdb_types(pa.schema(list(rows)), connection))


def to_events(
    shape: Shape, view: TableView, rows: pa.ChunkedArray, ids: pa.ChunkedArray | pa.Array,
    operations: pa.ChunkedArray | pa.Array, first: int = 0,
) -> Iterator[tuple[Shape, pa.Table]]:
    """Events in chunks, numbered from `first` on."""
    meta = _metadata(view, ids, operations, len(rows))
    table = pa.table({
        ROW: rows, META: meta, ORD: pa.array(range(first, first + len(rows)), pa.int64()),
        BAD: pa.nulls(len(rows), pa.string())})
    for start in range(0, table.num_rows, CHUNK_ROWS):
        yield shape, table.slice(start, CHUNK_ROWS)


def _metadata(
    view: TableView, ids: pa.ChunkedArray | pa.Array, operations: pa.ChunkedArray | pa.Array,
    count: int,
) -> pa.StructArray:
    operations = _one(operations)
    # a before-image is for those who ask for it: no action of an index
    actions = pc.if_else(pc.equal(operations, DELETE), "DELETE", "INDEX")
    actions = pc.if_else(pc.equal(operations, BEFORE), pa.scalar(None, pa.string()), actions)
    moment = pa.scalar(view.timestamp_ms * 1000, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    columns = [
        operations,
        pa.repeat(pa.scalar(view.table), count),
        pa.repeat(pa.scalar(view.snapshot_id, pa.int64()), count),
        pa.repeat(pa.scalar(view.sequence, pa.int64()), count),
        pa.repeat(moment, count),
        _one(ids),
        actions,
    ]
    return pa.StructArray.from_arrays(columns, names=list(METADATA))


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        combined = column.combine_chunks()
        return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
    return column
