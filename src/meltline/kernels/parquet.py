"""One Parquet file of an Iceberg table: field ids, metrics and offsets from its own footer."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType

from meltline.kernels.arrow_schema import variant_ids
from meltline.kernels.metrics import file_metrics
from meltline.kernels.metrics_modes import metrics_properties
from meltline.kernels.variant_stream import VariantStream
from meltline.kernels.write_settings import WriteSettings, write_settings

DATA: Mapping[str, Any] = {"content": "data"}
"""What a content file says of itself, beside what it holds."""


def equality_deletes(field_ids: Sequence[int]) -> Mapping[str, Any]:
    return {"content": "equality-deletes", "equality-ids": list(field_ids)}


@dataclass(frozen=True)
class ClosedParquet:
    path: str
    record_count: int
    size: int
    content: str


class ParquetFile:
    """Written row group by row group, then closed once. Nothing is read back."""

    def __init__(
        self, io: FileIO, path: str, schema: Schema, arrow_schema: pa.Schema,
        properties: Mapping[str, str], content: Mapping[str, Any] = DATA,
        order_id: int | None = None, searched: Collection[int] = (),
    ) -> None:
        """`order_id` names the sort order of the rows of each row group, `searched` the columns
        that have metrics even in a wide table."""
        self.path = path
        self._kind = dict(content)
        self._order_id = order_id
        self._schema = schema
        self._properties = metrics_properties(schema, properties, searched)
        self._stream = VariantStream(io.new_output(path).create(overwrite=True),
                                     variant_ids(schema))
        self._footers: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._stream.sink, arrow_schema, metadata_collector=self._footers,
            store_decimal_as_integer=True,
            # Arrow's own types are ours alone: a reader that believes them may know fewer of them
            store_schema=False,
            **_writer_options(write_settings(properties, content != DATA), arrow_schema))
        self._nans = {field.field_id: 0 for field in schema.fields
                      if isinstance(field.field_type, FloatType | DoubleType)}

    def write(self, rows: pa.Table) -> int:
        """Append one row group; returns the bytes in the file so far."""
        for id_ in self._nans:
            column = rows.column(self._schema.find_column_name(id_))
            self._nans[id_] += pc.sum(pc.is_nan(column)).as_py() or 0
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        return int(self._stream.tell())

    def close(self, spec_id: int, partition: list[Any]) -> ClosedParquet:
        with self._stream.marked():
            self._writer.close()
        size = int(self._stream.tell())
        self._stream.close()
        footer = self._footers[0]
        content = self._content(footer, size, spec_id, partition)
        return ClosedParquet(self.path, footer.num_rows, size, json.dumps(content))

    def abandon(self) -> None:
        """Close without a report: the file stays behind as an orphan that nothing refers to."""
        # what made the task fail must not be hidden by what fails because of it
        with suppress(OSError, RuntimeError, pa.ArrowException):
            self._writer.close()
        with suppress(OSError, RuntimeError, pa.ArrowException):
            self._stream.close()

    def _sorted(self, footer: pq.FileMetaData) -> dict[str, Any]:
        """Row groups are sorted one by one: only of a single one is the file known to be sorted."""
        if self._order_id is None or footer.num_row_groups > 1:
            return {}
        return {"sort-order-id": self._order_id}

    def _content(
        self, footer: pq.FileMetaData, size: int, spec_id: int, partition: list[Any]
    ) -> dict[str, Any]:
        return {
            **self._kind, "spec-id": spec_id, "partition": partition,
            "file-path": self.path, "file-format": "parquet",
            "file-size-in-bytes": size, "record-count": footer.num_rows, **self._sorted(footer),
            **file_metrics(footer, self._schema, self._properties, self._nans),
        }


def _dictionary_columns(schema: pa.Schema, wanted: Mapping[str, bool]) -> list[str] | bool:
    """Text repeats itself; for numbers a dictionary costs more time and space than it saves."""
    named = [f.name for f in schema
             if wanted.get(f.name, pa.types.is_large_string(f.type))]
    return named or False


def _writer_options(settings: WriteSettings, schema: pa.Schema) -> dict[str, Any]:
    options: dict[str, Any] = {
        "compression": settings.codec, "compression_level": settings.level,
        "write_page_index": True, "data_page_version": settings.page_version,
        "use_dictionary": _dictionary_columns(schema, settings.dictionary)}
    if settings.page_size:
        options["data_page_size"] = settings.page_size
    if settings.page_rows:
        options["max_rows_per_page"] = settings.page_rows
    if settings.dictionary_size:
        options["dictionary_pagesize_limit"] = settings.dictionary_size
    if bloom := {name: dict(how) or True for name, how in settings.bloom.items()
                 if name in schema.names}:
        options["bloom_filter_options"] = bloom
    return options
