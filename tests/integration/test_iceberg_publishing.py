"""Write, audit, publish: staged snapshots, branches, cherry-picks and rollbacks of a source.

What is staged is no part of the table yet: no event. Once it is published, each change is told
exactly once, and the copy equals its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from meltline.errors import PositionLost
from tests.catalogs import Properties
from tests.change_lab import ChangeLab
from tests.rows import differences
from tests.warehouse import Warehouse

TABLE = "shop.orders"


class Publishing(ChangeLab):
    """One table with `write.wap.enabled`, its events as files and as a copy."""

    copy: Warehouse

    def sql(self, statement: str) -> None:
        self.warehouse.sql(statement.replace("{t}", f"{{c}}.{TABLE}"))

    def insert(self, *ids: int) -> None:
        self.sql(f"INSERT INTO {{t}} VALUES {', '.join(f'({i}, {i % 2}, {i})' for i in ids)}")

    def call(self, procedure: str, *arguments: object) -> None:
        rest = "".join(f", {argument!r}" for argument in arguments)
        self.sql(f"CALL {{c}}.system.{procedure}('{TABLE}'{rest})")

    @contextmanager
    def wap(self, **settings: str) -> Iterator[None]:
        """`id`: statements are staged under it. `branch`: they go to that branch."""
        conf = self.warehouse.spark.conf
        for key, value in settings.items():
            conf.set(f"spark.wap.{key}", value)
        try:
            yield
        finally:
            for key in settings:
                conf.unset(f"spark.wap.{key}")

    def newest(self) -> int:
        """The snapshot made last, staged or not."""
        (row,) = self.warehouse.sql(f"SELECT snapshot_id FROM {{c}}.{TABLE}.snapshots "
                                    "ORDER BY committed_at DESC LIMIT 1")
        found: int = row["snapshot_id"]
        return found

    def new_events(self) -> list[tuple[str, str]]:
        """Runs once; what it told, in the order of the keys."""
        before = len(self.events())
        self.run()
        return sorted((operation, str(id_)) for operation, id_, _ in self.changes()[before:])

    def check_copy(self) -> None:
        wrong = differences(self.copy.rows(f"copy.{TABLE}"), self.warehouse.rows(TABLE))
        assert not wrong, wrong


@pytest.fixture
def lab(
    spark: SparkSession, warehouse: Warehouse, make_catalog: Callable[[str], Properties],
    tmp_path: Path,
) -> Publishing:
    """Rows 1 and 2 are in the table and in the copy."""
    copy = Warehouse(spark, make_catalog("jdbc-sqlite"))
    sink = {"catalog": {"name": copy.name, **copy.properties}, "auto_create": True,
            "table_identifier": 'copy.${getMetadata("iceberg_table_name")}',
            "operation": '${getMetadata("iceberg_operation")}', "identifier_columns": ["id"]}
    made = Publishing(tmp_path, warehouse, [{"table_name": TABLE, "identifier_columns": ["id"]}],
                      [{"file": {"path": "out"}}, {"iceberg": sink}])
    made.copy = copy
    warehouse.sql("CREATE NAMESPACE {c}.shop")
    made.sql("CREATE TABLE {t} (id INT, part INT, v INT) USING iceberg PARTITIONED BY (part) "
             "TBLPROPERTIES ('write.wap.enabled'='true')")
    made.insert(1, 2)
    assert made.new_events() == [("INSERT", "1"), ("INSERT", "2")]
    return made


def test_a_staged_snapshot_that_is_picked_onto_an_unmoved_table(lab: Publishing) -> None:
    with lab.wap(id="audit"):
        lab.insert(3)
    assert lab.new_events() == []
    lab.call("cherrypick_snapshot", lab.newest())
    assert lab.new_events() == [("INSERT", "3")]
    lab.insert(4)
    assert lab.new_events() == [("INSERT", "4")]
    lab.check_copy()


def test_a_staged_snapshot_that_is_picked_onto_a_moved_table(lab: Publishing) -> None:
    with lab.wap(id="audit"):
        lab.insert(3)
    staged = lab.newest()
    lab.sql("UPDATE {t} SET v = 20 WHERE id = 2")
    assert lab.new_events() == [("UPDATE_AFTER", "2")]
    lab.call("cherrypick_snapshot", staged)
    assert lab.newest() != staged, "another snapshot with the changes of the staged one"
    assert lab.new_events() == [("INSERT", "3")]
    assert lab.new_events() == []
    lab.check_copy()


def test_two_of_three_staged_snapshots_are_published_in_another_order(lab: Publishing) -> None:
    for id_ in (3, 4, 5):
        with lab.wap(id=f"audit-{id_}"):
            lab.insert(id_)
    lab.call("publish_changes", "audit-5")
    assert lab.new_events() == [("INSERT", "5")]
    lab.call("publish_changes", "audit-3")
    assert lab.new_events() == [("INSERT", "3")]
    lab.check_copy()


def test_a_staged_overwrite_of_a_partition_that_is_picked(lab: Publishing) -> None:
    conf = lab.warehouse.spark.conf
    conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        with lab.wap(id="audit"):
            lab.sql("INSERT OVERWRITE {t} VALUES (1, 1, 10), (3, 1, 3)")
    finally:
        conf.unset("spark.sql.sources.partitionOverwriteMode")
    staged = lab.newest()
    lab.insert(4)
    assert lab.new_events() == [("INSERT", "4")]
    lab.call("cherrypick_snapshot", staged)
    assert lab.new_events() == [("INSERT", "3"), ("UPDATE_AFTER", "1")]
    lab.check_copy()


def test_a_branch_that_main_is_moved_to(lab: Publishing) -> None:
    lab.sql("ALTER TABLE {t} CREATE BRANCH audit")
    with lab.wap(branch="audit"):
        lab.insert(3)
        lab.sql("DELETE FROM {t} WHERE id = 1")
    assert lab.new_events() == []
    lab.call("fast_forward", "main", "audit")
    assert lab.new_events() == [("DELETE", "1"), ("INSERT", "3")]
    assert lab.new_events() == []
    lab.check_copy()


def test_what_was_rolled_back_before_it_was_read_is_never_told(lab: Publishing) -> None:
    read = lab.newest()
    lab.insert(3)
    lab.call("rollback_to_snapshot", read)
    assert lab.new_events() == []
    lab.insert(4)
    assert lab.new_events() == [("INSERT", "4")]
    lab.check_copy()


def test_other_commits_on_an_older_snapshot_stop_the_lane(lab: Publishing) -> None:
    older = lab.newest()
    lab.insert(3)
    assert lab.new_events() == [("INSERT", "3")]
    lab.call("set_current_snapshot", older)
    lab.insert(4)
    with pytest.raises(PositionLost, match="rolled back"):
        lab.run()
    lab.tables = [{**lab.tables[0], "on_lost_position": "re_export"}]
    assert lab.new_events() == [("DELETE", "3"), ("INSERT", "4")]
    lab.check_copy()


def test_a_table_set_back_and_forth_again_goes_on(lab: Publishing) -> None:
    older = lab.newest()
    lab.insert(3)
    newer = lab.newest()
    assert lab.new_events() == [("INSERT", "3")]
    lab.call("set_current_snapshot", older)
    lab.call("set_current_snapshot", newer)
    lab.insert(4)
    assert lab.new_events() == [("INSERT", "4")]
    lab.check_copy()


def test_a_load_leaves_out_what_is_staged(lab: Publishing) -> None:
    with lab.wap(id="audit"):
        lab.insert(3)
    lab.base = lab.base / "late"
    lab.base.mkdir()
    lab.sinks = lab.sinks[:1]
    assert lab.new_events() == [("INSERT", "1"), ("INSERT", "2")]
    lab.call("publish_changes", "audit")
    assert lab.new_events() == [("INSERT", "3")]
