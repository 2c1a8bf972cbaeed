"""Iceberg tables in, events out: whole pipelines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from meltline.assembly import sources
from meltline.errors import PositionLost, Retryable, RunError, UserError
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.source import IcebergSource
from meltline.sources.iceberg.units import Limits
from meltline.testing import PowerCut, meet_here
from tests.change_lab import ChangeLab
from tests.warehouse import Warehouse

ID = {"table_name": "shop.orders", "identifier_columns": ["id"]}
MakeLab = Callable[..., ChangeLab]


@pytest.fixture
def lab(warehouse: Warehouse, tmp_path: Path) -> MakeLab:
    def make(version: int = 2, mode: str = "copy-on-write", columns: str = "id BIGINT, v STRING",
             **table: Any) -> ChangeLab:
        warehouse.sql("CREATE NAMESPACE IF NOT EXISTS {c}.shop")
        modes = ", ".join(f"'write.{kind}.mode'='{mode}'" for kind in ("delete", "update", "merge"))
        warehouse.sql(f"CREATE TABLE {{c}}.shop.orders ({columns}) USING iceberg "
                      f"TBLPROPERTIES ('format-version'='{version}', {modes})")
        return ChangeLab(tmp_path, warehouse, [{**ID, **table}])

    return make


def insert(lab: ChangeLab, *rows: str) -> None:
    lab.warehouse.sql(f"INSERT INTO {{c}}.shop.orders VALUES {', '.join(rows)}")


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_load_and_then_changes(lab: MakeLab, mode: str) -> None:
    one = lab(mode=mode)
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    loaded = [("INSERT", "1", {"id": 1, "v": "a"}), ("INSERT", "2", {"id": 2, "v": "b"})]
    assert sorted(one.changes()) == loaded
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = 'c' WHERE id = 2")
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 1")
    one.run()
    assert one.changes()[2:] == [
        ("UPDATE_AFTER", "2", {"id": 2, "v": "c"}), ("DELETE", "1", {"id": 1, "v": "a"})]
    one.run()
    assert len(one.changes()) == 4


@pytest.mark.parametrize("group_rows", [1, 1000])
def test_many_tasks_give_what_one_gives(
    lab: MakeLab, group_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file a task of its own: rows, and for groups too big for a task their hashes, meet
    through Spark's shuffle."""
    limits = Limits(split_size=1, group_rows=group_rows)
    monkeypatch.setattr(sources, "TableSettings", partial(TableSettings, limits=limits))
    one = lab()
    insert(one, *(f"({i}, 'a')" for i in range(50)))
    insert(one, *(f"({i}, 'b')" for i in range(50, 60)))
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = 'z' WHERE id % 20 = 7")
    one.run()
    assert sorted(change[2]["id"] for change in one.changes()[:60]) == list(range(60))
    assert sorted(one.changes()[60:]) == [
        ("UPDATE_AFTER", str(id_), {"id": id_, "v": "z"}) for id_ in (27, 47, 7)]


