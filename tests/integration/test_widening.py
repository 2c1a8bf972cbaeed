"""Typed sources may widen columns; JSON may not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.lab import Lab
from tests.warehouse import Warehouse

COLUMNS = ("id INT NOT NULL, n INT, x FLOAT, d DECIMAL(9, 2), name STRING NOT NULL, "
           "s STRUCT<a: INT, b: STRING>")


@pytest.fixture
def lab(tmp_path: Path, warehouse: Warehouse) -> Lab:
    warehouse.sql(f"CREATE TABLE {{c}}.d.t ({COLUMNS}) USING iceberg")
    return Lab(tmp_path, {**warehouse.properties, "name": warehouse.name}, warehouse.spark,
               sinks=[{"table_identifier": "d.t", "schema_evolution": True,
                       "dlq": {"file": {"path": "dead"}}}],
               source={"paths": ["inbox/*.parquet"], "codec": "parquet"})


def drop(lab: Lab, name: str, columns: dict[str, Any]) -> None:
    inbox = lab.base / "inbox"
    inbox.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), inbox / f".{name}")
    (inbox / f".{name}").rename(inbox / f"{name}.parquet")


def types(warehouse: Warehouse) -> dict[str, str]:
    fields = warehouse.table("d.t").target().schema.fields
    return {f.name: f"{f.field_type}{' required' if f.required else ''}" for f in fields}


def test_columns_follow_the_types_of_the_source(lab: Lab, warehouse: Warehouse) -> None:
    drop(lab, "a", {"id": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32()),
                    "x": pa.array([0.5], pa.float32()), "name": pa.array(["a"])})
    lab.run()
    before = types(warehouse)
    drop(lab, "b", {
        "id": pa.array([2, 3], pa.int32()), "n": pa.array([1 << 40, None], pa.int64()),
        "x": pa.array([0.1, None], pa.float64()),
        "d": pa.array([Decimal("123456789012.25"), None], pa.decimal128(14, 2)),
        "name": pa.array(["b", None]), "s": pa.array([{"a": 1 << 40, "c": True}, None])})
    drop(lab, "c", {"id": pa.array([4], pa.int32()), "name": pa.array(["d"])})
    lab.run()
    assert before["n"] == "int"
    assert before["name"] == "string required"
    assert types(warehouse) | {"s": ""} == {
        "id": "int required", "n": "long", "x": "double", "d": "decimal(14, 2)", "name": "string",
        "s": ""}
    found = {row.pop("id"): row for row in warehouse.rows("d.t")}
    assert found[2] == {"n": 1 << 40, "x": 0.1, "d": Decimal("123456789012.25"), "name": "b",
                        "s": {"a": 1 << 40, "b": None, "c": True}}
    assert found[3] == dict.fromkeys(("n", "x", "d", "name", "s"))
    assert (found[1]["n"], found[1]["x"], found[4]["name"]) == (1, 0.5, "d")
    assert [path for path in (lab.base / "dead").rglob("*") if path.is_file()] == []


def test_values_of_json_are_mismatches(lab: Lab, warehouse: Warehouse) -> None:
    before = types(warehouse)
    lab.source = {}
    lab.drop_file([{"id": 1, "n": 1 << 40, "name": "a"}, {"id": 2, "name": None}])
    lab.run()
    assert types(warehouse) == before
    assert [(row["id"], row["n"]) for row in warehouse.rows("d.t")] == [(1, None)]
