"""Columns, partition spec and properties of a table change in one commit, or not at all."""

from __future__ import annotations

import json

import pytest

from meltline.errors import RunError
from meltline.kernels.widen import Widening
from meltline.lake.evolution import (
    Evolution,
    NewColumn,
    PartitionStep,
    SchemaSteps,
    SpecSteps,
    evolve_table,
)
from meltline.lake.table import Table
from tests.warehouse import Warehouse


def make(warehouse: Warehouse, columns: str, by: str = "", version: int = 2) -> Table:
    warehouse.sql("CREATE NAMESPACE IF NOT EXISTS {c}.d")
    warehouse.sql(f"CREATE TABLE {{c}}.d.t ({columns}) USING iceberg {by} "
                  f"TBLPROPERTIES ('format-version'='{version}')")
    return warehouse.table("d.t")


def new(name: str, type_: str, **more: object) -> NewColumn:
    return NewColumn(None, json.dumps(
        {"id": 99, "name": name, "required": True, "type": type_, **more}))


def columns(table: Table) -> list[tuple[str, str, bool]]:
    return [(f.name, str(f.field_type), f.required) for f in table.target().schema.fields]


def commits(table: Table) -> int:
    return int(table.java.operations().current().previousFiles().size())


def test_everything_at_once(warehouse: Warehouse) -> None:
    table = make(warehouse, "id BIGINT NOT NULL, a INT NOT NULL, b STRING",
                 "PARTITIONED BY (bucket(2, a))")
    table.java.updateSchema().setIdentifierFields(["id"]).commit()
    before = commits(table)
    wanted = [Evolution(
        SchemaSteps(drops=("b",), renames=(("a", "b"), ("id", "key")),
                    widened=(Widening("a", "long", optional=True),), adds=(new("a", "date"),),
                    moves=(("a", None),), identifiers=("key",)),
        SpecSteps(removes=("a_bucket",), adds=(PartitionStep("a_month", "a", "month"),
                                               PartitionStep("cut", "b", "bucket[3]"))),
        {"x": "y"})]
    assert evolve_table(table, lambda: wanted.pop() if wanted else None)
    assert columns(table) == [("a", "date", False), ("key", "long", True), ("b", "long", False)]
    target = table.target()
    assert [target.schema.find_column_name(id_) for id_ in target.schema.identifier_field_ids] == [
        "key"]
    assert [(f.name, str(f.transform)) for f in target.spec.fields] == [
        ("a_month", "month"), ("cut", "bucket[3]")]
    assert target.properties["x"] == "y"
    assert commits(table) == before + 1
    assert not evolve_table(table, lambda: None)


@pytest.mark.parametrize("steps", [
    SchemaSteps(widened=(Widening("a", None, optional=True),), identifiers=("b",)),
    SchemaSteps(renames=(("a", "c"), ("c", "a")), identifiers=("c",)),
], ids=["made optional", "names swapped"])
def test_a_column_that_identified_rows_may_change(
    warehouse: Warehouse, steps: SchemaSteps
) -> None:
    table = make(warehouse, "a BIGINT NOT NULL, b BIGINT NOT NULL, c BIGINT")
    table.java.updateSchema().setIdentifierFields(["a"]).commit()
    wanted = [Evolution(steps)]
    assert evolve_table(table, lambda: wanted.pop() if wanted else None)
    schema = table.target().schema
    assert [schema.find_column_name(id_) for id_ in schema.identifier_field_ids] == list(
        steps.identifiers or ())


def test_rows_from_before_have_the_initial_default_of_a_new_column(warehouse: Warehouse) -> None:
    table = make(warehouse, "id BIGINT", version=3)
    warehouse.sql("INSERT INTO {c}.d.t VALUES (1)")
    added = new("n", "int", **{"initial-default": 5, "write-default": 5})
    assert evolve_table(table, lambda: Evolution(SchemaSteps(adds=(added,))))
    assert warehouse.rows("d.t") == [{"id": 1, "n": 5}]


def test_whoever_changes_the_table_meanwhile_makes_it_look_again(warehouse: Warehouse) -> None:
    table = make(warehouse, "id BIGINT")
    looked = []

    def find() -> Evolution | None:
        names = [name for name, _, _ in columns(table)]
        looked.append(names)
        if len(looked) == 1:
            warehouse.sql("ALTER TABLE {c}.d.t ADD COLUMN n INT")
        return None if "n" in names else Evolution(SchemaSteps(adds=(new("n", "long"),)))

    assert not evolve_table(table, find)
    assert looked == [["id"], ["id", "n"]]
    assert columns(table) == [("id", "long", False), ("n", "int", False)]


def test_what_iceberg_refuses_changes_nothing(warehouse: Warehouse) -> None:
    table = make(warehouse, "id BIGINT, a INT")
    wanted = Evolution(SchemaSteps(renames=(("a", "b"),), adds=(new("id", "long"),)))
    with pytest.raises(RunError, match=r"cannot change the schema of table d\.t"):
        evolve_table(table, lambda: wanted)
    table.refresh()
    assert columns(table) == [("id", "long", False), ("a", "int", False)]