def test_metadata(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    one.run()
    (event,) = one.events()
    (snapshot,) = one.warehouse.sql(
        "SELECT snapshot_id, committed_at FROM {c}.shop.orders.snapshots")
    meta = event["metadata"]
    assert meta.pop("iceberg_snapshot_timestamp").endswith("Z")
    assert meta == {
        "iceberg_operation": "INSERT", "iceberg_table_name": "shop.orders",
        "iceberg_snapshot_id": snapshot["snapshot_id"], "iceberg_sequence_number": 1,
        "document_id": "1", "bulk_action": "INDEX"}


def test_changes_only(lab: MakeLab) -> None:
    one = lab(disable_export=True)
    insert(one, "(1, 'a')")
    one.run()
    insert(one, "(2, 'b')")
    one.run()
    assert one.changes() == [("INSERT", "2", {"id": 2, "v": "b"})]


def test_the_first_snapshot_of_an_empty_table_counts(lab: MakeLab) -> None:
    one = lab(disable_export=True)
    one.run()
    insert(one, "(1, 'a')")
    one.run()
    assert [change[1] for change in one.changes()] == ["1"]


def test_before_images(lab: MakeLab) -> None:
    one = lab(emit_update_before=True)
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = 'z' WHERE id = 1")
    one.run()
    before, after = one.events()[2:]
    assert (before["metadata"]["iceberg_operation"], before["document"]["v"]) == (
        "UPDATE_BEFORE", "a")
    assert before["metadata"]["bulk_action"] is None
    assert (after["metadata"]["iceberg_operation"], after["document"]["v"]) == (
        "UPDATE_AFTER", "z")


def test_rows_of_one_key_are_one_event_and_counted(lab: MakeLab) -> None:
    one = lab(disable_export=True)
    one.run()
    insert(one, "(1, 'a')", "(1, 'b')", "(2, 'c')")
    recorder = one.run()
    assert sorted(str(change[1]) for change in one.changes()) == ["1", "2"]
    assert sum(result.report.duplicates for result in recorder.results) == 1


@pytest.mark.parametrize(("load_bytes", "version"), [("4gb", 2), ("1b", 1), ("1b", 2), ("1b", 3)])
def test_rows_of_one_key_are_one_event_of_a_load(
    lab: MakeLab, load_bytes: str, version: int
) -> None:
    """Also when they are loaded in different epochs, one of which is tried twice."""
    one = lab(version)
    one.source["load_bytes_per_epoch"] = load_bytes
    insert(one, "(1, 'old')", "(1, 'older')", "(2, 'a')", "(null, 'n')")
    insert(one, "(1, 'new')", "(3, 'b')", "(null, 'm')")
    with pytest.raises(PowerCut):
        one.run(crash_at="publish")
    recorder = one.run()
    assert sorted(one.changes(), key=str) == [
        ("INSERT", "1", {"id": 1, "v": "new"}), ("INSERT", "2", {"id": 2, "v": "a"}),
        ("INSERT", "3", {"id": 3, "v": "b"}), ("INSERT", "\\N", {"id": None, "v": "m"})]
    if load_bytes == "4gb":
        assert not recorder.results[0].report.read  # published before the crash
    else:
        assert sum(result.report.duplicates for result in recorder.results) == 3


def test_other_keys_in_the_middle_of_a_load_are_refused(lab: MakeLab) -> None:
    one = lab(columns="id BIGINT, v STRING, region STRING", identifier_columns=["region"])
    insert(one, "(1, 'a', 'eu')")
    insert(one, "(2, 'b', 'eu')")
    one.source["load_bytes_per_epoch"] = 1
    with pytest.raises(PowerCut):
        one.run(crash_at="publish")
    one.tables = [{**ID, "identifier_columns": ["region", "id"]}]
    with pytest.raises(PositionLost, match=r"from the fields 3 to 3, 1.*left out"):
        one.run()
    assert [change[2]["v"] for change in one.changes()] == ["b"]
    one.tables = [{**ID, "identifier_columns": ["region", "id"], "on_lost_position": "re_export"}]
    one.run()
    assert sorted(change[:2] for change in one.changes()[1:]) == [
        ("UPDATE_AFTER", "eu-1"), ("UPDATE_AFTER", "eu-2")]


def test_columns_may_have_the_names_that_reading_uses(lab: MakeLab) -> None:
    one = lab(columns="id BIGINT, pos BIGINT, file STRING")
    insert(one, "(1, 5, 'a')", "(2, 6, 'b')")
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET pos = 7 WHERE id = 2")
    one.run()
    assert one.changes()[2:] == [("UPDATE_AFTER", "2", {"id": 2, "pos": 7, "file": "b"})]


def test_compaction_is_no_change(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    insert(one, "(2, 'b')")
    one.run()
    one.warehouse.sql("CALL {c}.system.rewrite_data_files(table => 'shop.orders', "
                      "options => map('rewrite-all', 'true'))")
    one.run()
    assert len(one.changes()) == 2
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 2")
    one.run()
    assert one.changes()[2:] == [("DELETE", "2", {"id": 2, "v": "b"})]


def test_row_ids_serve_where_no_column_does(lab: MakeLab) -> None:
    one = lab(version=3, mode="merge-on-read", identifier_columns=[])
    insert(one, "(1, 'a')", "(1, 'a')", "(2, 'b')")
    one.run()
    ids = [change[1] for change in one.changes()]
    assert sorted(ids, key=str) == ["0", "1", "2"]
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = 'z' WHERE id = 2")
    one.run()
    (change,) = one.changes()[3:]
    assert change[0] == "UPDATE_AFTER"
    assert change[2] == {"id": 2, "v": "z"}
    assert change[1] == {c[2]["v"]: c[1] for c in one.changes()[:3]}["b"]


def test_without_any_key_deletes_stop_the_lane(lab: MakeLab) -> None:
    one = lab(identifier_columns=[])
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    insert(one, "(3, 'c')")
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 1")
    with pytest.raises(RunError, match="identifier_columns"):
        one.run()
    assert [change[2]["id"] for change in one.changes()] == [1, 2, 3]
    assert {change[1] for change in one.changes()} == {None}


def test_a_load_goes_on_where_it_stopped(lab: MakeLab) -> None:
    one = lab()
    for i in range(5):
        insert(one, f"({i}, 'a')")
    one.source["load_bytes_per_epoch"] = 1
    with pytest.raises(PowerCut):
        one.run(crash_at="publish")
    assert len(one.events()) == 1
    recorder = one.run()
    assert len(recorder.results) == 5
    assert sorted(e["document"]["id"] for e in one.events()) == [0, 1, 2, 3, 4]
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 3")
    one.run()
    assert one.changes()[5:] == [("DELETE", "3", {"id": 3, "v": "a"})]


@pytest.mark.parametrize("point", ["plan", "record", "write", "publish.table", "publish", "done"])
def test_no_snapshot_twice_after_a_crash(lab: MakeLab, point: str) -> None:
    one = lab(mode="merge-on-read")
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = 'c' WHERE id = 2")
    insert(one, "(3, 'd')")
    with pytest.raises(PowerCut):
        one.run(crash_at=point)
    one.run()
    assert one.changes()[2:] == [
        ("UPDATE_AFTER", "2", {"id": 2, "v": "c"}), ("INSERT", "3", {"id": 3, "v": "d"})]


def test_two_tables_are_two_lanes(lab: MakeLab) -> None:
    one = lab()
    one.warehouse.sql("CREATE TABLE {c}.shop.items (key STRING) USING iceberg")
    one.warehouse.sql("INSERT INTO {c}.shop.items VALUES ('k')")
    insert(one, "(1, 'a')")
    one.tables = [*one.tables, {"table_name": "shop.items", "identifier_columns": ["key"]}]
    one.run()
    names = [e["metadata"]["iceberg_table_name"] for e in one.events()]
    assert sorted(names) == ["shop.items", "shop.orders"]


def test_an_identifier_column_that_is_not_there(lab: MakeLab) -> None:
    one = lab(identifier_columns=["nope"])
    with pytest.raises(UserError, match='"nope" is not in table'):
        one.run()


def test_a_rollback_below_the_position_stops(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    (first,) = one.warehouse.sql("SELECT snapshot_id FROM {c}.shop.orders.snapshots")
    insert(one, "(2, 'b')")
    one.run()
    one.warehouse.sql("CALL {c}.system.rollback_to_snapshot('shop.orders', "
                      f"{first['snapshot_id']})")
    with pytest.raises(PositionLost, match="rolled back to the older snapshot"):
        one.run()
    one.tables = [{**one.tables[0], "on_lost_position": "re_export"}]
    one.run()
    assert one.changes()[2:] == [("DELETE", "2", {"id": 2, "v": "b"})]


def test_an_expired_position_stops_and_a_protected_one_does_not_expire(lab: MakeLab) -> None:
    one = lab(protect_position=True)
    insert(one, "(1, 'a')")
    one.run()
    expire = ("CALL {c}.system.expire_snapshots(table => 'shop.orders', "
              "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)")
    insert(one, "(2, 'b')")
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 1")
    one.warehouse.sql(expire)
    one.run()
    # the snapshots in between are gone, what they changed is not
    assert sorted(change[:2] for change in one.changes()) == [
        ("DELETE", "1"), ("INSERT", "1"), ("INSERT", "2")]
    one.tables = [ID]
    one.warehouse.sql("ALTER TABLE {c}.shop.orders DROP TAG `meltline-lab-shop.orders`")
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 2")
    insert(one, "(3, 'c')")
    one.warehouse.sql(expire)
    with pytest.raises(PositionLost, match="has expired"):
        one.run()
    one.tables = [{**ID, "on_lost_position": "re_export"}]
    one.run()
    # loaded again, over what may be there
    assert one.changes()[3:] == [("UPDATE_AFTER", "3", {"id": 3, "v": "c"})]


EXPIRE = ("CALL {c}.system.expire_snapshots(table => 'shop.orders', "
          "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_append_is_read_although_its_parent_has_expired(lab: MakeLab, version: int) -> None:
    """Merged into one manifest with the files that were read before: those are not read again."""
    one = lab(version=version)
    one.warehouse.sql("ALTER TABLE {c}.shop.orders SET TBLPROPERTIES "
                      "('commit.manifest.min-count-to-merge'='2')")
    insert(one, "(1, 'a')")
    insert(one, "(2, 'b')")
    one.run()
    insert(one, "(3, 'c')", "(4, 'd')")
    one.warehouse.sql(EXPIRE)
    one.run()
    assert sorted(one.changes()[2:]) == [
        ("INSERT", "3", {"id": 3, "v": "c"}), ("INSERT", "4", {"id": 4, "v": "d"})]
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 1")
    one.run()
    assert one.changes()[4:] == [("DELETE", "1", {"id": 1, "v": "a"})]


def test_an_append_whose_parent_expires_while_it_is_read_gives_the_same(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    one.run()
    insert(one, "(2, 'b')")
    with pytest.raises(PowerCut):
        one.run(crash_at="record")
    one.warehouse.sql(EXPIRE)
    one.run()
    assert one.changes()[1:] == [("INSERT", "2", {"id": 2, "v": "b"})]


def test_compaction_is_no_loss_although_its_parent_has_expired(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    insert(one, "(2, 'b')")
    one.run()
    one.warehouse.sql("CALL {c}.system.rewrite_data_files(table => 'shop.orders', "
                      "options => map('rewrite-all', 'true'))")
    one.warehouse.sql(EXPIRE)
    one.run()
    insert(one, "(3, 'c')")
    one.run()
    assert one.changes()[2:] == [("INSERT", "3", {"id": 3, "v": "c"})]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_an_overwrite_whose_parent_has_expired_is_lost(lab: MakeLab, mode: str) -> None:
    one = lab(mode=mode)
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = 'z' WHERE id = 1")
    one.warehouse.sql(EXPIRE)
    with pytest.raises(PositionLost, match="has expired"):
        one.run()
    assert len(one.changes()) == 2


def test_an_append_after_another_one_that_expired_is_lost(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    one.run()
    insert(one, "(2, 'b')")
    insert(one, "(3, 'c')")
    one.warehouse.sql(EXPIRE)
    with pytest.raises(PositionLost, match="has expired"):
        one.run()


def test_a_table_created_again_is_another_table(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    one.run()
    one.warehouse.sql("DROP TABLE {c}.shop.orders")
    one.warehouse.sql("CREATE TABLE {c}.shop.orders (id BIGINT, v STRING) USING iceberg")
    insert(one, "(5, 'e')")
    with pytest.raises(PositionLost, match="created again"):
        one.run()


def test_a_branch(lab: MakeLab) -> None:
    one = lab(branch="audit")
    insert(one, "(1, 'a')")
    one.warehouse.sql("ALTER TABLE {c}.shop.orders CREATE BRANCH audit")
    one.run()
    insert(one, "(2, 'main only')")
    one.warehouse.sql("INSERT INTO {c}.shop.orders.branch_audit VALUES (3, 'c')")
    one.run()
    assert [change[1] for change in one.changes()] == ["1", "3"]


def test_a_table_created_again_is_noticed_while_it_is_open(lab: MakeLab) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    blobs: Any = None
    source = IcebergSource(lambda: one.warehouse.catalog.load("shop.orders"),
                           TableSettings("shop.orders", ("id",)), meet_here)
    plan = source.plan(None, blobs)
    assert plan is not None
    one.warehouse.sql("DROP TABLE {c}.shop.orders")
    with pytest.raises(Retryable):
        source.plan(plan.end, blobs)
    one.warehouse.sql("CREATE TABLE {c}.shop.orders (id BIGINT, v STRING) USING iceberg")
    with pytest.raises(PositionLost, match="created again"):
        source.plan(plan.end, blobs)
