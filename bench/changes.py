"""changes-*: what 50 thousand scattered updates in 10 million rows cost to find.

Peer: Iceberg's own `create_changelog_view`, in the same Spark application, on the same snapshots.
Tables are written once and kept: writing them takes longer than everything else.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.result import Result
from meltline.assembly.application import Application
from meltline.cli.progress import Progress
from meltline.config.file import load_file
from meltline.engine.lane import EpochResult, Lane
from meltline.lake.jvm import Jvm
from meltline.observe.listener import LogListener
from meltline.observe.metrics import Metrics
from meltline.spark.jobs import SparkJobs

ROWS = 10_000_000
CHANGED = 50_000
_COLUMNS = """
id AS id, pmod(hash(id, 1), 1000000) AS user,
timestamp_seconds(1704067200 + pmod(hash(id, 2), 31622400)) AS at,
element_at(array('PAID', 'NEW', 'SHIPPED'), CAST(1 + id % 3 AS INT)) AS status,
CAST(pmod(hash(id, 3), 10000000) / 100 AS DECIMAL(12,2)) AS amount, pmod(hash(id, 4), 100) AS qty,
rand(5) AS price, rand(6) AS lat, rand(7) AS lon, concat('customer ', id) AS name,
element_at(array('Berlin', 'Paris', 'Rome'), CAST(1 + id % 3 AS INT)) AS city, 'DE' AS country,
id % 2 = 0 AS flag, concat('some text of average length ', id) AS note,
CAST(id % 10000 AS STRING) AS zip, rand(8) AS score, pmod(hash(id, 9), 1000) AS visits,
concat('ref-', id) AS ref, 'web' AS channel, 'mobile' AS device"""

_TAXI_COLUMNS = """
id AS id, CAST(1 + id % 2 AS INT) AS vendor,
timestamp_seconds(1704067200 + pmod(hash(id, 2), 31622400)) AS at,
timestamp_seconds(1704067800 + pmod(hash(id, 2), 31622400)) AS dropoff,
CAST(1 + pmod(hash(id, 3), 6) AS INT) AS passengers, pmod(hash(id, 4), 3000) / 100 AS distance,
CAST(1 + pmod(hash(id, 5), 5) AS INT) AS rate, element_at(array('N', 'Y'), CAST(1 + id % 2 AS INT))
AS forwarded, CAST(pmod(hash(id, 6), 265) AS INT) AS pickup_zone,
CAST(pmod(hash(id, 7), 265) AS INT) AS dropoff_zone, CAST(1 + pmod(hash(id, 8), 4) AS INT)
AS payment, pmod(hash(id, 9), 10000) / 100 AS amount, 0.5D AS extra, 0.5D AS mta_tax,
pmod(hash(id, 10), 2000) / 100 AS tip, 0.0D AS tolls, 1.0D AS improvement, 2.5D AS congestion,
0.0D AS airport"""


@dataclass(frozen=True)
class Shape:
    """A table with one big snapshot and others, each of which changes rows all over it."""

    name: str
    version: int
    partitioned: bool = True
    mode: str = "copy-on-write"
    rows: int = ROWS
    statement: str = "UPDATE {t} SET amount = amount + 1 WHERE pmod(hash(id, 11), {n}) = 0"
    columns: str = _COLUMNS
    changed: tuple[int, ...] = (CHANGED,)

    @property
    def table(self) -> str:
        return f"{self.name.replace('-', '_')}_{self.rows}"


COPY_ON_WRITE = Shape("changes-cow-v2", 2)
LINEAGE = Shape("changes-lineage-v3", 3)
FLAT = Shape("changes-cow-v2-flat", 2, partitioned=False)
SMALL = Shape("changes-small", 2, rows=100_000)
DELETES = "DELETE FROM {t} WHERE pmod(hash(id, 11), {n}) = 0"
MERGE_ON_READ = [Shape("changes-mor-v3", 3, mode="merge-on-read", rows=rows, statement=DELETES)
                 for rows in (1_000_000, ROWS)]
INSERTS = Shape("changes-insert", 2, rows=1_000_000, statement="")
TAXI = Shape("changes-taxi", 2, rows=41_000_000, columns=_TAXI_COLUMNS, changed=(CHANGED, 500_000))


def changes(spark: SparkSession, folder: Path, shapes: Sequence[Shape]) -> list[Result]:
    _open_catalog(spark, folder)
    for shape in (SMALL, *shapes):
        _write(spark, folder, shape)
    _ours(spark, folder, SMALL)
    _peer(spark, SMALL)
    return [_compare(spark, folder, shape) for shape in shapes]


def _compare(spark: SparkSession, folder: Path, shape: Shape) -> Result:
    """Both run twice, the second time counts: compiled, and the files in memory."""
    _ours(spark, folder, shape)
    ours, found, peak = _ours(spark, folder, shape)
    _peer(spark, shape)
    peer, expected = _peer(spark, shape)
    if found != expected:
        raise SystemExit(f"{shape.name}: {found} changes found, {expected} expected")
    print(f"{shape.name}: {found:,} changes, largest worker {peak >> 20:,} MiB", flush=True)
    return Result(shape.name, ours, "create_changelog_view", peer, shape.rows)


def only_ours(
    spark: SparkSession, folder: Path, shapes: Sequence[Shape]
) -> list[tuple[str, float]]:
    """Where Iceberg's own changelog cannot answer there is nothing to compare with."""
    _open_catalog(spark, folder)
    for shape in (SMALL, *shapes):
        _write(spark, folder, shape)
    _ours(spark, folder, SMALL)
    found = []
    for shape in shapes:
        for number, changed in enumerate(shape.changed):
            _ours(spark, folder, shape, number)
            seconds, events, peak = _ours(spark, folder, shape, number)
            print(f"{shape.name}: {events:,} changes, largest worker {peak >> 20:,} MiB",
                  flush=True)
            found.append((f"{shape.name} ({changed:,} of {shape.rows:,} rows)", seconds))
    return found


