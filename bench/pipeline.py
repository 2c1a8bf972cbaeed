"""Our side of a benchmark: one pipeline from JSON files into one table, run once."""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from meltline.assembly.application import Application
from meltline.cli.progress import Progress
from meltline.config.file import load_file
from meltline.lake.jvm import Jvm
from meltline.observe.listener import LogListener
from meltline.observe.metrics import Metrics
from meltline.spark.jobs import SparkJobs


def run_files(
    spark: SparkSession, base: Path, events: Path, table: str, **sink: Any
) -> float:
    """Seconds from the start of the run to its end. `sink` holds further keys of the sink."""
    config = base / f"{table}.yaml"
    config.write_text(json.dumps({f"bench-{table}-{uuid.uuid4().hex[:6]}": {
        "source": {"files": {"paths": [f"{events}/*.ndjson"], "settle_time": "0s"}},
        "sink": [{"iceberg": {
            "catalog": {"type": "hadoop", "warehouse": str(base / "warehouse")},
            "table_identifier": f"shop.{table}", **sink}}]}}))
    jobs = SparkJobs(spark, uuid.uuid4().hex[:8])
    application = Application(load_file(config).select(), Jvm(spark), jobs, base)
    began = time.monotonic()
    with Progress(sys.stderr, jobs, enabled=False) as line:
        failures = application.run(LogListener(Metrics(), line), threading.Event(), once=True)
    if failures:
        raise failures[0]
    return time.monotonic() - began
