"""Removed and added rows of one snapshot become at most one change per key."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

INSERT, AFTER, BEFORE, DELETE = "INSERT", "UPDATE_AFTER", "UPDATE_BEFORE", "DELETE"


@dataclass(frozen=True)
class Paired:
    """`at` picks rows, `operation` says what each one is, `duplicates` counts rows left out."""

    at: pa.Array
    operation: pa.Array
    duplicates: int


def pair(connection: duckdb.DuckDBPyConnection, keys: pa.Table, with_before: bool) -> Paired:
    """`keys` has `id`, `sign`, and `h1` and `h2` which tell rows apart; rows that only were
    carried over are not among them.

    Several rows of one key and sign: the one of the greatest hash stands for them, whichever way
    the rows arrive. Changes come in the order of their rows; a before-image right before its
    after-image.
    """
    connection.register("pair_keys", keys.append_column("spot", pa.array(np.arange(keys.num_rows))))
    found = connection.sql(pair_sql(with_before)).to_arrow_table()
    ((duplicates,),) = connection.sql(duplicates_sql()).fetchall()
    connection.unregister("pair_keys")
    return Paired(found.column("spot"), found.column("operation"), int(duplicates))


def pair_sql(with_before: bool) -> str:
    both = "added IS NOT NULL AND removed IS NOT NULL"
    changes = (
        f"SELECT coalesce(added, removed) AS spot, coalesce(added, removed) AS place, 1 AS turn, "
        f"CASE WHEN {both} THEN '{AFTER}' WHEN added IS NULL THEN '{DELETE}' ELSE '{INSERT}' END "
        f"AS operation FROM chosen")
    if with_before:
        changes += (f" UNION ALL SELECT removed, added, 0, '{BEFORE}' FROM chosen WHERE {both}")
    return (f"WITH chosen AS (SELECT id, {_greatest('> 0')} AS added, "
            f"{_greatest('< 0')} AS removed FROM pair_keys GROUP BY id) "
            f"SELECT spot, operation FROM ({changes}) ORDER BY place, turn")


def _greatest(sign: str) -> str:
    return f"arg_max(spot, struct_pack(a := h1, b := h2, c := -spot)) FILTER (sign {sign})"


def duplicates_sql() -> str:
    return ("SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM pair_keys "
            "GROUP BY id, sign HAVING count(*) > 1)")
