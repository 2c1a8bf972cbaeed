"""Data files and key files on disk, and a lookup of one in the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from meltline.kernels.key_lookup import find_rows
from meltline.kernels.keys import KeyColumns, Keys
from meltline.kernels.parquet import ParquetFile
from meltline.kernels.storage import open_storage
from meltline.model.live_file import LiveFile
from tests.unit.kernels.tables import table

IO = open_storage({})


def data_file(
    path: Path, schema: Schema, columns: Mapping[str, Sequence[Any]], groups: int = 1,
    deletes: Sequence[Mapping[str, Any]] = (), first_row_id: int | None = None,
) -> LiveFile:
    """Written as the sink writes, its rows in some row groups."""
    rows = table(schema, columns)
    file = ParquetFile(IO, str(path), schema, rows.schema, {})
    size = -(-rows.num_rows // groups)
    for begin in range(0, rows.num_rows, size):
        file.write(rows.slice(begin, size))
    content = json.loads(file.close(0, []).content)
    if first_row_id is not None:
        content["first-row-id"] = first_row_id
    return LiveFile(content, tuple(deletes), 7)


def foreign_file(path: Path, rows: pa.Table, **content: Any) -> LiveFile:
    """As it is, without anything that a manifest would say of it."""
    pq.write_table(rows, path)
    return LiveFile({"content": "data", "spec-id": 0, "partition": [], "file-path": str(path),
                     "file-format": "parquet", "record-count": rows.num_rows, **content})


def keys_of(
    schema: Schema, names: Sequence[str], columns: Mapping[str, Sequence[Any]],
    properties: Mapping[str, str] | None = None,
) -> Keys:
    ids = [schema.find_field(name).field_id for name in names]
    rows = table(Schema(*(schema.find_field(name) for name in names)), columns)
    columns_ = KeyColumns(schema, ids, properties or {})
    return Keys(columns_, columns_.take(rows))


def hits(
    files: Sequence[LiveFile], keys: Keys, specs: Mapping[int, PartitionSpec] | None = None
) -> dict[str, list[int]]:
    """Positions by the name of the file."""
    found = find_rows(IO, files, keys, specs or {})
    return {Path(path).stem: list(positions) for path, positions in found.items()}
