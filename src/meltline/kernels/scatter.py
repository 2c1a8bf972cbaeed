"""Changes on their way to the task that collapses their keys: by hash, as Arrow's own bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from meltline.kernels.collapse import plain_keys


def scatter(
    connection: duckdb.DuckDBPyConnection, changes: pa.Table, identifiers: Sequence[str],
    buckets: int,
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket, in their order. A key is always in the same bucket."""
    keys = plain_keys(changes, identifiers)
    connection.register("changes", pa.table(keys))
    found = connection.sql(f"SELECT (hash({', '.join(keys)}) % {buckets})::INTEGER AS bucket "
                           f"FROM changes").to_arrow_table()
    connection.unregister("changes")
    codes = found.column("bucket").to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(buckets), side="right")
    start = 0
    for bucket, end in enumerate(ends):
        if end > start:
            yield bucket, changes.take(pa.array(order[start:end]))
        start = int(end)


def pack(rows: pa.Table, notes: Mapping[str, str]) -> bytes:
    """The rows with a few notes beside them."""
    sink = pa.BufferOutputStream()
    marked = rows.replace_schema_metadata(dict(notes))
    with pa.ipc.new_stream(sink, marked.schema) as stream:
        stream.write_table(marked)
    return bytes(sink.getvalue())


def unpack(packed: bytes) -> tuple[pa.Table, dict[str, str]]:
    rows = pa.ipc.open_stream(packed).read_all()
    notes = {key.decode(): value.decode() for key, value in (rows.schema.metadata or {}).items()}
    return rows, notes
