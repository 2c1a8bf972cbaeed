"""Connections share a database and nothing in it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pytest

from meltline.kernels import connection as module
from meltline.kernels.connection import connect


def test_nothing_of_one_is_seen_by_another() -> None:
    with connect() as one, connect() as other:
        one.register("mine", pa.table({"v": [1]}))
        one.execute("CREATE TEMP TABLE own AS SELECT 1")
        one.execute("SET VARIABLE moment = 5")
        for name in ("mine", "own"):
            with pytest.raises(duckdb.CatalogException):
                other.sql(f"FROM {name}")
        other.register("mine", pa.table({"v": [2]}))
        assert one.sql("FROM mine").fetchall() == [(1,)]
        assert other.sql("SELECT getvariable('moment')").fetchall() == [(None,)]
        assert other.sql("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]


@pytest.mark.parametrize("statement", [
    "SET TimeZone = 'Asia/Tokyo'", "SET threads = 4", "SET memory_limit = '2GB'",
    "FROM enable_logging()"])
def test_nobody_can_set_it_otherwise(statement: str) -> None:
    with connect() as one, pytest.raises(duckdb.InvalidInputException, match="locked"):
        one.execute(statement).fetchall()
    with connect() as later:
        assert later.sql("SELECT current_setting('threads')").fetchall() == [(1,)]
        assert later.sql("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]


def test_one_that_is_closed_leaves_the_others_alone() -> None:
    with connect() as one:
        connect().close()
        assert one.sql("SELECT 1").fetchall() == [(1,)]


def test_a_database_that_is_gone_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_databases", {})
    connect().close()
    # an error inside of DuckDB closes its database for everybody, too
    assert issubclass(duckdb.FatalException, duckdb.Error)
    module._databases[os.getpid()].close()
    with connect() as one:
        assert one.sql("SELECT 1").fetchall() == [(1,)]


def test_a_forked_process_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    connect().close()
    mine = module._databases[os.getpid()]
    monkeypatch.setattr(module, "_databases", dict(module._databases))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    connect().close()
    assert module._databases[-1] is not mine


def test_threads_use_it_at_the_same_time() -> None:
    def count(number: int) -> int:
        with connect() as one:
            one.register("mine", pa.table({"v": range(number)}))
            return int(one.sql("SELECT count(*) FROM mine, range(1000)").fetchall()[0][0])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(40))) == [number * 1000 for number in range(40)]
