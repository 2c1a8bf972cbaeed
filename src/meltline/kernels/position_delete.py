"""Position delete files: pairs of file path and position, sorted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyroaring import BitMap64

from meltline.kernels.data_file import open_data_file
from meltline.kernels.parquet import ParquetFile
from meltline.model.live_file import PATH_ID, Content, LiveFile

GRANULARITY = "write.delete.granularity"
_POSITION_ID = 2147483545
_SCHEMA = Schema(NestedField(PATH_ID, "file_path", StringType(), required=True),
                 NestedField(_POSITION_ID, "pos", LongType(), required=True))
_ARROW = pa.schema([
    pa.field("file_path", pa.large_string(), False, {"PARQUET:field_id": str(PATH_ID)}),
    pa.field("pos", pa.int64(), False, {"PARQUET:field_id": str(_POSITION_ID)})])


def write_position_deletes(
    io: FileIO, prefix: str, hits: Mapping[str, BitMap64], files: Mapping[str, LiveFile],
    properties: Mapping[str, str],
) -> list[tuple[tuple[str, ...], str]]:
    """Each delete file with the data files that it is about, as content-file JSON.

    One for each partition, or for each data file where `write.delete.granularity` is `file`."""
    each = properties.get(GRANULARITY, "partition").lower() == "file"
    groups: dict[str, list[str]] = {}
    for path in sorted(hits):
        groups.setdefault(path if each else files[path].partition, []).append(path)
    written = []
    for number, paths in enumerate(groups.values()):
        content = _write(io, f"{prefix}-{number}-deletes.parquet", paths, hits,
                         files[paths[0]].content, properties)
        if len(paths) == 1:
            content["referenced-data-file"] = paths[0]
        written.append((tuple(paths), json.dumps(content)))
    return written


def _write(
    io: FileIO, path: str, paths: Sequence[str], hits: Mapping[str, BitMap64], data: Content,
    properties: Mapping[str, str],
) -> dict[str, Any]:
    """Paths come sorted, as UTF-8 bytes sort: Python sorts by code point, which is the same."""
    names = pa.chunked_array([pa.repeat(pa.scalar(name, pa.large_string()), len(hits[name]))
                              for name in paths])
    positions = pa.chunked_array([pa.array(np.asarray(hits[name].to_array(), dtype=np.int64))
                                  for name in paths])
    # readers find the files that a delete file is about by these bounds: they must be whole
    settings = {**properties, "write.metadata.metrics.default": "full"}
    file = ParquetFile(io, path, _SCHEMA, _ARROW, settings)
    file.write(pa.Table.from_arrays([names, positions], schema=_ARROW))
    closed = file.close(data["spec-id"], data.get("partition", []))
    return {**json.loads(closed.content), "content": "position-deletes"}


def read_position_deletes(
    io: FileIO, path: str, format_: str, of: Sequence[str] | None = None
) -> dict[str, BitMap64]:
    """The positions that a delete file holds by data file: of all, or `of` some."""
    found: dict[str, BitMap64] = {}
    with open_data_file(io, path, format_) as file:
        for _, piece in file.pieces(["file_path", "pos"]):
            if of is not None:
                names = piece.column("file_path").cast(pa.large_string())
                piece = piece.filter(pc.is_in(names, value_set=pa.array(of, pa.large_string())))
            for name, positions in _runs(piece.sort_by("file_path")):
                found.setdefault(name, BitMap64()).update(BitMap64(positions))
    return found


def _runs(ordered: pa.Table) -> list[tuple[str, Any]]:
    """Positions by path, of a table sorted by path."""
    names = ordered.column("file_path").combine_chunks()
    positions = ordered.column("pos").to_numpy().astype(np.uint64)
    counts = names.value_counts() if len(names) else []
    runs, begin = [], 0
    for count in counts:
        end = begin + count["counts"].as_py()
        runs.append((count["values"].as_py(), positions[begin:end]))
        begin = end
    return runs
