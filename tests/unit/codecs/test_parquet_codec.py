from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meltline.codecs.parquet import read_parquet
from meltline.codecs.records import Unreadable


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def write(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def read(
    con: duckdb.DuckDBPyConnection, raw: bytes, start: int = 0, end: int = 1 << 62
) -> tuple[list[dict[str, str]], list[tuple[int, Any]]]:
    types: list[dict[str, str]] = []
    rows: list[tuple[int, Any]] = []
    for found, records in read_parquet(pa.BufferReader(raw), con, start=start, end=end):
        types.append(dict(found))
        rows += zip(records.place.tolist(), records.content.to_pylist(), strict=True)
    return types, rows


def test_types_and_nested_values(con: duckdb.DuckDBPyConnection) -> None:
    row = {
        "id": 1,
        "Name": "é",
        "at": datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
        "price": decimal.Decimal("1.10"),
        "tags": ["a", None],
        "place": {"lat": 1.5, "notes": [{"k": 1}]},
        "raw": b"\x00\xff",
        "nothing": None,
    }
    table = pa.Table.from_pylist([row, dict.fromkeys(row)])
    table = table.set_column(
        2, "at", table.column("at").cast(pa.timestamp("us", tz="Europe/Berlin"))
    )
    types, rows = read(con, write(table))
    assert types == [
        {
            "id": "BIGINT",
            "Name": "VARCHAR",
            "at": "TIMESTAMP WITH TIME ZONE",
            "price": "DECIMAL(3,2)",
            "tags": "VARCHAR[]",
            "place": "STRUCT(lat DOUBLE, notes STRUCT(k BIGINT)[])",
            "raw": "BLOB",
            "nothing": types[0]["nothing"],
        }
    ]
    assert rows == [(0, row), (1, dict.fromkeys(row))]


def test_types_duckdb_does_not_know_become_the_nearest(con: duckdb.DuckDBPyConnection) -> None:
    wide = decimal.Decimal("123456789012345678901234567890123456789012.5")
    table = pa.table(
        {
            "wide": pa.array([wide], pa.decimal256(50, 1)),
            "half": pa.array(np.array([1.5], np.float16)),
            "word": pa.array(["x"]).dictionary_encode(),
        }
    )
    types, rows = read(con, write(table))
    assert types == [{"wide": "VARCHAR", "half": "FLOAT", "word": "VARCHAR"}]
    assert rows == [(0, {"wide": str(wide), "half": 1.5, "word": "x"})]


def test_rows_are_the_same_however_the_file_is_cut(con: duckdb.DuckDBPyConnection) -> None:
    raw = write(pa.table({"id": range(1000)}), row_group_size=90)
    whole = read(con, raw)[1]
    assert whole == [(number, {"id": number}) for number in range(1000)]
    for step in (300, 1000, 5000):
        cuts = range(0, len(raw), step)
        parts = [row for start in cuts for row in read(con, raw, start, start + step)[1]]
        assert parts == whole


def test_an_empty_table(con: duckdb.DuckDBPyConnection) -> None:
    assert read(con, write(pa.table({"id": pa.array([], pa.int64())})))[1] == []


def test_the_rows_can_be_queried(con: duckdb.DuckDBPyConnection) -> None:
    raw = write(pa.table({"a": [{"b": 1}, None], "c": pa.array(["x", "y"]).dictionary_encode()}))
    ((_, records),) = read_parquet(pa.BufferReader(raw), con, start=0, end=len(raw))
    con.register("events", pa.table({"row": records.content}))
    found = con.sql('SELECT "row"."a"."b", "row"."c" FROM events').fetchall()
    con.unregister("events")
    assert found == [(1, "x"), (None, "y")]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not readable as Parquet"),
        (b"PAR1 this is not it PAR1", "not readable as Parquet"),
        (b"{}\n", "not readable as Parquet"),
        (write(pa.table({"a": [1]}))[:-20], "not readable as Parquet"),
        (write(pa.table({"a": [1], "A": [2]})), "upper and lower case"),
    ],
)
def test_what_cannot_be_read_is_refused(
    con: duckdb.DuckDBPyConnection, raw: bytes, reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason):
        read(con, raw)


def test_damage_in_the_data_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    raw = bytearray(write(pa.table({"a": [f"text {n}" for n in range(5000)]}), compression="zstd"))
    raw[100:300] = bytes(200)
    with pytest.raises(Unreadable):
        read(con, bytes(raw))
