"""Carried-over rows cancel: what was removed and added again, as often, did not change."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from meltline.kernels.row_reader import Positions


def survivors(connection: duckdb.DuckDBPyConnection, keys: pa.Table) -> Positions:
    """Indices, ascending, of the rows that do not cancel.

    `keys` has the columns `h1` and `h2`, which are equal for equal rows, and `sign`. As a
    multiset: of three equal rows removed and one added, two stay, the first ones by index.
    """
    connection.register("net_keys", keys.append_column("spot", pa.array(np.arange(keys.num_rows))))
    found = connection.sql(survivors_sql()).to_arrow_table().column("spot").to_numpy()
    connection.unregister("net_keys")
    return np.sort(found)


def survivors_sql() -> str:
    """Most hashes cancel: the few that do not are found first, and only their rows are numbered."""
    return (
        "WITH open AS (SELECT h1, h2, sum(sign) AS net FROM net_keys GROUP BY h1, h2 "
        "HAVING sum(sign) <> 0) "
        "SELECT spot FROM (SELECT spot, net, "
        "row_number() OVER (PARTITION BY k.h1, k.h2 ORDER BY spot) AS place "
        "FROM net_keys k JOIN open o ON k.h1 IS NOT DISTINCT FROM o.h1 "
        "AND k.h2 IS NOT DISTINCT FROM o.h2 WHERE sign(k.sign) = sign(o.net)) "
        "WHERE place <= abs(net)")
