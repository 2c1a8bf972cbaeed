"""The pipeline of docs/iceberg-source.md as it is written there, killed hard on its way."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.process import start_run
from tests.warehouse import Warehouse

SEED = 7
KILLS = 1
ADDRESS = "http://127.0.0.1:8181"
REPLICATE = """\
replicate:
  source:
    iceberg:
      catalog: {type: rest, uri: "http://127.0.0.1:8181"}
      polling_interval: PT5S
      tables:
        - {table_name: "prod.orders", identifier_columns: ["region", "id"]}
        - {table_name: "prod.items", identifier_columns: ["id"], disable_export: true}
  sink:
    - iceberg:
        catalog: {type: jdbc, uri: "jdbc:sqlite:analytics.db", warehouse: "warehouse"}
        table_identifier: "copy.${getMetadata(\\"iceberg_table_name\\")}"
        operation: "${getMetadata(\\"iceberg_operation\\")}"
        identifier_columns: ["id"]
        auto_create: true
        schema_evolution: true
"""


def test_the_test_runs_what_the_page_says() -> None:
    assert REPLICATE in Path("docs/iceberg-source.md").read_text(encoding="utf-8")


@pytest.fixture
def source(spark: SparkSession, make_catalog: Callable[[str], Properties]) -> Warehouse:
    made = Warehouse(spark, make_catalog("rest"))
    made.sql("CREATE NAMESPACE IF NOT EXISTS {c}.prod")
    for name in ("orders", "items"):
        made.sql(f"DROP TABLE IF EXISTS {{c}}.prod.{name}")
        made.sql(f"CREATE TABLE {{c}}.prod.{name} (id BIGINT, region STRING, v STRING) "
                 "USING iceberg TBLPROPERTIES ('format-version'='2', "
                 "'write.update.mode'='merge-on-read', 'write.delete.mode'='merge-on-read')")
    return made


def finish(file: Path) -> None:
    run = start_run(file)
    assert run.wait() == 0, run.said


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["id"], row["v"]))


def test_the_copy_follows_through_kills(source: Warehouse, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    text = REPLICATE.replace(ADDRESS, source.properties["uri"])
    file = tmp_path / "replicate.yaml"
    file.write_text(text, encoding="utf-8")
    source.sql("INSERT INTO {c}.prod.orders SELECT id, 'eu', 'a' FROM range(100)")
    source.sql("INSERT INTO {c}.prod.items SELECT id, 'eu', 'before' FROM range(3)")
    finish(file)
    for round_ in range(KILLS):
        source.sql(f"UPDATE {{c}}.prod.orders SET v = 'r{round_}' WHERE id % 3 = {round_}")
        source.sql(f"DELETE FROM {{c}}.prod.orders WHERE id % 17 = {round_}")
        source.sql(f"INSERT INTO {{c}}.prod.items VALUES ({10 + round_}, 'us', 'after')")
        run = start_run(file)
        run.wait_until_says("took over")
        time.sleep(chance.uniform(0, 4))
        run.kill()
    finish(file)

    copy = Warehouse(source.spark, {
        "type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/analytics.db",
        "warehouse": f"{tmp_path}/warehouse"}, name="meltline")
    assert by_id(copy.rows("copy.prod.orders")) == by_id(source.rows("prod.orders"))
    assert by_id(copy.rows("copy.prod.items")) == by_id(
        [row for row in source.rows("prod.items") if row["v"] == "after"])
    applied = [row["summary"]["meltline.source.snapshot"] for row in copy.sql(
        "SELECT summary FROM {c}.copy.prod.orders.snapshots")]
    assert len(applied) == len(set(applied)) == 1 + 2 * KILLS
