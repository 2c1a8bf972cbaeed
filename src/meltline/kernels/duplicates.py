"""Rows of one state of a table whose key another row has too, by the hashes of keys."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from meltline.kernels.row_reader import Positions


def duplicates(connection: duckdb.DuckDBPyConnection, keys: pa.Table) -> Positions:
    """Indices, ascending, of the rows to leave out. `keys` has `k1` and `k2`, equal for equal keys,
    and `file` and `pos`, the greater the younger: the youngest row of a key is kept.

    Of the youngest rows of some parts the youngest is that of all: parts may come first."""
    halves = np.sort(keys.column("k1").to_numpy())
    if not (halves[1:] == halves[:-1]).any():
        return np.empty(0, np.int64)
    connection.register("all_keys", keys.append_column("spot", pa.array(np.arange(keys.num_rows))))
    found = connection.sql(duplicates_sql()).to_arrow_table().column("spot").to_numpy()
    connection.unregister("all_keys")
    return np.sort(found)


def duplicates_sql() -> str:
    """Few keys have several rows: these are found first, and only theirs are ranked."""
    return (
        "WITH several AS (SELECT k1, k2 FROM all_keys GROUP BY k1, k2 HAVING count(*) > 1), "
        "theirs AS (SELECT k1, k2, spot, struct_pack(a := file, b := pos) AS age "
        "FROM all_keys SEMI JOIN several USING (k1, k2)), "
        "kept AS (SELECT arg_max(spot, age) AS spot FROM theirs GROUP BY k1, k2) "
        "SELECT spot FROM theirs ANTI JOIN kept USING (spot)")
