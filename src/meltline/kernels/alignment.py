"""Which rows of a source and of its copy make the difference, by the hashes of keys and rows."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from meltline.kernels.row_reader import Positions


def differing(connection: duckdb.DuckDBPyConnection, keys: pa.Table) -> Positions:
    """Indices, ascending, of at most one row per key and side: what the copy's row of a key is to
    become, and what it was.

    `keys` has `k1` and `k2`, equal for equal keys, `h1` and `h2`, equal for equal rows, `sign`:
    +1 a row of the source, -1 one of the copy, and `sequence`, the larger the younger. All rows of
    a key are here. A key whose rows are the same on both sides, as often, is left alone. Of several
    rows of a key in the source one of the youngest stands for them; a copy that holds one row of
    the key, and any of these, is left alone too.
    """
    connection.register("align_keys",
                        keys.append_column("spot", pa.array(np.arange(keys.num_rows))))
    found = connection.sql(differing_sql()).to_arrow_table().column("spot").to_numpy()
    connection.unregister("align_keys")
    return np.sort(found)


def differing_sql() -> str:
    """Most keys are the same: only the rows of the others are looked at one by one."""
    place = "struct_pack(a := h1, b := h2, c := -spot)"
    row = "struct_pack(a := h1, b := h2)"
    return (
        "WITH open AS (SELECT DISTINCT k1, k2 FROM (SELECT k1, k2, h1, h2 FROM align_keys "
        "GROUP BY k1, k2, h1, h2 HAVING sum(sign) <> 0)), "
        "ranked AS (SELECT *, sign > 0 AND sequence = max(sequence) FILTER (sign > 0) "
        "OVER (PARTITION BY k1, k2) AS young FROM align_keys SEMI JOIN open USING (k1, k2)), "
        "chosen AS (SELECT "
        f"arg_max(spot, {place}) FILTER (young) AS ours, list({row}) FILTER (young) AS new, "
        f"arg_max(spot, {place}) FILTER (sign < 0) AS theirs, max({row}) FILTER (sign < 0) AS old, "
        "count(*) FILTER (sign < 0) AS copies FROM ranked GROUP BY k1, k2) "
        "SELECT spot FROM (SELECT unnest([ours, theirs]) AS spot FROM chosen "
        "WHERE NOT coalesce(copies = 1 AND list_contains(new, old), false)) WHERE spot IS NOT NULL")
