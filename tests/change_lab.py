"""Pipelines that read Iceberg tables: written by Spark SQL, events out as files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meltline.assembly.application import Application
from meltline.config.file import load_file
from meltline.engine.crash import no_crash
from meltline.lake.jvm import Jvm
from meltline.spark.jobs import SparkJobs
from meltline.testing import Recorder, cut_power_at
from tests.once import run_once
from tests.process import Run, start_run
from tests.warehouse import Warehouse

Json = dict[str, Any]


@dataclass
class ChangeLab:
    """A pipeline `lab` in a folder of its own, over tables of one warehouse."""

    base: Path
    warehouse: Warehouse
    tables: Sequence[Json]
    sinks: Sequence[Json] = field(default_factory=lambda: [{"file": {"path": "out"}}])
    source: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
    application_keys: Json = field(default_factory=dict)
    """Beside the pipeline."""

    def catalog(self) -> Json:
        return {"name": self.warehouse.name, **self.warehouse.properties}

    def write_config(self) -> Path:
        source = {"catalog": self.catalog(), "polling_interval": "200ms",
                  "tables": list(self.tables), **self.source}
        file = self.base / "lab.yaml"
        file.write_text(json.dumps({**self.application_keys, "lab": {
            "source": {"iceberg": source}, "sink": list(self.sinks),
            "ledger": {"sqlite": {"path": "ledger.db"}}, **self.extra}}))
        return file

    def application(self) -> Application:
        spark = self.warehouse.spark
        return Application(load_file(self.write_config()).select(), Jvm(spark),
                           SparkJobs(spark, uuid.uuid4().hex[:8]), self.base)

    def run(self, crash_at: str | None = None) -> Recorder:
        """Once, inside this process; raises what stopped a lane (PowerCut at the crash point)."""
        return run_once(self.application(),
                        no_crash if crash_at is None else cut_power_at(crash_at))

    def start_process(self, crash_at: str | None = None) -> Run:
        """`meltline run --once`."""
        return start_run(self.write_config(), crash_at)

    def events(self, folder: str = "out") -> list[Json]:
        """All lines so far, in the order of the epochs."""
        found = []
        for file in sorted((self.base / folder).glob("*.ndjson")):
            found += [json.loads(line) for line in file.read_text().splitlines()]
        return found

    def changes(self) -> list[tuple[str, str | None, Json]]:
        return [(e["metadata"]["iceberg_operation"], e["metadata"]["document_id"], e["document"])
                for e in self.events()]
