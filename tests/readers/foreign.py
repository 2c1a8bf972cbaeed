"""Tables written without our sink, by Spark and by Iceberg's Java library: what the readers must
be able to read before they can judge ours."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from meltline.lake.table import Table
from tests.lab import Lab

Rows = dict[int, dict[str, Any]]
Regions = Sequence[str | None]
TYPES = ("id BIGINT, region STRING, amount DECIMAL(12,2), at TIMESTAMP, flag BOOLEAN, "
         "place STRUCT<street: STRING, number: INT>")
REGIONS = ("north", "south", "east")
WITH_NULL = ("north", "south", None)
SHOP = "db.foreign"


def orders(ids: Iterable[int], version: int, regions: Regions = REGIONS) -> Rows:
    """Rows by their key; those of another version differ in every column but key and region."""
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return {i: {
        "id": i, "region": regions[i % 3], "amount": Decimal(i * 100 + version) / 100,
        "at": start + timedelta(hours=i, seconds=version), "flag": None if i % 5 else version > 1,
        "place": {"street": f"road {version}", "number": i}} for i in ids}


def write_foreign(
    lab: Lab, mode: str, version: int, partitioned: bool, regions: Regions = REGIONS
) -> tuple[Rows, Rows]:
    """A table of three commits or more; returns its rows after the first and at the end."""
    spark = lab.spark_sql()
    name = f"{lab.catalog['name']}.{SHOP}"
    row_mode = "copy-on-write" if mode == "copy-on-write" else "merge-on-read"
    settings = ", ".join(f"'write.{what}.mode' = '{row_mode}'" for what in ("delete", "merge"))
    spec = "PARTITIONED BY (region)" if partitioned else ""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lab.catalog['name']}.db")
    spark.sql(f"CREATE TABLE {name} ({TYPES}) USING iceberg {spec} "
                  f"TBLPROPERTIES ('format-version' = '{version}', {settings})")
    before = orders(range(40), 1, regions)
    _append(lab, name, before)
    gone, changed = range(0, 40, 7), orders(range(10, 50, 4), 2, regions)
    if mode == "equality":
        keys = {*gone, *changed}
        delete_by_key(lab.table(SHOP), {k: before[k] for k in keys if k in before}, partitioned)
        _append(lab, name, changed)
    else:
        spark.sql(f"DELETE FROM {name} WHERE id % 7 = 0")
        _frame(lab, changed).createOrReplaceTempView("changed")
        spark.sql(f"MERGE INTO {name} t USING changed c ON t.id = c.id "
                      "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    return before, {k: v for k, v in before.items() if k not in gone} | changed


def delete_by_key(table: Table, rows: Rows, partitioned: bool) -> None:
    """Equality deletes of these rows by `id`, one file per partition, in one commit."""
    delta = table.java.newRowDelta()
    jvm = table.jvm
    field_id = table.java.schema().findField("id").fieldId()
    groups = {row["region"] for row in rows.values()} if partitioned else {None}
    for region in groups:
        keys = [k for k, row in rows.items() if not partitioned or row["region"] == region]
        path = f"{table.location}/data/deletes-{uuid.uuid4().hex}.parquet"
        field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": str(field_id)})
        local = Path(path.removeprefix("file://"))
        local.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": keys}, schema=pa.schema([field])), local)
        content = {"content": "equality-deletes", "spec-id": 0, "file-path": path,
                   "partition": [region] if partitioned else [], "file-format": "parquet",
                   "file-size-in-bytes": local.stat().st_size, "record-count": len(keys),
                   "equality-ids": [field_id]}
        delta.addDeletes(jvm.iceberg.ContentFileParser.fromJson(
            jvm.json_tree(json.dumps(content)), table.java.specs()))
    delta.commit()


def _append(lab: Lab, name: str, rows: Mapping[int, Any]) -> None:
    _frame(lab, rows).writeTo(name).append()


def _frame(lab: Lab, rows: Mapping[int, Any]) -> Any:
    assert lab.spark is not None
    return lab.spark.createDataFrame(list(rows.values()), TYPES).coalesce(1)
