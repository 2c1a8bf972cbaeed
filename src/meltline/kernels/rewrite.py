"""Rows of data files that stay, written anew: what is deleted and what must go is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyroaring import BitMap64

from meltline.errors import RunError
from meltline.kernels.arrow_schema import field_id
from meltline.kernels.data_file import open_data_file
from meltline.kernels.key_lookup import Specs, partition_constants
from meltline.kernels.key_match import KeyMatch
from meltline.kernels.keys import KeyColumns, Keys
from meltline.kernels.projection import Projection
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.model import lineage
from meltline.model.live_file import LiveFile
from meltline.model.target import TableTarget

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class Rewriter:
    """Takes data files one after the other; `finish` gives what takes their place."""

    def __init__(self, io: FileIO, target: TableTarget, specs: Specs, prefix: str) -> None:
        self._io = io
        self._schema = target.schema
        self._properties = target.properties
        self._specs = specs
        self._lineage = target.format_version >= lineage.SINCE
        wide = _with_lineage(target) if self._lineage else target
        self._projection = Projection(wide.schema, target.properties)
        self._writer = TableWriter(wide, prefix, WriteLimits())
        self._equality: dict[str, tuple[KeyColumns, KeyMatch]] = {}

    def add(self, file: LiveFile, gone: BitMap64) -> None:
        """`gone` are the positions of all rows that are not to be kept, but for those that
        equality deletes take out."""
        constants = partition_constants(file, self._specs, self._schema)
        equality = [self._equal(delete) for delete in file.equality_deletes]
        with open_data_file(self._io, file.path, file.format) as opened:
            needed = self._projection.columns(opened.schema)
            for start, piece in opened.pieces(needed):
                keep = _keep(start, piece.num_rows, gone)
                for columns, match in equality:
                    keep[match.rows(columns.take(piece, constants))] = False
                rows = self._projection.project(piece, constants)
                if self._lineage:
                    rows = _lineage(rows, file, start)
                self._writer.add(rows if keep.all() else rows.filter(pa.array(keep)))

    def finish(self) -> list[str]:
        """Content-file JSON."""
        self._close()
        return [closed.content for closed in self._writer.finish()]

    def abandon(self) -> None:
        self._close()
        self._writer.abandon()

    def _close(self) -> None:
        for _, match in self._equality.values():
            match.close()

    def _equal(self, delete: Mapping[str, Any]) -> tuple[KeyColumns, KeyMatch]:
        """Read once, however many files it applies to."""
        path = str(delete["file-path"])
        if path not in self._equality:
            ids = delete["equality-ids"]
            if any(self._schema.find_column_name(id_) is None for id_ in ids):
                raise RunError(
                    f"equality deletes in {path} are about a column that was dropped",
                    hint="rewrite the table's files first (CALL system.rewrite_data_files)")
            columns = KeyColumns(self._schema, ids, self._properties)
            keys = Keys.read(self._io, [path], columns, str(delete["file-format"]).lower())
            self._equality[path] = columns, KeyMatch(keys.rows)
        return self._equality[path]


def rewrite_files(
    io: FileIO, target: TableTarget, files: Sequence[LiveFile], gone: Mapping[str, BitMap64],
    specs: Specs, prefix: str,
) -> list[str]:
    """Content-file JSON of the files that take the place of others, without the rows in `gone`."""
    rewriter = Rewriter(io, target, specs, prefix)
    try:
        for file in files:
            rewriter.add(file, gone[file.path])
        return rewriter.finish()
    except BaseException:
        rewriter.abandon()
        raise


def _with_lineage(target: TableTarget) -> TableTarget:
    """With the columns that say where a row came from. They need no bounds."""
    schema = json.loads(target.schema_json)
    schema["fields"] += [field.model_dump(mode="json") for field in lineage.LINEAGE]
    plain = {f"write.metadata.metrics.column.{field.name}": "none" for field in lineage.LINEAGE}
    return replace(target, schema_json=json.dumps(schema),
                   properties={**target.properties, **plain})


def _keep(start: int, rows: int, gone: BitMap64) -> Mask:
    keep = np.ones(rows, dtype=np.bool_)
    positions = np.asarray(gone.to_array(), dtype=np.int64)
    inside = positions[np.searchsorted(positions, start):
                       np.searchsorted(positions, start + rows)]
    keep[inside - start] = False
    return keep


def _lineage(rows: pa.Table, file: LiveFile, start: int) -> pa.Table:
    """A row keeps its id and the sequence number of its last change. Where the file does not store
    them they follow from the file itself."""
    first = file.content.get("first-row-id")
    ids = (pa.nulls(rows.num_rows, pa.int64()) if first is None else
           pa.array(np.arange(rows.num_rows, dtype=np.int64) + int(first) + start))
    updated = pa.repeat(pa.scalar(file.sequence_number, pa.int64()), rows.num_rows)
    for id_, implied in ((lineage.ROW_ID_FIELD, ids), (lineage.LAST_UPDATED_FIELD, updated)):
        place = next(i for i, field in enumerate(rows.schema) if field_id(field) == id_)
        rows = rows.set_column(place, rows.schema.field(place),
                               pc.coalesce(rows.column(place), implied))
    return rows

