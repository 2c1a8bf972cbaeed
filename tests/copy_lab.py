"""An Iceberg table in one catalog, and the copy that a pipeline keeps of it in another."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.change_lab import ChangeLab
from tests.differential.replay import plain
from tests.warehouse import Warehouse

OPERATION = '${getMetadata("iceberg_operation")}'
SOURCE = "prod.orders"
COPY = "copy.prod.orders"
SET_ASIDE = re.compile(r"_dropped\d*$")
"""Columns that the source has dropped, and the copy cannot: partitions were cut by them."""


@dataclass
class Copies:
    """The source `prod.orders` in one catalog, its copy in another."""

    lab: ChangeLab
    copy: Warehouse

    @property
    def sink(self) -> dict[str, Any]:
        sink: dict[str, Any] = self.lab.sinks[0]["iceberg"]
        return sink

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.lab.warehouse.sql(statement.replace("{t}", f"{{c}}.{SOURCE}"))

    def run(self, *statements: str) -> None:
        self.sql(*statements)
        self.lab.run()

    def names(self) -> list[str]:
        return [field.name for field in self.copy.table(COPY).target().schema.fields]

    def identifiers(self) -> list[str | None]:
        schema = self.copy.table(COPY).target().schema
        return [schema.find_column_name(id_) for id_ in schema.identifier_field_ids]

    def partitions(self) -> list[tuple[str, str]]:
        return [(field.name, str(field.transform))
                for field in self.copy.table(COPY).target().spec.fields]

    def check(self) -> int:
        """Every snapshot of the copy: the columns and rows of the source's. Returns how many."""
        found = self.copy.sql(f"SELECT snapshot_id, summary FROM {{c}}.{COPY}.snapshots")
        known = {int(row["summary"]["meltline.source.snapshot"]): row["snapshot_id"]
                 for row in found}
        assert len(known) == len(found), "a source snapshot was applied twice"
        for theirs, ours in known.items():
            assert at(self.copy, COPY, ours) == at(self.lab.warehouse, SOURCE, theirs)
        return len(found)


def at(warehouse: Warehouse, table: str, snapshot_id: int) -> tuple[list[str], list[Any]]:
    frame = (warehouse.spark.read.option("versionAsOf", snapshot_id)
             .format("iceberg").load(f"{warehouse.name}.{table}"))
    names = [name for name in frame.columns if not SET_ASIDE.search(name)]
    rows = [plain(row.asDict(recursive=True)) for row in frame.select(*names).collect()]
    return names, sorted(rows, key=str)


@pytest.fixture
def copies(
    spark: SparkSession, make_catalog: Callable[[str], Properties], tmp_path: Path
) -> Copies:
    return make_copies(spark, make_catalog, tmp_path)


def make_copies(
    spark: SparkSession, make_catalog: Callable[[str], Properties], folder: Path
) -> Copies:
    source, copy = (Warehouse(spark, make_catalog("jdbc-sqlite")) for _ in range(2))
    sink = {"catalog": {"name": copy.name, **copy.properties}, "auto_create": True,
            "table_identifier": COPY, "operation": OPERATION, "schema_evolution": True}
    table = {"table_name": SOURCE, "identifier_columns": ["id"]}
    source.sql("CREATE NAMESPACE {c}.prod")
    return Copies(ChangeLab(folder, source, [table], [{"iceberg": sink}]), copy)


def create(copies: Copies, columns: str, more: str = "", rows: Sequence[str] = ()) -> None:
    copies.run(f"CREATE TABLE {{t}} ({columns}) USING iceberg {more}",
               *(f"INSERT INTO {{t}} VALUES {row}" for row in rows))


def alter(*changes: str) -> list[str]:
    return [f"ALTER TABLE {{t}} {change}" for change in changes]
