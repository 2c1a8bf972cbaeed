"""upsert: rows of a large table replaced by key, spread over all of its files.

`python -m bench.upsert` measures the driver's half alone: plan, lookup, deletion vectors, commit.
"""

from __future__ import annotations

import argparse
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyspark.sql import SparkSession

from meltline.engine.epoch import Epoch
from meltline.engine.work import TaskPlace
from meltline.kernels.parquet import DATA, equality_deletes
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.lake.catalog import Catalog
from meltline.lake.jvm import Jvm
from meltline.lake.scan import scan_files
from meltline.lake.table import Table
from meltline.model.file_closed import EQUALITY_DELETES
from meltline.model.plan import Plan, Position
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.lookup_publish import publish_looked_up
from meltline.sinks.iceberg.publish import Publisher
from meltline.sinks.iceberg.reports import file_reports, path_prefix
from meltline.spark.jobs import SparkJobs
from meltline.spark.session import SparkSettings, start_session

DAYS = 366
_COLUMNS = """
  i AS id, DATE '2024-01-01' + (hash(i) % {days})::INT AS day, (hash(i + 1) % 1000)::INT AS qty,
  (hash(i + 2) % 10000019) / 100003 AS price,
  ['NEW', 'PAID', 'SHIPPED'][1 + (i % 3)::INT] AS status, 'note {word} ' || (i % 9973) AS note
"""


def make_table(table: Table, rows: int, files: int) -> None:
    """Rows of unordered ids in as many files; each of them may hold any id."""
    target, place = table.target(), TaskPlace("bench", "main", 0, 0, 0, uuid.uuid4().hex[:8])
    share = rows // files
    contents = []
    for number in range(files):
        picked = f"SELECT (i * {files} + {number})::BIGINT AS i FROM range({share}) t(i)"
        writer = TableWriter(target, f"{path_prefix(target, place)}-{number}", WriteLimits())
        writer.add(_rows(target, picked, "old"))
        contents += [closed.content for closed in writer.finish()]
    append = table.java.newAppend()
    parser, specs = table.jvm.iceberg.ContentFileParser, table.java.specs()
    for content in contents:
        append.appendFile(parser.fromJson(table.jvm.json_tree(content), specs))
    append.commit()
    table.refresh()


def write_changes(table: Table, rows: int, changes: int, epoch: int) -> list[str]:
    """What the workers report of an epoch: new rows, and the keys of the old ones."""
    target, step = table.target(), rows // changes
    picked = (f"SELECT (i * {step} + hash(i + {epoch}) % {step})::BIGINT AS i "
              f"FROM range({changes}) t(i)")
    found = _rows(target, picked, f"of epoch {epoch}")
    field = target.schema.find_field("id")
    keys = replace(target, schema_json=Schema(field).model_dump_json(),
                   spec_json=PartitionSpec().model_dump_json())
    return [*_write(target, found, epoch, "data"), *_write(keys, found.select(["id"]), epoch,
                                                           EQUALITY_DELETES, [field.field_id])]


def upsert(spark: SparkSession, table: Table, reports: Sequence[str], epoch: int) -> float:
    """Seconds of lookup, deletion vectors and commit."""
    jobs = SparkJobs(spark, uuid.uuid4().hex[:8])
    plan = Epoch("bench", "main", epoch, Plan({}, Position({"n": epoch})), 0, jobs.parallelism)
    ids = [table.target().schema.find_field("id").field_id]
    began = time.monotonic()
    done = publish_looked_up(Publisher(table, plan, "bench"), reports, ids, "position", jobs.map)
    if done.conflicts or done.repeated:
        raise SystemExit(f"somebody else writes the table of the benchmark: {done}")
    return time.monotonic() - began


def _rows(target: TableTarget, picked: str, word: str) -> pa.Table:
    arrow = schema_to_pyarrow(target.schema, include_field_ids=True)
    columns = _COLUMNS.format(days=DAYS, word=word)
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT {columns} FROM ({picked})").to_arrow_table()
    return found.cast(arrow)


def _write(
    target: TableTarget, rows: pa.Table, epoch: int, kind: str, ids: Sequence[int] = ()
) -> Sequence[str]:
    place = TaskPlace("bench", "main", epoch, 0, 0, f"{kind}-{uuid.uuid4().hex[:8]}")
    writer = TableWriter(target, path_prefix(target, place), WriteLimits(),
                         equality_deletes(ids) if ids else DATA)
    writer.add(rows)
    return file_reports(target, place, "bench", writer.finish(), kind)


def create(catalog: Catalog, spark: SparkSession, name: str) -> Table:
    spark.sql(f"CREATE TABLE bench.shop.{name} (id BIGINT, day DATE, qty INT, price DOUBLE, "
              f"status STRING, note STRING) USING iceberg TBLPROPERTIES ("
              f"'format-version'='3', 'write.merge.mode'='merge-on-read')")
    table = catalog.load(f"shop.{name}")
    if table is None:
        raise SystemExit(f"no table {name}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--changes", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(".meltline/bench-upsert"))
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    warehouse = str(options.folder.absolute())
    spark = start_session(SparkSettings(app_name="bench", driver_memory="2g", config={
        "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.bench.type": "hadoop",
        "spark.sql.catalog.bench.warehouse": warehouse}))
    catalog = Catalog(Jvm(spark), {"type": "hadoop", "warehouse": warehouse})
    table = create(catalog, spark, f"rows_{options.rows}")
    make_table(table, options.rows, DAYS)
    for epoch in range(1, options.epochs + 1):
        reports = write_changes(table, options.rows, options.changes, epoch)
        seconds = upsert(spark, table, reports, epoch)
        began = time.monotonic()
        files = len(scan_files(table).files)
        planning = time.monotonic() - began
        print(f"{options.changes:,} upserts by position into {options.rows:,} rows "
              f"({files} files), epoch {epoch}: {seconds:.2f}s; a scan plan alone "
              f"{planning:.2f}s")
    found = spark.table(f"bench.shop.{table.identifier.split('.')[1]}").count()
    print(f"{found:,} rows in the table")
    spark.stop()


if __name__ == "__main__":
    main()
