"""Events and rows for the benchmarks, made by DuckDB: 20 fields, spread over some days."""

from __future__ import annotations

from pathlib import Path

import duckdb

COLUMNS = {
    "id": "long", "user": "long", "at": "timestamptz", "status": "string",
    "amount": "decimal(12,2)", "qty": "int", "price": "double", "lat": "double", "lon": "double",
    "name": "string", "city": "string", "country": "string", "flag": "boolean", "note": "string",
    "zip": "string", "score": "double", "visits": "long", "ref": "string", "channel": "string",
    "device": "string",
}
SPARK_TYPES = {"long": "BIGINT", "int": "INT", "timestamptz": "TIMESTAMP"}

_VALUES = """
  i AS id, (hash(i) % 1000000)::BIGINT AS "user", {at} AS at,
  ['PAID', 'NEW', 'SHIPPED'][1 + i % 3] AS status,
  ((hash(i + 2) % 10000000) / 100)::DECIMAL(12, 2){text} AS amount,
  (hash(i + 3) % 100)::INTEGER AS qty,
  (hash(i + 4) % 10000019) / 100003 AS price, (hash(i + 5) % 9000011) / 100003 AS lat,
  (hash(i + 6) % 18000041) / 100003 AS lon, 'customer ' || i AS name,
  ['Berlin', 'Paris', 'Rome'][1 + i % 3] AS city, 'DE' AS country, i % 2 = 0 AS flag,
  'some text of average length ' || i AS note, '1' || (i % 10000) AS zip,
  (hash(i + 7) % 1000003) / 1000033 AS score, (hash(i + 8) % 1000)::BIGINT AS visits,
  'ref-' || i AS ref, 'web' AS channel, 'mobile' AS device
"""
_AT = "(TIMESTAMP '2024-01-01' + to_seconds((hash(i + 1) % {seconds})::BIGINT))"
_DAY = 24 * 3600


def events_sql(source: str, days: int = 30) -> str:
    """The events of the numbers `i` of a relation, as JSON wants them."""
    at = f"strftime({_AT.format(seconds=days * _DAY)}, '%Y-%m-%dT%H:%M:%SZ')"
    return f"SELECT {_VALUES.format(at=at, text='::VARCHAR')} FROM {source}"


def rows_sql(source: str, days: int) -> str:
    """The same as typed rows."""
    at = f"({_AT.format(seconds=days * _DAY)} AT TIME ZONE 'UTC')"
    return f"SELECT {_VALUES.format(at=at, text='')} FROM {source}"


def write_events(folder: Path, rows: int, files: int) -> None:
    """`files` NDJSON files of equal size. A folder that is there already is taken as it is."""
    if folder.exists():
        return
    scratch = folder.with_name(folder.name + ".part")
    scratch.mkdir(parents=True, exist_ok=True)
    share = rows // files
    for i in range(files):
        query = events_sql(f"range({i * share}, {(i + 1) * share}) t(i)")
        duckdb.sql(f"COPY ({query}) TO '{scratch}/{i:03d}.ndjson' (FORMAT json)")
    scratch.rename(folder)
