"""Iceberg to Iceberg: the copy equals its source at every snapshot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.testing import PowerCut
from tests.catalogs import Properties
from tests.change_lab import ChangeLab
from tests.differential.replay import plain, rows_at
from tests.warehouse import Warehouse

NAME = '${getMetadata("iceberg_table_name")}'
OPERATION = '${getMetadata("iceberg_operation")}'


@pytest.fixture
def copy(spark: SparkSession, make_catalog: Callable[[str], Properties]) -> Warehouse:
    return Warehouse(spark, make_catalog("jdbc-sqlite"))


@pytest.fixture
def lab(warehouse: Warehouse, copy: Warehouse, tmp_path: Path) -> ChangeLab:
    sink = {"catalog": {"name": copy.name, **copy.properties}, "auto_create": True,
            "table_identifier": f"copy.{NAME}", "operation": OPERATION,
            "identifier_columns": ["id"], "schema_evolution": True}
    table = {"table_name": "prod.orders", "identifier_columns": ["id"]}
    warehouse.sql("CREATE NAMESPACE {c}.prod")
    return ChangeLab(tmp_path, warehouse, [table], [{"iceberg": sink}])


def snapshots(warehouse: Warehouse, identifier: str) -> list[dict[str, Any]]:
    return warehouse.sql(f"SELECT snapshot_id, summary FROM {{c}}.{identifier}.snapshots "
                         f"ORDER BY committed_at, snapshot_id")


def check_every_snapshot(lab: ChangeLab, copy: Warehouse, source: str, target: str) -> int:
    """One target snapshot per source snapshot that changed anything; returns how many."""
    known = {row["summary"]["meltline.source.snapshot"]: row["snapshot_id"]
             for row in snapshots(copy, target)}
    assert len(known) == len(snapshots(copy, target)), "a source snapshot was applied twice"
    newest = snapshots(copy, target)[-1]["summary"]
    assert int(newest["meltline.valid-through-ms"]) > 0
    for snapshot, mine in known.items():
        theirs = rows_at(lab.warehouse, source, int(snapshot))
        ours = rows_at(copy, target, mine)
        order = str
        assert sorted((plain(r) for r in ours), key=order) == sorted(
            (plain(r) for r in theirs), key=order)
    return len(known)


@pytest.mark.parametrize(("version", "mode"), [(2, "copy-on-write"), (3, "merge-on-read")])
def test_the_copy_equals_its_source(
    lab: ChangeLab, copy: Warehouse, version: int, mode: str
) -> None:
    sql = lab.warehouse.sql
    modes = ", ".join(f"'write.{kind}.mode'='{mode}'" for kind in ("delete", "update", "merge"))
    sql("CREATE TABLE {c}.prod.orders (id BIGINT, region STRING, amount DECIMAL(9,2)) "
        f"USING iceberg PARTITIONED BY (region) "
        f"TBLPROPERTIES ('format-version'='{version}', {modes})")
    sql("INSERT INTO {c}.prod.orders VALUES (1, 'us', 1.5), (2, 'eu', null), (3, null, 2.25)")
    lab.run()
    sql("UPDATE {c}.prod.orders SET amount = amount + 1 WHERE id < 3")
    sql("UPDATE {c}.prod.orders SET region = 'eu' WHERE id = 1")
    sql("DELETE FROM {c}.prod.orders WHERE id = 3")
    sql("ALTER TABLE {c}.prod.orders ADD COLUMN note STRING")
    sql("INSERT INTO {c}.prod.orders VALUES (4, 'us', 4.00, 'n')")
    with pytest.raises(PowerCut):
        lab.run(crash_at="publish.table")
    lab.run()
    assert check_every_snapshot(lab, copy, "prod.orders", "copy.prod.orders") == 5


def test_a_new_copy_looks_like_its_source(lab: ChangeLab, copy: Warehouse) -> None:
    sql = lab.warehouse.sql
    sql("CREATE TABLE {c}.prod.orders (id BIGINT NOT NULL, region STRING, at TIMESTAMP_NTZ) "
        "USING iceberg PARTITIONED BY (region, bucket(4, id))")
    sql("INSERT INTO {c}.prod.orders VALUES (1, 'us', TIMESTAMP_NTZ '2024-01-01 00:00:00')")
    lab.run()
    target = copy.table("copy.prod.orders").target()
    assert [(f.name, str(f.field_type), f.required) for f in target.schema.fields] == [
        ("id", "long", True), ("region", "string", False), ("at", "timestamp", False)]
    assert target.schema.identifier_field_ids == [1]
    assert [(f.name, str(f.transform)) for f in target.spec.fields] == [
        ("region", "identity"), ("id_bucket", "bucket[4]")]
    sql("UPDATE {c}.prod.orders SET region = 'eu'")
    lab.run()
    assert check_every_snapshot(lab, copy, "prod.orders", "copy.prod.orders") == 2
