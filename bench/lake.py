"""Tables for the benchmarks: written once by Spark, then shared by copies of their metadata."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

from bench.data import COLUMNS, SPARK_TYPES, rows_sql
from meltline.lake.catalog import Catalog
from meltline.lake.jvm import Jvm
from meltline.lake.table import Table

DAYS = 30
FILES = 12


def base_table(spark: SparkSession, folder: Path, rows: int) -> Table:
    """`rows` rows of 20 columns over 30 days, partitioned by day, 12 files in each: 360 files.

    Keys are spread over all days, and over a twelfth of them in each file. Kept for later runs;
    what is there is taken as it is.
    """
    catalog = _catalog(spark, "base", folder / "base")
    name = f"shop.rows_{rows}"
    done = folder / "base" / f"rows_{rows}.done"
    if not done.exists():
        catalog.drop(name, purge=True)
        print(f"making a table of {rows:,} rows (kept for later runs)", flush=True)
        scratch = folder / f"rows-{rows}"
        shutil.rmtree(scratch, ignore_errors=True)
        _write_rows(scratch, rows)
        # a task for each file of rows, and each writes to every day
        spark.sql(f"CREATE TABLE base.{name} ({_columns()}) USING iceberg PARTITIONED BY "
                  "(days(at)) TBLPROPERTIES ('write.distribution-mode' = 'none')")
        for part in sorted(scratch.iterdir()):
            rows_of_it = spark.read.parquet(str(part)).coalesce(1)
            rows_of_it.writeTo(f"base.{name}").option("fanout-enabled", "true").append()
        shutil.rmtree(scratch)
        done.touch()
    table = catalog.load(name)
    if table is None:
        raise SystemExit(f"{name} is gone: remove {folder / 'base'}")
    return table


def copy_table(
    spark: SparkSession, folder: Path, base: Table, name: str, version: int
) -> None:
    """A table `bench.shop.<name>` with the very data files of `base`. Its readers and writers may
    not remove files."""
    target = base.target()
    catalog = _catalog(spark, "bench", folder / "warehouse")
    copy = catalog.create(f"shop.{name}", target.schema_json, target.spec_json, {
        "format-version": str(version), "write.merge.mode": "merge-on-read",
        "gc.enabled": "false"})
    append = copy.java.newFastAppend()
    tasks = base.java.newScan().planFiles().iterator()
    while tasks.hasNext():
        append.appendFile(tasks.next().file())
    append.commit()


def _catalog(spark: SparkSession, name: str, warehouse: Path) -> Catalog:
    prefix = f"spark.sql.catalog.{name}"
    spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    properties = {"type": "hadoop", "warehouse": str(warehouse), "name": name}
    for key, value in properties.items():
        spark.conf.set(f"{prefix}.{key}", value)
    return Catalog(Jvm(spark), properties)


def _write_rows(folder: Path, rows: int) -> None:
    """As Parquet, which Spark reads fast: making the rows is not what is measured."""
    folder.mkdir(parents=True)
    share = rows // FILES
    for i in range(FILES):
        begin, end = i * share, rows if i == FILES - 1 else (i + 1) * share
        duckdb.sql(f"COPY ({rows_sql(f'range({begin}, {end}) t(i)', DAYS)}) "
                   f"TO '{folder}/{i:03d}.parquet' (FORMAT parquet, COMPRESSION snappy)")


def _columns() -> str:
    return ", ".join(f"`{name}` {SPARK_TYPES.get(type_, type_.upper())}"
                     for name, type_ in COLUMNS.items())
