"""append-json: JSON events from files into a table partitioned by day.

Peer: Spark's own `from_json` and Iceberg's own append, in the same Spark application.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from bench.data import COLUMNS, SPARK_TYPES, write_events
from bench.result import Result
from meltline.assembly.application import Application
from meltline.cli.progress import Progress
from meltline.config.file import load_file
from meltline.lake.jvm import Jvm
from meltline.observe.listener import LogListener
from meltline.observe.metrics import Metrics
from meltline.spark.jobs import SparkJobs


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
    catalog = {"type": "hadoop", "warehouse": str(base / "warehouse")}
    config = base / f"{table}.yaml"
    config.write_text(json.dumps({f"bench-{table}-{uuid.uuid4().hex[:6]}": {
        "source": {"files": {"paths": [f"{events}/*.ndjson"], "settle_time": "0s"}},
        "sink": [{"iceberg": {
            "catalog": catalog, "table_identifier": f"shop.{table}", "auto_create": True,
            "schema": {"columns": columns, "partition_spec": spec}}}]}}))
    jobs = SparkJobs(spark, uuid.uuid4().hex[:8])
    application = Application(load_file(config).select(), Jvm(spark), jobs, base)
    began = time.monotonic()
    with Progress(sys.stderr, jobs, enabled=False) as line:
        failures = application.run(LogListener(Metrics(), line), threading.Event(), once=True)
    if failures:
        raise failures[0]
    return time.monotonic() - began


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
