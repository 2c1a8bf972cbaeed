"""Fixtures that every ring of tests may use. Servers start when first asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from meltline.spark.session import SparkSettings, start_session

pytest_plugins = ["tests.services.fixtures", "tests.catalogs", "tests.shop_lab", "tests.warehouse",
                  "tests.copy_lab", "tests.readers.fixtures"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark for all tests that run pipelines inside this process."""
    session = start_session(SparkSettings(
        app_name="tests", master="local[2]", connectors=("postgresql", "aws"),
        driver_memory="2g", config={
            # tables have some dozen rows: of the usual 200 tasks of a shuffle, most would be empty
            "spark.sql.shuffle.partitions": "2",
            # UPDATE, DELETE, MERGE and CALL on tables that other engines write
            "spark.sql.extensions":
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"}))
    yield session
    session.stop()
