"""DuckDB as the workers use it."""

from __future__ import annotations

import atexit
import os
import threading

import duckdb

from meltline.kernels.variant_text import register_variant_text

_lock = threading.Lock()
_databases: dict[int, duckdb.DuckDBPyConnection] = {}
"""By process: a worker that was forked must not use that of its parent."""


def connect() -> duckdb.DuckDBPyConnection:
    """One thread (Spark spreads the work), UTC, nothing fetched, and nobody can set it otherwise.

    All connections belong to one database in memory, which takes a hundred times as long to make as
    a connection. They share its memory limit; registered tables, temporary ones and variables are
    each one's own. A database that an error has broken is made anew."""
    with _lock:
        database = _databases.get(os.getpid())
        if database is not None:
            try:
                return _opened(database)
            except duckdb.Error:
                database.close()
        database = _databases[os.getpid()] = _database()
        return _opened(database)


@atexit.register
def _close() -> None:
    """Its functions are Python's, and would be asked for when Python is half gone."""
    with _lock:
        database = _databases.pop(os.getpid(), None)
        if database is not None:
            database.close()


def _opened(database: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection = database.cursor()
    connection.execute("SELECT 1").fetchall()
    return connection


def _database() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": "1GB",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": True,
        }
    )
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    database.execute("SET GLOBAL lock_configuration = true")
    register_variant_text(database)
    return database
