"""Rows of one data file, with their positions, in the columns that a schema asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import ListType, MapType, NestedField, StructType

from meltline.errors import PositionLost, Retryable, RunError
from meltline.kernels.projection import Projection

BATCH_ROWS = 1 << 17
Positions = NDArray[np.int64]
Rows = Iterator[tuple[Positions, pa.Table]]


def read_rows(
    io: FileIO, path: str, format_: str, projection: Projection,
    constants: Mapping[int, Any] | None = None, only: Positions | None = None,
) -> Rows:
    """Rows with their positions in the file. `only` (ascending) asks for some rows alone."""
    with _errors_named(path), io.new_input(path).open() as stream:
        if format_ == "parquet":
            yield from _parquet(stream, projection, constants or {}, only)
        elif format_ == "orc":
            yield from _orc(stream, projection, constants or {}, only)
        elif format_ == "avro":
            yield from _avro(io, path, projection, constants or {}, only)
        else:
            raise RunError(f"{path}: files of the format {format_} cannot be read")


def _parquet(
    stream: Any, projection: Projection, constants: Mapping[int, Any], only: Positions | None
) -> Rows:
    with pq.ParquetFile(stream, pre_buffer=True) as file:
        names = _names(projection, file.schema_arrow)
        first = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            wanted = None if only is None else _within(only, first, first + count)
            if wanted is None or len(wanted):
                at = first
                for batch in file.iter_batches(
                        BATCH_ROWS, row_groups=[group], columns=names, use_threads=False):
                    yield from _chosen(projection, batch, at, wanted, constants)
                    at += batch.num_rows
            first += count


def _orc(
    stream: Any, projection: Projection, constants: Mapping[int, Any], only: Positions | None
) -> Rows:
    file = orc.ORCFile(stream)
    names = _names(projection, file.schema)
    first = 0
    for stripe in range(file.nstripes):
        batch = file.read_stripe(stripe, columns=names)
        wanted = None if only is None else _within(only, first, first + batch.num_rows)
        yield from _chosen(projection, batch, first, wanted, constants)
        first += batch.num_rows


def _avro(
    io: FileIO, path: str, projection: Projection, constants: Mapping[int, Any],
    only: Positions | None,
) -> Rows:
    """Row by row: Avro data files are rare, and nothing reads them in columns."""
    with _avro_types(path), AvroFile[Record](io.new_input(path)) as file:
        schema = file.schema
        rows = [_plain(record, schema.as_struct()) for record in file]
    arrow: pa.Schema = schema_to_pyarrow(schema, include_field_ids=True)
    table = pa.Table.from_pylist(rows, schema=arrow)
    first = 0
    for batch in table.to_batches(BATCH_ROWS):
        wanted = None if only is None else _within(only, first, first + batch.num_rows)
        yield from _chosen(projection, batch, first, wanted, constants)
        first += batch.num_rows


def _plain(value: Any, type_: Any) -> Any:
    if value is None:
        return None
    if isinstance(type_, StructType):
        return {one.name: _plain(value[i], one.field_type) for i, one in enumerate(type_.fields)}
    if isinstance(type_, ListType):
        return [_plain(item, type_.element_type) for item in value]
    if isinstance(type_, MapType):
        return [(_plain(k, type_.key_type), _plain(v, type_.value_type))
                for k, v in value.items()]
    return value


def _names(projection: Projection, file: pa.Schema) -> list[str]:
    """Something must be read, or nobody knows how many rows there are."""
    return projection.columns(file) or file.names[:1]


def _chosen(
    projection: Projection, batch: pa.RecordBatch, first: int, wanted: Positions | None,
    constants: Mapping[int, Any],
) -> Rows:
    end = first + batch.num_rows
    if wanted is None:
        whole = projection.project(pa.Table.from_batches([batch]), constants)
        yield np.arange(first, end, dtype=np.int64), whole
        return
    here = _within(wanted, first, end)
    if len(here):
        picked = batch.take(pa.array(here - first))
        yield here, projection.project(pa.Table.from_batches([picked]), constants)


def _within(positions: Positions, start: int, end: int) -> Positions:
    low, high = np.searchsorted(positions, [start, end])
    return positions[low:high]


def schema_with(schema: Schema, *more: NestedField) -> Schema:
    """The schema and further columns behind its own; those it has already are not doubled."""
    fields = {one.field_id: one for one in (*more, *schema.fields)}
    own = {one.field_id for one in schema.fields}
    return Schema(*schema.fields, *(one for id_, one in fields.items() if id_ not in own))


@contextmanager
def _avro_types(path: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise RunError(f"{path} cannot be read: {error}",
                       hint="rewrite the table's files as Parquet (write.format.default, then "
                            "CALL system.rewrite_data_files)") from error


@contextmanager
def _errors_named(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise PositionLost(
            f"{path} is gone before it was read: its snapshot has expired",
            hint="set on_lost_position: re_export; protect_position: true keeps files that are "
                 "not read yet") from error
    except pa.ArrowException as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise Retryable(f"{path} cannot be read: {error}") from error
