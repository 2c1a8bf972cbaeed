"""Compares the source with the tables, event by event."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from demo.events import Stream
from demo.lake import Lake

_ROW = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("customer", pa.string()),
        ("item", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("status", pa.string()),
        ("coupon", pa.string()),
    ]
)


@dataclass(frozen=True)
class Difference:
    """Events of the source that are missing from a table, and rows that should not be there."""

    name: str
    expected: int
    lost: int
    extra: int

    @property
    def none(self) -> bool:
        return not self.lost and not self.extra


def compare(stream: Stream, lake: Lake) -> list[Difference]:
    """Duplicates count: a row that is there twice is one row too many."""
    source = _as_table(stream)
    paid = source.filter(pc.equal(source.column("status"), "PAID"))
    letters = pa.table({"event": pa.array(stream.bad, pa.string())})
    return [
        find_difference("shop.orders", source, lake.rows("shop.orders"), _ROW.names),
        find_difference("shop.paid", paid, lake.rows("shop.paid"), ["id", "customer", "item"]),
        find_difference("shop.dead_letters", letters, lake.rows("shop.dead_letters"), ["event"]),
    ]


def repeated_epochs(lake: Lake, identifier: str) -> list[str]:
    """Epochs that have more than one snapshot in a table: there must be none."""
    counts = Counter(summary["meltline.epoch"] for summary in lake.snapshots(identifier))
    return [epoch for epoch, count in counts.items() if count > 1]


def _as_table(stream: Stream) -> pa.Table:
    rows = [{**event, "at": datetime.fromisoformat(event["at"])} for event in stream.good]
    return pa.Table.from_pylist(rows, schema=_ROW)


def find_difference(name: str, source: pa.Table, found: pa.Table, columns: list[str]) -> Difference:
    connection = duckdb.connect()
    connection.register("source", source.select(columns))
    connection.register("found", found.select(columns))
    lost = _count(connection, "source", "found")
    extra = _count(connection, "found", "source")
    return Difference(name, source.num_rows, lost, extra)


def _count(connection: duckdb.DuckDBPyConnection, one: str, other: str) -> int:
    sql = f"SELECT count(*) FROM (FROM {one} EXCEPT ALL FROM {other})"
    row = connection.execute(sql).fetchone()
    return int(row[0]) if row else 0
