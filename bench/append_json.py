"""append-json: JSON events from files into a table partitioned by day.

Peer: Spark's own `from_json` and Iceberg's own append, in the same Spark application.
"""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from bench.data import COLUMNS, SPARK_TYPES, write_events
from bench.pipeline import run_files
from bench.result import Result


def append_json(spark: SparkSession, folder: Path, rows: int) -> Result:
    write_events(folder / "warm", 100_000, 4)
    write_events(folder / f"events-{rows}", rows, 16)
    _ours(spark, folder, folder / "warm", "warm_ours")
    _peer(spark, folder / "warm", "warm_peer")
    ours = _ours(spark, folder, folder / f"events-{rows}", "ours")
    peer = _peer(spark, folder / f"events-{rows}", "peer")
    for name in ("ours", "peer"):
        found = spark.table(f"bench.shop.{name}").count()
        if found != rows:
            raise SystemExit(f"{name} wrote {found} rows, not {rows}")
    return Result("append-json", ours, "Spark from_json + append", peer, rows)


def _ours(spark: SparkSession, base: Path, events: Path, table: str) -> float:
    columns = [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]
    spec = [{"column": "at", "transform": "day"}]
    return run_files(spark, base, events, table, auto_create=True,
                     schema={"columns": columns, "partition_spec": spec})


def _peer(spark: SparkSession, events: Path, table: str) -> float:
    columns = ", ".join(f"`{name}` {SPARK_TYPES.get(type_, type_.upper())}"
                        for name, type_ in COLUMNS.items())
    spark.sql(f"CREATE TABLE bench.shop.{table} ({columns}) USING iceberg "
              f"PARTITIONED BY (days(at))")
    began = time.monotonic()
    text = spark.read.text(str(events))
    parsed = text.select(from_json(col("value"), columns).alias("event")).select("event.*")
    parsed.writeTo(f"bench.shop.{table}").append()
    return time.monotonic() - began
