"""Others change the schema or the partition spec of a table between writing and publishing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meltline.lake.table import Table
from tests.lab import Lab
from tests.warehouse import Warehouse

EVENTS = [{"op": "c", "id": id_, "day": "2026-01-01", "name": f"n{id_}"} for id_ in range(5)]
CHANGES = [{"op": "u", "id": 1, "day": "2026-01-02", "name": "new"}, {"op": "d", "id": 2}]
AFTER = {0: "n0", 1: "new", 3: "n3", 4: "n4"}


@pytest.fixture
def lab(tmp_path: Path, warehouse: Warehouse) -> Lab:
    return Lab(tmp_path, {**warehouse.properties, "name": warehouse.name}, warehouse.spark, sinks=[{
        "table_identifier": "d.t", "operation": "${/op}", "identifier_columns": ["id"],
        "delete_mode": "equality"}])


def run_with(lab: Lab, change: Callable[[], None]) -> list[str]:
    """One run; the change happens once, when the epoch has been written. What failed on the way."""
    left = [change]

    def meanwhile(point: str) -> None:
        if point == "write" and left:
            left.pop()()

    recorder = lab.run(crash=meanwhile)
    assert not left
    return [what for what, _ in recorder.failures]


def start(lab: Lab, warehouse: Warehouse, by: str = "") -> Table:
    warehouse.sql(f"CREATE TABLE {{c}}.d.t (id BIGINT, day DATE, name STRING) USING iceberg {by}")
    lab.drop_file(EVENTS)
    lab.run()
    lab.drop_file(CHANGES)
    return warehouse.table("d.t")


def names(warehouse: Warehouse, key: str = "id") -> dict[int, str]:
    found = warehouse.rows("d.t")
    assert len({row[key] for row in found}) == len(found)
    return {row[key]: row["name"] for row in found}


HARMLESS: dict[str, Callable[[Any], Any]] = {
    "dropped": lambda table: table.updateSchema().deleteColumn("day"),
    "renamed": lambda table: table.updateSchema().renameColumn("day", "date"),
    "added": lambda table: table.updateSchema().addColumn("more", table.schema().findType("name")),
    "spec": lambda table: table.updateSpec().addField("day"),
}


@pytest.mark.parametrize("how", HARMLESS)
def test_files_that_are_still_right_are_committed(
    lab: Lab, warehouse: Warehouse, how: str
) -> None:
    # a row may move between these partitions, so deletes reach all of them, and every spec
    table = start(lab, warehouse, "" if how == "dropped" else "PARTITIONED BY (name)")
    if how == "dropped":
        table.java.updateSpec().addField("name").commit()
    failures = run_with(lab, lambda: HARMLESS[how](table.java).commit())
    assert failures == []
    assert names(warehouse) == AFTER


def test_the_column_of_a_key_may_be_renamed(lab: Lab, warehouse: Warehouse) -> None:
    table = start(lab, warehouse)
    failures = run_with(
        lab, lambda: table.java.updateSchema().renameColumn("id", "key").commit())
    assert failures == []
    assert names(warehouse, "key") == AFTER


def test_deletes_of_one_partition_are_written_again_for_another_spec(
    lab: Lab, warehouse: Warehouse
) -> None:
    table = start(lab, warehouse, "PARTITIONED BY (bucket(2, id))")

    def other_spec() -> None:
        table.java.updateSpec().addField("day").commit()
        # this row of the key is out of reach for a delete in a partition of the old spec
        warehouse.sql("INSERT INTO {c}.d.t VALUES (2, DATE '2026-01-03', 'late')")

    failures = run_with(lab, other_spec)
    assert failures == [
        "table d.t got another partition spec, which its deletes would not reach while the epoch "
        "was written: it is written again"]
    assert names(warehouse) == AFTER


def test_a_new_required_column_rejects_the_events(lab: Lab, warehouse: Warehouse) -> None:
    lab.sinks[0]["dlq"] = {"file": {"path": "dead"}}
    table = start(lab, warehouse)

    def require() -> None:
        table.java.updateSchema().allowIncompatibleChanges().addRequiredColumn(
            "must", table.java.schema().findType("id")).commit()

    failures = run_with(lab, require)
    assert len(failures) == 1
    assert 'required column "must" was added to table d.t' in failures[0]
    letters = "".join(path.read_text() for path in (lab.base / "dead").rglob("*") if path.is_file())
    assert letters.count('required column \\"must\\" is missing or null') == 1


def test_another_table_of_the_same_name(lab: Lab, warehouse: Warehouse) -> None:
    start(lab, warehouse)

    def replaced() -> None:
        warehouse.sql("DROP TABLE {c}.d.t")
        warehouse.sql("CREATE TABLE {c}.d.t (id BIGINT, name STRING) USING iceberg")

    failures = run_with(lab, replaced)
    assert [what.partition(" while")[0] for what in failures] == [
        "table d.t was replaced by another one"]
    assert names(warehouse) == {1: "new"}
