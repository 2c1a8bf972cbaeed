"""One Parquet file of an Iceberg table: field ids, metrics and offsets from its own footer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.schema import Schema


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
        properties: Mapping[str, str],
    ) -> None:
        self.path = path
        self._schema = schema
        self._properties = dict(properties)
        self._stream = io.new_output(path).create(overwrite=True)
        self._footers: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._stream, arrow_schema, metadata_collector=self._footers,
            store_decimal_as_integer=True, **_writer_options(properties))

    def write(self, rows: pa.Table) -> int:
        """Append one row group; returns the bytes in the file so far."""
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        return int(self._stream.tell())

    def close(self, spec_id: int, partition: list[Any]) -> ClosedParquet:
        self._writer.close()
        size = int(self._stream.tell())
        self._stream.close()
        footer = self._footers[0]
        content = self._content(footer, size, spec_id, partition)
        return ClosedParquet(self.path, footer.num_rows, size, json.dumps(content))

    def abandon(self) -> None:
        """Close without a report: the file stays behind as an orphan that nothing refers to."""
        self._writer.close()
        self._stream.close()

    def _content(
        self, footer: pq.FileMetaData, size: int, spec_id: int, partition: list[Any]
    ) -> dict[str, Any]:
        statistics = data_file_statistics_from_parquet_metadata(
            parquet_metadata=footer,
            stats_columns=compute_statistics_plan(self._schema, self._properties),
            parquet_column_mapping=parquet_path_to_id_mapping(self._schema),
        ).to_serialized_dict()
        return {
            "content": "data", "spec-id": spec_id, "partition": partition,
            "file-path": self.path, "file-format": "parquet",
            "file-size-in-bytes": size, "record-count": footer.num_rows,
            "column-sizes": _by_key(statistics["column_sizes"]),
            "value-counts": _by_key(statistics["value_counts"]),
            "null-value-counts": _by_key(statistics["null_value_counts"]),
            "nan-value-counts": _by_key(statistics["nan_value_counts"]),
            "lower-bounds": _by_key(_hex(statistics["lower_bounds"])),
            "upper-bounds": _by_key(_hex(statistics["upper_bounds"])),
            "split-offsets": statistics["split_offsets"],
        }


def _writer_options(properties: Mapping[str, str]) -> dict[str, Any]:
    codec = properties.get("write.parquet.compression-codec", "zstd").lower()
    codec = {"uncompressed": "none"}.get(codec, codec)
    level = properties.get("write.parquet.compression-level")
    page = properties.get("write.parquet.page-size-bytes")
    options: dict[str, Any] = {"compression": codec, "write_page_index": True}
    if level and codec in ("zstd", "gzip", "brotli"):
        options["compression_level"] = int(level)
    if page:
        options["data_page_size"] = int(page)
    return options


def _by_key(values: Mapping[int, Any]) -> dict[str, list[Any]]:
    return {"keys": list(values), "values": list(values.values())}


def _hex(values: Mapping[int, bytes]) -> dict[int, str]:
    return {key: value.hex().upper() for key, value in values.items()}
