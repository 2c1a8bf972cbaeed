"""Large and wide epochs: how fast, and how much memory the processes take at most."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psutil

from bench.data import COLUMNS, events_sql, write_events

MIB = 1 << 20
TABLES = 500
PARTITIONS = 2000


@dataclass(frozen=True)
class Peaks:
    """Highest resident memory seen, in bytes. `worker` is the largest of the Python workers."""

    seconds: float
    driver: int
    jvm: int
    worker: int

    def render(self, rows: int) -> str:
        return (f"{rows:,} events in one epoch: {self.seconds:.1f}s with start-up, "
                f"{rows / self.seconds:,.0f} events/s; peak memory: driver "
                f"{self.driver / MIB:,.0f} MiB, JVM {self.jvm / MIB:,.0f} MiB, largest worker "
                f"{self.worker / MIB:,.0f} MiB")


def ten_million(folder: Path, rows: int = 10_000_000) -> Peaks:
    """One table, partitioned by day."""
    events = folder / f"events-{rows}"
    write_events(events, rows, 40)
    return _measure(folder / "memory", events, [{
        "table_identifier": "a.b", "auto_create": True, "schema": {
            "columns": _columns(), "partition_spec": [{"column": "at", "transform": "day"}]}}])


def many_tables(folder: Path, rows: int = 1_000_000) -> Peaks:
    """Every event into one of 500 tables and into one of the 2,000 partitions of another."""
    events = folder / f"wide-events-{rows}"
    if not events.exists():
        scratch = events.with_name(events.name + ".part")
        scratch.mkdir(parents=True, exist_ok=True)
        wide = (f"SELECT *, 't' || id % {TABLES} AS \"table\", id % {PARTITIONS} AS part "
                f"FROM ({events_sql(f'range({rows}) t(i)')})")
        duckdb.sql(f"COPY ({wide}) TO '{scratch}/0.ndjson' (FORMAT json)")
        scratch.rename(events)
    columns = [*_columns(), {"name": "part", "type": "long"}]
    return _measure(folder / "memory", events, [
        {"table_identifier": "wide.${/table}", "auto_create": True, "exclude_keys": ["table"]},
        {"table_identifier": "deep.parts", "auto_create": True, "exclude_keys": ["table"],
         "schema": {"columns": columns, "partition_spec": [{"column": "part"}]}}])


def _columns() -> list[dict[str, str]]:
    return [{"name": name, "type": type_} for name, type_ in COLUMNS.items()]


def _measure(base: Path, events: Path, sinks: list[dict[str, Any]]) -> Peaks:
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir(parents=True)
    (base / "p.yaml").write_text(json.dumps({"memory": {
        "source": {"files": {"paths": [f"{events}/*.ndjson"], "settle_time": "0s"}},
        "sink": [{"iceberg": sink} for sink in sinks]}}))
    command = [sys.executable, "-m", "meltline.cli.main", "run", "p.yaml", "--once"]
    began = time.monotonic()
    driver, jvm, worker = _watch(subprocess.Popen(command, cwd=base))
    return Peaks(time.monotonic() - began, driver, jvm, worker)


def _watch(process: subprocess.Popen[bytes]) -> tuple[int, int, int]:
    driver = jvm = worker = 0
    root = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            driver = max(driver, root.memory_info().rss)
            for child in root.children(recursive=True):
                size = child.memory_info().rss
                if "java" in child.name():
                    jvm = max(jvm, size)
                else:
                    worker = max(worker, size)
        except psutil.Error:
            continue
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"meltline run failed with {process.returncode}")
    return driver, jvm, worker
