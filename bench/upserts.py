"""upsert-position, upsert-equality: 50,000 upserts spread over a large table.

Peer: Spark's own `MERGE INTO`, merge-on-read, of the same events in the same Spark application,
into a table with the very same data files. Both read the events from the same JSON.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

from bench.data import COLUMNS, SPARK_TYPES, events_sql
from bench.lake import DAYS, base_table, copy_table
from bench.pipeline import run_files
from bench.result import Result

UPSERTS = 50_000
NEW_ONE_IN = 20
VERSIONS = {"position": 3, "equality": 2}


def upserts(spark: SparkSession, folder: Path, rows: int) -> list[Result]:
    """Both modes beside their peers, after a warm-up of both on the same table."""
    base = base_table(spark, folder, rows)
    for kind in ("warm", "measured"):
        _write_upserts(folder / f"upserts-{rows}-{kind}", rows, kind)
    results = []
    for mode, version in VERSIONS.items():
        times: dict[str, float] = {}
        for who in ("ours", "peer"):
            name = f"{who}_{mode}"
            copy_table(spark, folder, base, name, version)
            for kind in ("warm", "measured"):
                events = folder / f"upserts-{rows}-{kind}"
                times[who] = (_ours(spark, folder, events, name, mode) if who == "ours"
                              else _peer(spark, events, name))
        _compare(spark, f"ours_{mode}", f"peer_{mode}")
        results.append(Result(f"upsert-{mode}", times["ours"],
                              f"Spark MERGE INTO, merge-on-read, v{version}", times["peer"],
                              UPSERTS))
    return results


def growth(spark: SparkSession, folder: Path, sizes: Sequence[int]) -> str:
    """How long 50,000 upserts take in position mode as the table grows."""
    lines = []
    for rows in sizes:
        base = base_table(spark, folder, rows)
        name = f"growth_{rows}"
        copy_table(spark, folder, base, name, VERSIONS["position"])
        for kind in ("warm", "measured"):
            _write_upserts(folder / f"upserts-{rows}-{kind}", rows, kind)
            taken = _ours(spark, folder, folder / f"upserts-{rows}-{kind}", name, "position")
        lines.append(f"{UPSERTS:,} upserts, position mode, into {rows:>12,} rows: {taken:6.2f}s")
    return "\n".join(lines)


def _write_upserts(folder: Path, rows: int, kind: str) -> None:
    """Keys spread evenly over the table, one in twenty new; other keys for another `kind`."""
    if folder.exists():
        return
    scratch = folder.with_name(folder.name + ".part")
    scratch.mkdir(parents=True, exist_ok=True)
    shift = {"warm": 1, "measured": 2}[kind]
    step = max(rows // UPSERTS, 1)
    key = (f"CASE WHEN j % {NEW_ONE_IN} = 0 THEN {rows} + j * 3 + {shift} "
           f"ELSE (j * {step} + {shift} * 7) % {rows} END")
    numbers = f"(SELECT {key} AS i FROM range({UPSERTS}) r(j))"
    changed = f"SELECT * REPLACE ('{kind}' AS status), 'u' AS op FROM ({events_sql(numbers, DAYS)})"
    for part in range(4):
        duckdb.sql(f"COPY (SELECT * FROM ({changed}) WHERE id % 4 = {part}) "
                   f"TO '{scratch}/{part}.ndjson' (FORMAT json)")
    scratch.rename(folder)


def _ours(spark: SparkSession, base: Path, events: Path, table: str, mode: str) -> float:
    return run_files(spark, base, events, table, operation="${/op}", identifier_columns=["id"],
                     delete_mode=mode)


def _peer(spark: SparkSession, events: Path, table: str) -> float:
    schema = ", ".join(f"`{name}` {SPARK_TYPES.get(type_, type_.upper())}"
                       for name, type_ in COLUMNS.items())
    began = time.monotonic()
    spark.read.schema(schema).json(str(events)).createOrReplaceTempView("upserts")
    spark.sql(f"MERGE INTO bench.shop.{table} t USING upserts u ON t.id = u.id "
              "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    return time.monotonic() - began


def _compare(spark: SparkSession, ours: str, peer: str) -> None:
    """Both tables hold the same rows, as far as a checksum over them can tell."""
    columns = ", ".join(f"`{name}`" for name in COLUMNS)
    query = f"SELECT count(*), bit_xor(xxhash64({columns})) FROM bench.shop."
    found, wanted = (tuple(spark.sql(query + name).collect()[0]) for name in (ours, peer))
    if found != wanted:
        raise SystemExit(f"{ours} holds {found}, but {peer} {wanted}")
