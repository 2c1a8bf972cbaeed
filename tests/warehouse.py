"""Tables that other engines write: Spark SQL beside our own catalog, read back by Spark and
pyiceberg."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

from meltline.lake.catalog import Catalog
from meltline.lake.jvm import Jvm
from meltline.lake.table import Table

Row = dict[str, Any]


@dataclass
class Warehouse:
    """One catalog, under the same name for Spark SQL and for us. `{c}` in SQL is its name."""

    spark: SparkSession
    properties: Mapping[str, str]
    name: str = field(default_factory=lambda: f"w_{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        prefix = f"spark.sql.catalog.{self.name}"
        settings = {"cache-enabled": "false", "jdbc.schema-version": "V1", **self.properties}
        self.spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        for key, value in settings.items():
            self.spark.conf.set(f"{prefix}.{key}", value)
        self.catalog = Catalog(Jvm(self.spark), {"name": self.name, **self.properties})

    def sql(self, text: str) -> list[Row]:
        return [row.asDict(recursive=True)
                for row in self.spark.sql(text.replace("{c}", self.name)).collect()]

    def table(self, identifier: str) -> Table:
        table = self.catalog.load(identifier)
        assert table is not None, identifier
        return table

    def rows(self, identifier: str) -> list[Row]:
        """By Spark's own reader."""
        return self.sql(f"SELECT * FROM {{c}}.{identifier}")

    def rows_by_pyiceberg(self, identifier: str) -> list[Row]:
        """Without any Java. Knows position deletes and deletion vectors, no equality deletes."""
        java = self.table(identifier).java
        location = java.operations().current().metadataFileLocation()
        found: list[Row] = StaticTable.from_metadata(location).scan().to_arrow().to_pylist()
        return found


@pytest.fixture
def warehouse(
    spark: SparkSession, make_catalog: Callable[[str], dict[str, str]]
) -> Warehouse:
    return Warehouse(spark, make_catalog("jdbc-sqlite"))
