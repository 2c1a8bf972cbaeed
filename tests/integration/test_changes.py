"""Updates and deletes end to end: what a change stream leaves in a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.engine import exchange
from meltline.errors import UserError
from tests.catalogs import Properties
from tests.lab import Lab

COLUMNS = [{"name": "id", "type": "long"}, {"name": "day", "type": "date"},
           {"name": "name", "type": "string"}]
BY_BUCKET = [{"column": "id", "transform": "bucket[2]"}]
BY_DAY = [{"column": "day"}]
SINK: dict[str, Any] = {
    "table_identifier": "shop.orders", "auto_create": True, "operation": "${/op}",
    "identifier_columns": ["id"], "delete_mode": "equality", "schema": {"columns": COLUMNS}}


@pytest.fixture
def lab(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> Lab:
    return Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, sinks=[{**SINK}])


def change(op: str, id_: int, name: str | None = None, day: str = "2026-01-01") -> dict[str, Any]:
    return {"op": op, "id": id_, "day": day, "name": name}


def names(lab: Lab) -> dict[int, str]:
    found = lab.rows("shop.orders")
    assert len({row["id"] for row in found}) == len(found), "a key is there twice"
    return {row["id"]: row["name"] for row in found}


@pytest.mark.parametrize(("mode", "version", "partition"), [
    ("equality", 2, []), ("equality", 2, BY_BUCKET), (None, 2, BY_DAY), ("position", 2, BY_DAY),
    (None, 3, BY_BUCKET), ("copy-on-write", 2, BY_DAY)])
def test_the_last_change_of_a_key_wins(
    lab: Lab, mode: str | None, version: int, partition: list[Any]
) -> None:
    lab.sinks[0] |= {"delete_mode": mode, "table_properties": {"format-version": str(version)},
                     "schema": {"columns": COLUMNS, "partition_spec": partition}}
    lab.drop_file([change("c", 1, "a"), change("I", 2, "b"), change("r", 3, "c"),
                   change("u", 3, "d")])
    lab.run()
    assert names(lab) == {1: "a", 2: "b", 3: "d"}
    lab.drop_file([change("UPDATE", 1, "a2", day="2026-01-02"), change("d", 2),
                   change("insert", 4, "e"), change("delete", 4), {"op": "d", "id": 99}])
    lab.drop_file([change("update_before", 3), change("update_after", 30, "moved")])
    lab.run()
    assert names(lab) == {1: "a2", 30: "moved"}
    summary = lab.snapshots("shop.orders")[-1].summary
    assert (summary["meltline.rows"], summary["meltline.keys"]) == ("2", "6")
    assert (int(summary["meltline.delete-files"]) >= 1) == (mode != "copy-on-write")


def test_changes_of_a_key_meet_across_tasks(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "IN_ONE_TASK", -1)
    monkeypatch.setattr(exchange, "PER_BUCKET", 4096)
    expected = {}
    for round_ in range(2):
        for file in range(3):
            lab.drop_file([change("u" if id_ % 3 else "d", id_, f"{round_} {file}")
                           for id_ in range(file * 100, 300)])
        expected = {id_: f"{round_} {min(id_ // 100, 2)}" for id_ in range(300) if id_ % 3}
        lab.run()
        assert names(lab) == expected
    assert len(lab.snapshots("shop.orders")) == 2


def test_a_table_of_version_1_is_refused(lab: Lab) -> None:
    lab.sinks[0]["table_properties"] = {"format-version": "1"}
    lab.drop_file([change("c", 1)])
    with pytest.raises(UserError, match="format version 1, which knows no deleted rows"):
        lab.run()


def test_a_branch_gets_the_changes_and_main_does_not(lab: Lab) -> None:
    lab.sinks[0]["branch"] = "staging"
    lab.drop_file([change("c", 1, "a"), change("c", 2, "b")])
    lab.run()
    lab.drop_file([change("u", 1, "a2"), change("d", 2)])
    lab.run()
    table = lab.table("shop.orders")
    head = table.current_snapshot_id("staging")
    assert {row["id"]: row["name"] for row in lab.rows("shop.orders", head)} == {1: "a2"}
    assert table.java.currentSnapshot() is None
