"""Asks DuckDB itself whether it accepts something, so that a mistake shows before any event."""

from __future__ import annotations

import atexit
from functools import lru_cache
from typing import Any

import duckdb

from meltline.expressions.variants import STAND_IN


@lru_cache(maxsize=1)
def _database() -> duckdb.DuckDBPyConnection:
    # An own database: the process-wide default connection belongs to the user's code.
    database = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "256MB"})
    database.execute(STAND_IN)
    return database


atexit.register(_database.cache_clear)


def trial_connection() -> duckdb.DuckDBPyConnection:
    """A fresh connection to an empty database, safe to use from any thread."""
    connection = _database().cursor()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def refusal(sql: str, parameters: list[Any] | None = None) -> str | None:
    """Why DuckDB refuses a statement, in its own words; None when it runs."""
    try:
        trial_connection().execute(sql, parameters or []).fetchall()
    except duckdb.Error as error:
        return str(error).split("\n", 1)[0].split("Error: ", 1)[-1]
    return None
