"""The changes of an epoch, collapsed: for each key the last one, and whether anything was there.

A key is a value of every identifier column, never null. Changes are in the order of the source:
the last row of a key wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.kernels.operation import DELETE, INSERT

OP = "\x01op"
"""The column of a change that holds its operation: no column of a table is called so."""


@dataclass(frozen=True)
class Collapsed:
    """`rows` to add, and the `keys` whose earlier rows must go first, each once."""

    rows: pa.Table
    keys: pa.Table


def collapse(
    connection: duckdb.DuckDBPyConnection, changes: pa.Table, identifiers: Sequence[str],
    deduplicate_inserts: bool,
) -> Collapsed:
    """`changes` are rows of the table with the column OP, in the order of the source.

    An insert promises that its key is new, so the earlier rows of a key that only has inserts
    stay, unless `deduplicate_inserts`.
    """
    connection.register("changes", _numbered(changes, identifiers))
    last = connection.sql(collapse_sql(len(identifiers), deduplicate_inserts)).to_arrow_table()
    connection.unregister("changes")
    rows = changes.drop_columns([OP])
    keep = last.filter(pc.not_equal(last.column("op"), DELETE)).column("n")
    gone = last.filter(last.column("gone")).column("n")
    return Collapsed(rows.take(keep), rows.select(list(identifiers)).take(gone))


def collapse_sql(keys: int, deduplicate_inserts: bool) -> str:
    """Over `changes` (k0, k1, ..., op, n): the last change of each key, in the source's order."""
    names = ", ".join(f"k{i}" for i in range(keys))
    gone = "true" if deduplicate_inserts else f"bool_or(op <> {INSERT})"
    return (f"SELECT max(n) AS n, arg_max(op, n) AS op, {gone} AS gone "
            f"FROM changes GROUP BY {names} ORDER BY n")


def _numbered(changes: pa.Table, identifiers: Sequence[str]) -> pa.Table:
    """The keys alone: the other columns do not have to travel through the grouping."""
    columns = plain_keys(changes, identifiers)
    order = pa.array(np.arange(changes.num_rows, dtype=np.int64))
    return pa.table({**columns, "op": changes.column(OP), "n": order})


def plain_keys(changes: pa.Table, identifiers: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """The identifier columns as k0, k1, ..., in types that DuckDB compares by value."""
    return {f"k{i}": _plain(changes.column(name)) for i, name in enumerate(identifiers)}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """An extension type (uuid) by what it stores."""
    if isinstance(column.type, pa.BaseExtensionType):
        return pa.chunked_array([chunk.storage for chunk in column.chunks],
                                column.type.storage_type)
    return column