def _open_catalog(spark: SparkSession, folder: Path) -> None:
    spark.conf.set("spark.sql.catalog.kept", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.kept.type", "hadoop")
    spark.conf.set("spark.sql.catalog.kept.warehouse", str(folder / "warehouse-changes"))


def _write(spark: SparkSession, folder: Path, shape: Shape) -> None:
    name = f"kept.changes.{shape.table}"
    marker = folder / "warehouse-changes" / f"{shape.table}.done"
    if marker.exists():
        return
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spec = "PARTITIONED BY (days(at))" if shape.partitioned else ""
    modes = ", ".join(f"'write.{kind}.mode'='{shape.mode}'" for kind in ("delete", "update"))
    types = spark.range(1).selectExpr(*_split(shape.columns)).schema.simpleString()[7:-1]
    columns = ", ".join(f"`{part.partition(':')[0]}` {part.partition(':')[2]}"
                        for part in _split(types))
    spark.sql(f"CREATE TABLE {name} ({columns}) USING iceberg {spec} "
              f"TBLPROPERTIES ('format-version'='{shape.version}', {modes})")
    rows = spark.range(0, shape.rows, 1, 8).selectExpr(*_split(shape.columns))
    if shape.statement:
        rows.writeTo(name).append()
        for changed in shape.changed:
            spark.sql(shape.statement.format(t=name, n=max(shape.rows // changed, 2)))
    else:
        rows.limit(1).writeTo(name).append()
        rows.writeTo(name).append()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _split(columns: str) -> list[str]:
    """At the commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(columns):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(columns[start:index].strip())
            start = index + 1
    return [*parts, columns[start:].strip()]


class _Peak(LogListener):
    """Remembers how large the largest worker was, and how many events there were."""

    worker = 0
    events = 0

    def epoch_done(self, lane: Lane, result: EpochResult, seconds: float) -> None:  # noqa: ARG002
        self.worker = max(self.worker, result.report.peak_rss)
        self.events += sum(sink.rows for sink in result.report.sinks)


def _ours(
    spark: SparkSession, folder: Path, shape: Shape, number: int = 0
) -> tuple[float, int, int]:
    """Seconds from the start of the pipeline to the published file, events, peak memory.

    `number` says which of the shape's changes is read."""
    snapshots = _snapshots(spark, shape)
    upto = f"upto_{number}"
    spark.sql(f"ALTER TABLE kept.changes.{shape.table} CREATE OR REPLACE BRANCH {upto} "
              f"AS OF VERSION {snapshots[number + 1]}")
    base = folder / "changes" / uuid.uuid4().hex[:6]
    base.mkdir(parents=True)
    config = base / "p.yaml"
    catalog = {"type": "hadoop", "warehouse": str(folder / "warehouse-changes")}
    config.write_text(json.dumps({"bench": {
        "source": {"iceberg": {"catalog": catalog, "tables": [{
            "table_name": f"changes.{shape.table}", "identifier_columns": ["id"],
            "branch": upto, "disable_export": True, "start_from": str(snapshots[number])}]}},
        "sink": [{"file": {"path": "out"}}], "ledger": {"sqlite": {"path": "l.db"}}}}))
    jobs = SparkJobs(spark, uuid.uuid4().hex[:8])
    application = Application(load_file(config).select(), Jvm(spark), jobs, base)
    began = time.monotonic()
    with Progress(sys.stderr, jobs, enabled=False) as line:
        listener = _Peak(Metrics(), line)
        failures = application.run(listener, threading.Event(), once=True)
    if failures:
        raise failures[0]
    took = time.monotonic() - began
    shutil.rmtree(base)
    return took, listener.events, listener.worker


def _peer(spark: SparkSession, shape: Shape) -> tuple[float, int]:
    first, last = _snapshots(spark, shape)[:2]
    began = time.monotonic()
    spark.sql(
        f"CALL kept.system.create_changelog_view(table => 'changes.{shape.table}', "
        f"changelog_view => 'peer', identifier_columns => array('id'), "
        f"options => map('start-snapshot-id', '{first}', 'end-snapshot-id', '{last}'))")
    spark.table("peer").write.format("noop").mode("overwrite").save()
    took = time.monotonic() - began
    found = spark.sql("SELECT count(*) FROM peer WHERE _change_type <> 'UPDATE_BEFORE'") \
        if shape.rows < ROWS else None
    count = int(found.collect()[0][0]) if found is not None else _expected(spark, shape)
    return took, count


def _expected(spark: SparkSession, shape: Shape) -> int:
    """How many rows the statement hit: the changelog of ten million rows is not read twice."""
    condition = f"pmod(hash(id, 11), {max(shape.rows // CHANGED, 2)}) = 0"
    return spark.range(0, shape.rows).where(condition).count()


def _snapshots(spark: SparkSession, shape: Shape) -> list[int]:
    rows = spark.sql(f"SELECT snapshot_id FROM kept.changes.{shape.table}.snapshots "
                     f"ORDER BY committed_at").collect()
    return [int(row[0]) for row in rows]
