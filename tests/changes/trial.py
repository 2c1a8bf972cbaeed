"""One change stream on its way through one pipeline, compared with its dictionary."""

from __future__ import annotations

import json
import os
import random
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from meltline.config.table_schema import SchemaBlock
from meltline.sinks.iceberg.create import schema_json, spec_json
from tests.catalogs import Properties
from tests.changes.combination import Combination
from tests.changes.stream import Stream
from tests.changes.values import Json
from tests.lab import Lab
from tests.rows import differences

FILES = 3
EVENTS = 90
_WIDE = 10 << 20
"""From 8 MiB on an epoch is read by several tasks."""


@dataclass
class Trial:
    """`namespace` is the trial's own: a catalog may be shared."""

    lab: Lab
    stream: Stream
    combination: Combination
    namespace: str

    @classmethod
    def make(
        cls, base: Path, catalog: Properties, spark: SparkSession, combination: Combination,
        seed: int,
    ) -> Trial:
        namespace = f"shop_{uuid.uuid4().hex[:8]}"
        lab = Lab(base, catalog, spark, sinks=[combination.sink(namespace)],
                  source={"max_files_per_epoch": FILES},
                  extra={"ledger": {"iceberg": {"namespace": f"{namespace}_ledger"}}})
        trial = cls(lab, combination.stream(seed), combination, namespace)
        if combination.tables == "named":
            trial._make_tables()
        return trial

    def _make_tables(self) -> None:
        schema = SchemaBlock.model_validate(self.combination.schema)
        for name in self.stream.names:
            self.lab.open_catalog().create(self.table(name), schema_json(schema),
                                           spec_json(schema), self.combination.properties)

    @property
    def letters(self) -> str:
        name: str = self.lab.sinks[0]["dlq"]["iceberg"]["table_identifier"]
        return name

    def table(self, name: str) -> str:
        return f"{self.namespace}.{name}"

    def made(self) -> list[str]:
        """The names of the tables that are there; one that is not has nothing to hold."""
        catalog = self.lab.open_catalog()
        there = [name for name in self.stream.tables if catalog.load(self.table(name))]
        missing = set(self.stream.tables) - set(there)
        assert not any(self.stream.tables[name] for name in missing), f"never made: {missing}"
        return there

    def drop_epoch(self, events: int = EVENTS) -> None:
        """The stream's next epoch as files. Their names alone say their order: they are made in
        another one, and all have the same time."""
        number = len(self.stream.history) + 1
        inbox = self.lab.base / "inbox"
        inbox.mkdir(exist_ok=True)
        # JSON does not mind spaces
        padding = " " * (_WIDE // events if self.combination.wide else 0)
        files = list(enumerate(self.stream.epoch(FILES, events)))
        random.Random(number).shuffle(files)
        ready = []
        for index, told in files:
            final = inbox / f"{number:05d}-{index}.ndjson"
            scratch = inbox / f".{final.name}"
            lines = [json.dumps(event) + padding + "\n" for event in told] or ["\n"]
            scratch.write_text("".join(lines), encoding="utf-8")
            time_ns = (1_700_000_000 + number) * 10**9
            os.utime(scratch, ns=(time_ns, time_ns))
            ready.append((scratch, final))
        for scratch, final in ready:
            scratch.rename(final)

    def check_now(self) -> None:
        """Every table, read by Spark, equals the dictionary row by row."""
        for name in self.made():
            wrong = differences(self.lab.rows(self.table(name)), self.stream.tables[name].values())
            assert not wrong, f"{name}: {wrong}"

    def check_letters(self) -> None:
        """Every refused event is there once, with a reason; no other is."""
        letters = self.lab.rows(self.letters) if self.stream.refused else []
        assert Counter(_mark(letter) for letter in letters) == Counter(self.stream.refused)
        assert all(letter["reason"] for letter in letters)

    def check_travel(self) -> None:
        """Each table, read at the snapshot of each epoch, equals the dictionary after that epoch;
        an epoch without a snapshot has changed nothing."""
        for name in self.made():
            at = self.epoch_snapshots(name)
            before: list[Json] = []
            for number, tables in enumerate(self.stream.history, 1):
                wanted = list(tables.get(name, {}).values())
                found = self.lab.rows(self.table(name), at[number]) if number in at else before
                wrong = differences(found, wanted)
                assert not wrong, f"{name} at epoch {number}: {wrong}"
                before = wanted

    def epoch_snapshots(self, name: str) -> dict[int, int]:
        """The snapshot of each epoch that made one; no epoch has two."""
        numbers = [(int(snapshot.summary["meltline.epoch"]), snapshot.snapshot_id)
                   for snapshot in self.lab.snapshots(self.table(name))
                   if "meltline.epoch" in snapshot.summary]
        found = [number for number, _ in numbers]
        assert found == sorted(set(found)), f"{name}: epochs {found}"
        assert set(found) <= set(range(1, len(self.stream.history) + 1))
        return dict(numbers)


def _mark(letter: Json) -> str:
    return str(json.loads(letter["event"])["mark"])
