"""`make bench`: prints a table and writes bench/results.json.

Nothing here asserts a time: the machine may be busy, so only the ratio of two measurements taken
side by side says anything.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from bench.append_json import append_json
from bench.changes import (
    COPY_ON_WRITE,
    FLAT,
    INSERTS,
    LINEAGE,
    MERGE_ON_READ,
    TAXI,
    changes,
    only_ours,
)
from bench.memory import PARTITIONS, TABLES, many_tables, ten_million
from bench.result import render
from bench.upserts import growth, upserts
from meltline.spark.session import SparkSettings, start_session

RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Meltline beside its peers.")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--upsert-rows", type=int, default=10_000_000,
                        help="rows of the table that upserts go into")
    parser.add_argument("--only", choices=("append", "upsert", "changes"), help="measure only this")
    parser.add_argument("--full", action="store_true",
                        help="also changes of 41 million rows, upserts into forty million, and "
                             "with peak memory ten million events in one epoch, and one into 500 "
                             "tables")
    parser.add_argument("--folder", type=Path, default=Path(".meltline/bench"))
    options = parser.parse_args()
    folder = options.folder.absolute()
    for name in ("warehouse",):
        shutil.rmtree(folder / name, ignore_errors=True)
    spark = _session(folder)
    results, notes = [], ""
    if options.only in (None, "changes"):
        results += changes(spark, folder, [COPY_ON_WRITE, LINEAGE, FLAT, INSERTS])
        for name, seconds in only_ours(spark, folder, [*MERGE_ON_READ, *[TAXI] * options.full]):
            print(f"{name}: {seconds:.2f}s", flush=True)
        if options.full:
            print("(a peer with a shuffle of its own, on clusters of 2-core nodes: 21 to 37 s for "
                  "50,000 of 41 million rows, and 500,000 stall)", flush=True)
    if options.only in (None, "append"):
        results.append(append_json(spark, folder, options.rows))
    if options.only in (None, "upsert"):
        results += upserts(spark, folder, options.upsert_rows)
        sizes = [options.upsert_rows // 10, options.upsert_rows]
        notes = growth(spark, folder, sizes + [4 * options.upsert_rows] * options.full)
    spark.stop()
    RESULTS.write_text(json.dumps([result.to_dict() for result in results], indent=2) + "\n")
    print(render(results), notes, sep="\n")
    if options.full:
        rows = 10_000_000
        print(ten_million(folder, rows).render(rows))
        rows = 1_000_000
        print(f"into {TABLES:,} tables and {PARTITIONS:,} partitions:",
              many_tables(folder, rows).render(rows))


def _session(folder: Path) -> SparkSession:
    return start_session(SparkSettings(app_name="bench", config={
        "spark.sql.extensions":
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.bench.type": "hadoop",
        "spark.sql.catalog.bench.warehouse": str(folder / "warehouse"),
        # the peer's rows do meet the JVM: it gets the full compiler and Spark's own collector
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    }, driver_memory="8g"))


if __name__ == "__main__":
    main()
