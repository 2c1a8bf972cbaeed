"""DuckDB as the workers use it."""

from __future__ import annotations

import duckdb


def connect(memory: str = "1GB") -> duckdb.DuckDBPyConnection:
    """A private in-memory database: one thread (Spark spreads the work), UTC, nothing fetched."""
    connection = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": memory,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": True,
        }
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection
