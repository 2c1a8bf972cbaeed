"""A table of ten thousand files: all are read, and a change of a few of them costs a few."""

from __future__ import annotations

import json
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from meltline.lake.commit import append_files
from tests.change_lab import ChangeLab
from tests.warehouse import Warehouse

FILES = 10_000
ROWS = 3
SCHEMA = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
                    pa.field("v", pa.string(), metadata={"PARQUET:field_id": "2"})])


def write_file(folder: Path, number: int) -> str:
    """As Iceberg's content-file JSON: with bounds, or every file would be rewritten."""
    ids = range(number * ROWS, (number + 1) * ROWS)
    path = folder / f"{number:05}.parquet"
    pq.write_table(pa.table([list(ids), [f"v{id_}" for id_ in ids]], SCHEMA), path)
    least, most = ({"keys": [1], "values": [struct.pack("<q", id_).hex()]}
                   for id_ in (ids[0], ids[-1]))
    return json.dumps({
        "spec-id": 0, "content": "data", "file-path": str(path), "file-format": "parquet",
        "partition": [], "file-size-in-bytes": path.stat().st_size, "record-count": ROWS,
        "lower-bounds": least, "upper-bounds": most})


def test_ten_thousand_files(tmp_path: Path, warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.shop.orders (id BIGINT, v STRING) USING iceberg "
                  "TBLPROPERTIES ('format-version'='2')")
    (tmp_path / "landed").mkdir()
    with ThreadPoolExecutor(2) as pool:
        files = list(pool.map(lambda number: write_file(tmp_path / "landed", number),
                              range(FILES)))
    append_files(warehouse.table("shop.orders"), files, {}, {}, lambda *_: True)
    lab = ChangeLab(tmp_path, warehouse, [
        {"table_name": "shop.orders", "identifier_columns": ["id"]}])
    lab.run()
    assert sorted((int(key or ""), document) for _, key, document in lab.changes()) == [
        (id_, {"id": id_, "v": f"v{id_}"}) for id_ in range(FILES * ROWS)]
    warehouse.sql("UPDATE {c}.shop.orders SET v = 'other' WHERE id IN (7, 15000, 29999)")
    warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 8")
    lab.run()
    assert sorted(lab.changes()[FILES * ROWS:]) == [
        ("DELETE", "8", {"id": 8, "v": "v8"}),
        *(("UPDATE_AFTER", str(id_), {"id": id_, "v": "other"}) for id_ in (15000, 29999, 7))]
