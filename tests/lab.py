"""A pipeline under test: events in, one run or many, tables out."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from meltline.assembly.application import Application
from meltline.config.file import load_file
from meltline.engine.crash import CrashPoint, no_crash
from meltline.lake.catalog import Catalog
from meltline.lake.jvm import Jvm
from meltline.lake.table import SnapshotInfo, Table
from meltline.spark.jobs import SparkJobs
from meltline.testing import Recorder, cut_power_at
from tests.once import run_once
from tests.process import Run, start_run

Json = dict[str, Any]


@dataclass
class Lab:
    """One pipeline file in a folder of its own."""

    base: Path
    catalog: Mapping[str, str]
    spark: SparkSession | None = None
    sinks: list[Json] = field(default_factory=list)
    source: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
    application_keys: Json = field(default_factory=dict)
    pipeline: str = "lab"
    _files: int = 0

    def __post_init__(self) -> None:
        # Spark knows a catalog by its name for good, and so does a JDBC catalog
        self.catalog = {"name": f"lab_{uuid.uuid4().hex[:8]}", **self.catalog}

    @property
    def file(self) -> Path:
        return self.base / "lab.yaml"

    def write_config(self) -> None:
        source = {"paths": ["inbox/*.ndjson"], "settle_time": "0s", "polling_interval": "200ms",
                  **self.source}
        sinks = [{"iceberg": {"catalog": dict(self.catalog), "commit_interval": "200ms", **sink}}
                 for sink in self.sinks]
        # JSON is YAML
        pipeline = {"source": {"files": source}, "sink": sinks, **self.extra}
        self.file.write_text(json.dumps({self.pipeline: pipeline, **self.application_keys}))

    def drop_file(self, events: Iterable[Any], name: str | None = None) -> Path:
        """Events as a file in the inbox, renamed into place. A string is written as it is."""
        self._files += 1
        inbox = self.base / "inbox"
        inbox.mkdir(exist_ok=True)
        lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
        final = inbox / (name or f"{self._files:05d}.ndjson")
        scratch = inbox / f".{final.name}"
        scratch.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        scratch.rename(final)
        return final

    def application(self) -> Application:
        assert self.spark is not None
        self.write_config()
        return Application(load_file(self.file).select(), Jvm(self.spark),
                           SparkJobs(self.spark, uuid.uuid4().hex[:8]), self.base)

    def run(self, crash_at: str | None = None, crash: CrashPoint = no_crash) -> Recorder:
        """Once, inside this process; raises what stopped the lane (PowerCut at the crash point)."""
        return run_once(self.application(), crash if crash_at is None else cut_power_at(crash_at))

    def run_process(self, crash_at: str | None = None, options: Sequence[str] = ()) -> Run:
        """`meltline run --once`, to its end, whatever that is."""
        run = self.start_process(crash_at, options=options)
        run.wait()
        return run

    def finish(self) -> None:
        """One more process that must end well."""
        run = self.run_process()
        assert run.wait() == 0, run.said

    def start_process(
        self, crash_at: str | None = None, once: bool = True, options: Sequence[str] = ()
    ) -> Run:
        self.write_config()
        return start_run(self.file, crash_at, once, options)

    def open_catalog(self) -> Catalog:
        assert self.spark is not None
        return Catalog(Jvm(self.spark), dict(self.catalog))

    def table(self, identifier: str) -> Table:
        table = self.open_catalog().load(identifier)
        assert table is not None, f"no table {identifier}"
        return table

    def rows(self, identifier: str, snapshot_id: int | None = None) -> list[Json]:
        """Every row, read by Spark's own Iceberg reader."""
        reader = self.spark_sql().read
        if snapshot_id is not None:
            reader = reader.option("versionAsOf", snapshot_id)
        found = reader.format("iceberg").load(f"{self.catalog['name']}.{identifier}")
        return [row.asDict(recursive=True) for row in found.collect()]

    def spark_sql(self) -> SparkSession:
        """The session, in which the lab's catalog is known by its name."""
        assert self.spark is not None
        prefix = f"spark.sql.catalog.{self.catalog['name']}"
        self.spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        self.spark.conf.set(f"{prefix}.cache-enabled", "false")
        for key, value in {"jdbc.schema-version": "V1", **self.catalog}.items():
            self.spark.conf.set(f"{prefix}.{key}", value)
        return self.spark

    def metadata_file(self, identifier: str) -> Path:
        """The table's current metadata file, on local disk."""
        location = str(self.table(identifier).java.operations().current().metadataFileLocation())
        return Path(re.sub("^file:/+", "/", location))

    def snapshots(self, identifier: str) -> list[SnapshotInfo]:
        """Oldest first."""
        return list(self.table(identifier).ancestry())[::-1]

    def epochs(self, identifier: str) -> list[int]:
        """The epoch numbers of the table's snapshots, oldest first; foreign ones left out."""
        return [int(s.summary["meltline.epoch"]) for s in self.snapshots(identifier)
                if "meltline.epoch" in s.summary]
