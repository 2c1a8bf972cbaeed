"""Commits of every kind against real tables."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from meltline.errors import BaseMoved
from meltline.kernels.parquet import ParquetFile
from meltline.kernels.storage import open_storage
from meltline.lake.change import Basis, Change
from meltline.lake.commit import commit_change
from meltline.lake.table import Table
from tests.warehouse import Warehouse


def key_file(table: Table, keys: list[int]) -> str:
    """An equality delete file on the first column, as content-file JSON."""
    schema = Schema(NestedField(1, "id", LongType(), required=False))
    arrow = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    path = f"{table.location}/data/{len(keys)}-{keys[0]}-keys.parquet"
    file = ParquetFile(open_storage(table.io_properties), path, schema, arrow, {})
    file.write(pa.table({"id": pa.array(keys, pa.int64())}, schema=arrow))
    content = json.loads(file.close(0, []).content)
    return json.dumps({**content, "content": "equality-deletes", "equality-ids": [1]})


def commit(table: Table, change: Change, branch: str | None = None) -> bool:
    return commit_change(table, change, {"a": "b"}, {"c": "d"}, lambda *_: True, branch=branch)


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_are_a_row_delta(warehouse: Warehouse, version: int) -> None:
    warehouse.sql(f"CREATE TABLE {{c}}.d.t (id BIGINT) USING iceberg "
                  f"TBLPROPERTIES ('format-version'='{version}')")
    warehouse.sql("INSERT INTO {c}.d.t VALUES (1), (2), (3)")
    table = warehouse.table("d.t")
    assert commit(table, Change(delete_files=[key_file(table, [1, 3])]))
    assert [row["id"] for row in warehouse.rows("d.t")] == [2]
    assert table.properties["c"] == "d"
    newest = next(table.ancestry())
    assert newest.operation == "delete"
    assert newest.summary["a"] == "b"


def test_a_branch_is_made_and_changed_alone(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT) USING iceberg")
    warehouse.sql("INSERT INTO {c}.d.t VALUES (1), (2)")
    table = warehouse.table("d.t")
    assert commit(table, Change(delete_files=[key_file(table, [1])]), branch="audit")
    assert len(warehouse.rows("d.t")) == 2
    assert warehouse.sql("SELECT * FROM {c}.d.t VERSION AS OF 'audit'") == [{"id": 2}]


def test_a_file_in_the_way_is_a_moved_base(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT) USING iceberg")
    warehouse.sql("INSERT INTO {c}.d.t VALUES (1), (2)")
    table = warehouse.table("d.t")
    low = json.dumps({"type": "lt-eq", "term": "id", "value": 5})
    basis = Basis(table.current_snapshot_id(), conflicts=low)
    warehouse.sql("INSERT INTO {c}.d.t VALUES (10)")
    assert commit(table, Change(delete_files=[key_file(table, [1])], basis=basis))
    warehouse.sql("INSERT INTO {c}.d.t VALUES (3)")
    with pytest.raises(BaseMoved, match="conflicting files"):
        commit(table, Change(delete_files=[key_file(table, [2])], basis=basis))
    assert sorted(row["id"] for row in warehouse.rows("d.t")) == [2, 3, 10]


def test_a_base_that_was_rolled_back_is_a_moved_base(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT) USING iceberg")
    warehouse.sql("INSERT INTO {c}.d.t VALUES (1)")
    table = warehouse.table("d.t")
    first = table.current_snapshot_id()
    warehouse.sql("INSERT INTO {c}.d.t VALUES (2)")
    table.refresh()
    basis = Basis(table.current_snapshot_id())
    table.java.manageSnapshots().rollbackTo(first).commit()
    with pytest.raises(BaseMoved):
        commit(table, Change(delete_files=[key_file(table, [2])], basis=basis))
