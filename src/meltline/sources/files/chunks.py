"""Turning decoded records into chunks of events of a good size."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from meltline.codecs.records import Records
from meltline.errors import RunError
from meltline.model.event import BAD, META, ORD, PLACE_BITS, Shape

ROWS = 1 << 16
BYTES = 32 << 20
METADATA = {"file": "VARCHAR", "line": "BIGINT", "offset": "BIGINT"}
_META_FIELDS = [
    pa.field("file", pa.string()),
    pa.field("line", pa.int64()),
    pa.field("offset", pa.int64()),
]
_MANY_TABLES = 32


def to_table(records: Records, shape: Shape, *, path: str, index: int, offsets: bool) -> pa.Table:
    """The events of one file as an Arrow table; `offsets`: their places are byte offsets."""
    count = len(records)
    if count and records.place[-1] >= 1 << PLACE_BITS:
        raise RunError(f"{path} has more than {1 << PLACE_BITS} bytes or records: cut it in two")
    nothing = pa.nulls(count, pa.int64())
    meta = pa.StructArray.from_arrays(
        [
            pa.repeat(pa.scalar(path, pa.string()), count),
            nothing if records.line is None else pa.array(records.line, pa.int64()),
            pa.array(records.place, pa.int64()) if offsets else nothing,
        ],
        fields=_META_FIELDS,
    )
    bad = pa.nulls(count, pa.string())
    if records.bad:
        bad = pa.array([records.bad.get(at) for at in range(count)], pa.string())
    order = pa.array(records.place | (index << PLACE_BITS), pa.int64())
    return pa.table({shape.content: records.content, META: meta, ORD: order, BAD: bad})


class Chunker:
    """Collects tables of one shape until they are worth handing over."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._shape: Shape | None = None
        self._rows = 0
        self._bytes = 0

    def add(self, shape: Shape, table: pa.Table) -> Iterator[tuple[Shape, pa.Table]]:
        full = self._rows + table.num_rows > ROWS or self._bytes + table.nbytes > BYTES
        if full or not self._fits(shape, table):
            yield from self.rest()
        self._shape = shape
        self._tables.append(table)
        self._rows += table.num_rows
        self._bytes += table.nbytes

    def rest(self) -> Iterator[tuple[Shape, pa.Table]]:
        """What has been collected so far, if anything."""
        if self._shape is not None and self._rows:
            table = pa.concat_tables(self._tables)
            # thousands of tiny pieces cost more to read than to copy
            yield self._shape, table.combine_chunks() if self._is_ragged() else table
        self._tables, self._shape, self._rows, self._bytes = [], None, 0, 0

    def _is_ragged(self) -> bool:
        return len(self._tables) > _MANY_TABLES

    def _fits(self, shape: Shape, table: pa.Table) -> bool:
        return self._shape is None or (
            shape == self._shape and table.schema.equals(self._tables[0].schema)
        )
