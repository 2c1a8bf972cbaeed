"""Rows of one state of a table whose key another row has too, by the hashes of keys."""

from __future__ import annotations

import duckdb
import pyarrow as pa


def duplicates(connection: duckdb.DuckDBPyConnection, keys: pa.Table) -> pa.Table:
    """`file` and `pos` of the rows to leave out. `keys` has both, the greater the younger, and
    `k1` and `k2`, equal for equal keys. All rows of a key are here; the youngest is kept."""
    connection.register("all_keys", keys)
    found = connection.sql(duplicates_sql()).to_arrow_table()
    connection.unregister("all_keys")
    return found


def duplicates_sql() -> str:
    """Few keys have several rows: these are found first, and only theirs are ranked."""
    return (
        "WITH several AS (SELECT k1, k2 FROM all_keys GROUP BY k1, k2 HAVING count(*) > 1) "
        "SELECT file, pos FROM (SELECT file, pos, "
        "row_number() OVER (PARTITION BY k1, k2 ORDER BY file DESC, pos DESC) AS place "
        "FROM all_keys SEMI JOIN several USING (k1, k2)) WHERE place > 1 ORDER BY file, pos")
