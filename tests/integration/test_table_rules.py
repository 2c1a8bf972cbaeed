"""What a table says of how it is written: sort order, properties, defaults, identifier fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from meltline.errors import UserError
from tests.lab import Lab
from tests.warehouse import Warehouse

SINK: dict[str, Any] = {"table_identifier": "d.t"}


@pytest.fixture
def lab(tmp_path: Path, warehouse: Warehouse) -> Lab:
    return Lab(tmp_path, {**warehouse.properties, "name": warehouse.name}, warehouse.spark,
               sinks=[{**SINK}])


def files(warehouse: Warehouse) -> list[dict[str, Any]]:
    return warehouse.sql("SELECT * FROM {c}.d.t.files")


def test_rows_are_sorted_as_the_table_says(lab: Lab, warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT, name STRING, day DATE) USING iceberg "
                  "PARTITIONED BY (day)")
    expressions = warehouse.catalog.jvm.iceberg.expressions.Expressions
    nulls = warehouse.catalog.jvm.iceberg.NullOrder
    warehouse.table("d.t").java.replaceSortOrder().desc(
        expressions.truncate("name", 1), nulls.NULLS_LAST).asc(
            expressions.ref("id"), nulls.NULLS_FIRST).commit()
    lab.drop_file([{"id": id_, "name": name, "day": day} for day in ("2026-01-01", "2026-01-02")
                   for id_, name in ((3, "ab"), (1, "b"), (None, "ac"), (2, None), (0, "b"))])
    lab.run()
    found = files(warehouse)
    assert len(found) == 2
    for file in found:
        rows = pq.read_table(file["file_path"].removeprefix("file:")).to_pylist()
        assert [(row["id"], row["name"]) for row in rows] == [
            (0, "b"), (1, "b"), (None, "ac"), (3, "ab"), (2, None)]
        assert file["sort_order_id"] == 1


def test_properties_of_the_table_and_of_the_sink(
    lab: Lab, warehouse: Warehouse, tmp_path: Path
) -> None:
    lab.sinks[0] |= {"write_properties": {
        "write.parquet.compression-codec": "gzip", "write.metadata.metrics.column.id": "counts"}}
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT, name STRING) USING iceberg TBLPROPERTIES ("
                  "'write.parquet.compression-codec'='snappy', "
                  "'write.object-storage.enabled'='true', "
                  f"'write.data.path'='{tmp_path}/elsewhere', "
                  "'write.metadata.metrics.column.name'='truncate(2)')")
    lab.drop_file([{"id": 1, "name": "abcdef"}])
    lab.run()
    assert warehouse.rows("d.t") == [{"id": 1, "name": "abcdef"}]
    [file] = files(warehouse)
    path = file["file_path"].removeprefix("file:")
    assert path.startswith(f"{tmp_path}/elsewhere/")
    assert path.removeprefix(f"{tmp_path}/elsewhere/").split("/")[4] == "lab"
    assert pq.read_metadata(path).row_group(0).column(0).compression == "GZIP"
    assert {id_: bytes(bound) for id_, bound in file["lower_bounds"].items()} == {2: b"ab"}
    assert {id_: bytes(bound) for id_, bound in file["upper_bounds"].items()} == {2: b"ac"}


def test_a_table_of_another_format_is_refused_at_start(lab: Lab, warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT) USING iceberg "
                  "TBLPROPERTIES ('write.format.default'='orc')")
    lab.drop_file([{"id": 1}])
    with pytest.raises(UserError, match=r'd\.t: property write\.format\.default is "orc"'):
        lab.run()
    lab.sinks[0]["write_properties"] = {"write.format.default": "parquet"}
    lab.run()
    assert warehouse.rows("d.t") == [{"id": 1}]


def with_defaults(warehouse: Warehouse) -> None:
    """A table of version 3 whose columns came one after another."""
    jvm = warehouse.catalog.jvm.iceberg
    warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT, s STRUCT<a: BIGINT>) USING iceberg "
                  "TBLPROPERTIES ('format-version'='3')")
    warehouse.sql("INSERT INTO {c}.d.t VALUES (0, named_struct('a', 0))")
    types, literal = jvm.types.Types, jvm.expressions.Literal
    update = warehouse.table("d.t").java.updateSchema()
    update.addColumn("word", types.StringType.get(), literal.of("it's"))
    update.addRequiredColumn("count", types.LongType.get(), literal.of(7).to(types.LongType.get()))
    update.addColumn("day", types.DateType.get(),
                     literal.of("2026-01-02").to(types.DateType.get()))
    update.addColumn("s", "b", types.DoubleType.get(), literal.of(1.5))
    update.commit()
    warehouse.table("d.t").java.updateSchema().updateColumnDefault(
        "word", literal.of("later")).commit()


def test_what_an_event_does_not_say_is_the_default(lab: Lab, warehouse: Warehouse) -> None:
    with_defaults(warehouse)
    lab.sinks[0]["dlq"] = {"file": {"path": "dead"}}
    lab.drop_file([{"id": 1}, {"id": 2, "word": None, "day": None, "s": {"a": 1}},
                   {"id": 3, "word": "x", "count": 1, "s": {"b": None}}, {"id": 4, "count": None},
                   {"other": 1}, {"id": 5, "count": "many"}])
    lab.run()
    found = {row["id"]: (row["word"], row["count"], str(row["day"]), row["s"])
             for row in warehouse.rows("d.t")}
    assert found == {
        0: ("it's", 7, "2026-01-02", {"a": 0, "b": 1.5}),
        1: ("later", 7, "2026-01-02", None),
        2: (None, 7, "None", {"a": 1, "b": 1.5}),
        3: ("x", 1, "2026-01-02", {"a": None, "b": None})}
    letters = "".join(path.read_text() for path in (lab.base / "dead").rglob("*.json*"))
    assert 'required column \\"count\\" is missing or null' in letters
    assert 'required column \\"count\\" (long) cannot take' in letters
    assert "no field of the event matches" in letters


def test_the_tables_identifier_fields_serve(lab: Lab, warehouse: Warehouse) -> None:
    lab.sinks[0] |= {"auto_create": True, "operation": "${/op}", "identifier_columns": ["id"],
                     "delete_mode": "equality", "schema": {"columns": [
                         {"name": "name", "type": "string"},
                         {"name": "id", "type": "long", "required": True}]}}
    lab.drop_file([{"op": "c", "id": 1, "name": "a"}, {"op": "c", "id": 2, "name": "b"}])
    lab.run()
    java = warehouse.table("d.t").java
    assert [str(name) for name in java.schema().identifierFieldNames()] == ["id"]
    del lab.sinks[0]["identifier_columns"]
    lab.drop_file([{"op": "u", "id": 1, "name": "a2"}, {"op": "d", "id": 2}])
    lab.run()
    assert warehouse.rows("d.t") == [{"name": "a2", "id": 1}]


def test_a_nested_identifier_field_is_refused(lab: Lab, warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE {c}.d.t (s STRUCT<id: BIGINT NOT NULL> NOT NULL) USING iceberg")
    warehouse.table("d.t").java.updateSchema().setIdentifierFields(["s.id"]).commit()
    lab.sinks[0]["operation"] = "${/op}"
    with pytest.raises(UserError, match=r'\"s\.id\" of table d\.t is inside of another column'):
        lab.run()
