"""DuckDB as the workers use it."""

from __future__ import annotations

import duckdb

from meltline.kernels.variant_text import register_variant_text


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
    register_variant_text(connection)
    return connection
