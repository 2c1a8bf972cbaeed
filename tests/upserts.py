"""Epochs of upserts and deletes, published by key lookup into a table that others write too."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from meltline.engine.epoch import Epoch
from meltline.engine.sink import Published
from meltline.engine.work import TaskPlace
from meltline.kernels.parquet import ClosedParquet, equality_deletes
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.lake.change import Change
from meltline.lake.table import Table
from meltline.model.file_closed import EQUALITY_DELETES, FileClosed
from meltline.model.plan import Plan, Position
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.lookup import KeyLookup, Wanted
from meltline.sinks.iceberg.publish import Publisher
from meltline.sinks.iceberg.reports import file_reports, path_prefix
from meltline.spark.jobs import SparkJobs
from tests.warehouse import Row, Warehouse

Hook = Callable[[], object]


@dataclass
class Upserts:
    """Publishes epoch after epoch. `rows` is what the table must hold, by key."""

    warehouse: Warehouse
    identifier: str
    keys: tuple[str, ...]
    mode: str = "position"
    branch: str | None = None
    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)
    epoch: int = 0
    changes: list[Change] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table: Table = self.warehouse.table(self.identifier)
        self._jobs = SparkJobs(self.warehouse.spark, uuid.uuid4().hex[:6])

    def key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.keys)

    def know(self, rows: Iterable[Row]) -> None:
        """Rows that somebody else has put into the table."""
        self.rows.update({self.key(row): row for row in rows})

    def apply(
        self, upserts: Sequence[Row] = (), deletes: Sequence[Row] = (),
        meanwhile: Sequence[Hook] = (),
    ) -> Published:
        """One epoch. `meanwhile` are called after a lookup and before its commit, one each."""
        self.epoch += 1
        for row in [*upserts, *deletes]:
            self.rows.pop(self.key(row), None)
        self.know(upserts)
        self.table.refresh()
        data = self._write(self.table.target(), upserts)
        keys = self._write(self._key_target(), [*upserts, *deletes], EQUALITY_DELETES)
        epoch = Epoch("lab", "main", self.epoch, Plan({}, Position({"n": self.epoch})), 0, 2)
        wanted = Wanted(_reports(data), _reports(keys), self._ids(), self.mode)
        lookup = KeyLookup(self.table, epoch, wanted, self._map, self.branch)
        waiting = list(meanwhile)

        def compute() -> Change:
            change = lookup.change()
            self.changes.append(change)
            if waiting:
                waiting.pop(0)()
            return change

        done = Publisher(self.table, epoch, "owner", self.branch).reports([*data, *keys], compute)
        lookup.forget_keys()
        return done

    def check(self, pyiceberg: bool = True) -> None:
        """The table, by both readers, is what the dictionary says."""
        wanted = _sorted(self.rows.values())
        assert _sorted(self.warehouse.rows(self.identifier)) == wanted
        if pyiceberg:
            found = self.warehouse.rows_by_pyiceberg(self.identifier)
            assert _sorted(_plain(row) for row in found) == wanted

    def deletes(self) -> list[Row]:
        """The live delete files."""
        return self.warehouse.sql(f"SELECT * FROM {{c}}.{self.identifier}.delete_files")

    def _map(self, function: Any, items: Sequence[Any], description: str, pool: str) -> list[Any]:
        """Counts the files whose keys are read."""
        self.looked.append(sum(one.hits is None for group in items for one in group))
        return self._jobs.map(function, items, description, pool)

    def _ids(self) -> list[int]:
        schema = self.table.target().schema
        return [schema.find_field(name).field_id for name in self.keys]

    def _key_target(self) -> TableTarget:
        target = self.table.target()
        schema = Schema(*(target.schema.find_field(name) for name in self.keys))
        return replace(target, schema_json=schema.model_dump_json(),
                       spec_json=PartitionSpec().model_dump_json())

    def _write(
        self, target: TableTarget, rows: Sequence[Row], kind: str = "data"
    ) -> tuple[str, ...]:
        place = TaskPlace("lab", "main", self.epoch, 0, 0, f"{kind}-{uuid.uuid4().hex[:8]}")
        arrow = schema_to_pyarrow(target.schema, include_field_ids=True)
        closed: list[ClosedParquet] = []
        if rows:
            content = equality_deletes(self._ids()) if kind == EQUALITY_DELETES else {
                "content": "data"}
            writer = TableWriter(target, path_prefix(target, place), WriteLimits(), content)
            columns = [pa.array([row[name] for row in rows], arrow.field(name).type)
                       for name in arrow.names]
            writer.add(pa.Table.from_arrays(columns, schema=arrow))
            closed = writer.finish()
        return file_reports(target, place, "batch", closed, kind)


def _reports(texts: Iterable[str]) -> list[FileClosed]:
    return [FileClosed.from_json(text) for text in texts]


def _sorted(rows: Iterable[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def _plain(row: Row) -> Row:
    """As Spark gives it: a time without its zone."""
    return {name: value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value
            for name, value in row.items()}
