"""A copy whose source has lost the position: the difference is found and applied, once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.assembly import sources
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.units import Limits
from meltline.testing import PowerCut, Recorder
from tests.catalogs import Properties
from tests.change_lab import ChangeLab
from tests.differential.replay import plain
from tests.warehouse import Warehouse

NAME = '${getMetadata("iceberg_table_name")}'
OPERATION = '${getMetadata("iceberg_operation")}'
SOURCE, TARGET = "prod.orders", "copy.prod.orders"
MakeLab = Callable[..., ChangeLab]


@pytest.fixture
def copy(spark: SparkSession, make_catalog: Callable[[str], Properties]) -> Warehouse:
    return Warehouse(spark, make_catalog("jdbc-sqlite"))


@pytest.fixture
def lab(warehouse: Warehouse, copy: Warehouse, tmp_path: Path) -> MakeLab:
    def make(columns: str = "id BIGINT, v STRING", **sink: Any) -> ChangeLab:
        whole = {"catalog": {"name": copy.name, **copy.properties}, "auto_create": True,
                 "table_identifier": f"copy.{NAME}", "operation": OPERATION,
                 "identifier_columns": ["id"], "schema_evolution": True, **sink}
        table = {"table_name": SOURCE, "identifier_columns": ["id"],
                 "on_lost_position": "re_export"}
        warehouse.sql("CREATE NAMESPACE IF NOT EXISTS {c}.prod")
        create(warehouse, columns)
        return ChangeLab(tmp_path, warehouse, [table], [{"iceberg": whole}])

    return make


def create(warehouse: Warehouse, columns: str, more: str = "") -> None:
    warehouse.sql(f"CREATE TABLE {{c}}.{SOURCE} ({columns}) USING iceberg {more}")


def insert(lab: ChangeLab, *rows: str) -> None:
    lab.warehouse.sql(f"INSERT INTO {{c}}.{SOURCE} VALUES {', '.join(rows)}")


def expire(warehouse: Warehouse, table: str = SOURCE) -> None:
    warehouse.sql(f"CALL {{c}}.system.expire_snapshots(table => '{table}', "
                  "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)")


def lose(lab: ChangeLab) -> None:
    """Inserts, updates and deletes that nobody can tell any more."""
    sql = lab.warehouse.sql
    insert(lab, "(100, 'new')", "(101, null)")
    sql(f"UPDATE {{c}}.{SOURCE} SET v = 'changed' WHERE id IN (3, 4)")
    sql(f"UPDATE {{c}}.{SOURCE} SET v = null WHERE id = 5")
    sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id IN (1, 2)")
    expire(lab.warehouse)


def contents(warehouse: Warehouse, table: str) -> list[str]:
    return sorted(str(plain(row)) for row in warehouse.rows(table))


def check_equal(lab: ChangeLab, copy: Warehouse) -> None:
    assert contents(copy, TARGET) == contents(lab.warehouse, SOURCE)


def events(recorder: Recorder) -> int:
    return sum(result.report.read for result in recorder.results)


@pytest.mark.parametrize(("version", "mode", "partitioned"), [
    (2, "equality", False), (2, "equality", True), (2, "position", True), (3, "position", False),
    (2, "copy-on-write", False)])
def test_only_the_difference_is_applied(
    lab: MakeLab, copy: Warehouse, version: int, mode: str, partitioned: bool
) -> None:
    one = lab(delete_mode=mode)
    one.warehouse.sql(f"DROP TABLE {{c}}.{SOURCE}")
    create(one.warehouse, "id BIGINT, v STRING", ("PARTITIONED BY (v) " if partitioned else "")
           + f"TBLPROPERTIES ('format-version'='{version}')")
    insert(one, *(f"({i}, 'v{i % 3}')" for i in range(50)), "(60, null)")
    one.run()
    one.warehouse.sql(f"UPDATE {{c}}.{SOURCE} SET v = 'z' WHERE id = 7")
    one.run()
    lose(one)
    recorder = one.run()
    assert len(recorder.results) == 1
    assert events(recorder) == 7, "two rows more, three changed, two gone"
    check_equal(one, copy)
    insert(one, "(200, 'after')")
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id = 7")
    assert events(one.run()) == 2
    check_equal(one, copy)


def test_many_tasks_give_the_same_difference(
    lab: MakeLab, copy: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(split_size=1)
    monkeypatch.setattr(sources, "TableSettings", partial(TableSettings, limits=limits))
    one = lab()
    for start in range(0, 40, 10):
        insert(one, *(f"({i}, 'a')" for i in range(start, start + 10)))
    one.run()
    lose(one)
    assert events(one.run()) == 7
    check_equal(one, copy)


def test_equal_rows_of_every_type_give_nothing(lab: MakeLab, copy: Warehouse) -> None:
    one = lab("id BIGINT, b BOOLEAN, i INT, f FLOAT, d DOUBLE, n DECIMAL(20,3), day DATE, "
              "at TIMESTAMP, local TIMESTAMP_NTZ, t STRING, x BINARY, l ARRAY<INT>, "
              "m MAP<STRING, DOUBLE>, s STRUCT<a: INT, b: ARRAY<STRUCT<c: DATE>>>")
    insert(one, "(1, true, 1, float('NaN'), -0.0D, 12345678901234567.125, DATE '1500-01-01', "
                "TIMESTAMP '2024-01-01 00:00:00.123456', TIMESTAMP_NTZ '1960-01-01 00:00:00.5', "
                "'\u00e4\u20ac', X'00FF', array(1, null), map('b', 1.0D, 'a', null), "
                "named_struct('a', null, 'b', array(named_struct('c', DATE '2024-02-29'))))",
           "(2, false, -1, float('-Infinity'), 0.0D, -0.001, null, null, null, '', X'', array(), "
           "map(), named_struct('a', 1, 'b', null))",
           "(3, null, null, null, null, null, null, null, null, null, null, null, null, null)")
    one.run()
    one.warehouse.sql(f"INSERT INTO {{c}}.{SOURCE} (id) VALUES (4)")
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id = 4")
    expire(one.warehouse)
    before = contents(copy, TARGET)
    assert events(one.run()) == 0
    assert contents(copy, TARGET) == before
    check_equal(one, copy)


def test_a_table_created_again_with_other_columns(lab: MakeLab, copy: Warehouse) -> None:
    one = lab("id INT, v STRING, amount FLOAT, gone STRING, part STRUCT<a: INT, b: STRING>, "
              "tags ARRAY<STRING>, notes MAP<STRING, INT>")
    insert(one, "(1, 'a', 1.5, 'g', named_struct('a', 1, 'b', 'x'), array('t'), map('k', 1))",
           "(2, 'b', 2.5, null, null, null, null)", "(3, 'c', 3.5, null, null, null, null)")
    one.run()
    one.warehouse.sql(f"DROP TABLE {{c}}.{SOURCE}")
    create(one.warehouse, "part STRUCT<b: STRING, a: INT, c: DATE>, added DATE, v STRING, "
           "notes MAP<STRING, INT>, id BIGINT, amount DOUBLE, tags ARRAY<STRING>")
    insert(one, "(named_struct('b', 'x', 'a', 1, 'c', null), null, 'a', map('k', 1), 1, 1.5, "
                "array('t'))",
           "(null, DATE '2024-01-01', 'b', null, 2, 2.5, null)",
           "(null, null, 'big', null, 5000000000, 2.5, null)")
    assert events(one.run()) == 3, "one row stays, one gets a date, one is new, one is gone"
    ours = {row["id"]: plain({k: v for k, v in row.items() if k != "gone"})
            for row in copy.rows(TARGET)}
    assert ours == {row["id"]: plain(row) for row in one.warehouse.rows(SOURCE)}


@pytest.mark.parametrize("point", ["write", "done"])
def test_a_load_whose_snapshot_expired_in_its_middle(
    lab: MakeLab, copy: Warehouse, point: str
) -> None:
    one = lab()
    for i in range(5):
        insert(one, f"({i}, 'a')")
    one.source["load_bytes_per_epoch"] = 1
    with pytest.raises(PowerCut):
        one.run(crash_at=point)
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id IN (0, 4)")
    expire(one.warehouse)
    one.run()
    check_equal(one, copy)


@pytest.mark.parametrize("table", [f"copy.{NAME}", TARGET])
def test_an_epoch_whose_snapshot_expired_before_it_was_read(
    lab: MakeLab, copy: Warehouse, table: str
) -> None:
    one = lab(table_identifier=table)
    insert(one, *(f"({i}, 'a')" for i in range(10)))
    one.run()
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id = 9")
    with pytest.raises(PowerCut):
        one.run(crash_at="write")
    lose(one)
    (result,) = one.run().results
    assert result.epoch.number == 2
    assert result.report.read == 8
    check_equal(one, copy)


@pytest.mark.parametrize("table", [f"copy.{NAME}", TARGET])
@pytest.mark.parametrize("point", ["record", "write", "publish.table", "publish", "done"])
def test_a_crash_applies_the_difference_once(
    lab: MakeLab, copy: Warehouse, table: str, point: str
) -> None:
    """Also when the copy has it already, and its state before has expired."""
    one = lab(table_identifier=table)
    insert(one, *(f"({i}, 'a')" for i in range(10)))
    one.run()
    lose(one)
    with pytest.raises(PowerCut):
        one.run(crash_at=point)
    if point != "record":
        expire(copy, TARGET)
    one.run()
    check_equal(one, copy)
    assert one.run().results == []


def test_a_source_without_any_snapshot_empties_the_copy(lab: MakeLab, copy: Warehouse) -> None:
    one = lab()
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    one.warehouse.sql(f"DROP TABLE {{c}}.{SOURCE}")
    create(one.warehouse, "id BIGINT, v STRING")
    one.run()
    assert copy.rows(TARGET) == []
    insert(one, "(1, 'c')")
    one.run()
    check_equal(one, copy)


def test_rows_of_one_key_are_one_row_of_the_copy(lab: MakeLab, copy: Warehouse) -> None:
    one = lab()
    insert(one, "(1, 'a')", "(2, 'x')", "(3, 'c')")
    one.run()
    insert(one, "(2, 'y')", "(2, 'z')", "(4, 'd')", "(4, 'd')")
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id = 1")
    expire(one.warehouse)
    one.run()
    rows = {row["id"]: row["v"] for row in copy.rows(TARGET)}
    assert sorted(rows) == [2, 3, 4]
    assert len(copy.rows(TARGET)) == 3
    assert rows[2] in ("x", "y", "z")


def test_what_the_copy_refuses_goes_to_the_dead_letters_again(
    lab: MakeLab, copy: Warehouse
) -> None:
    one = lab(dlq={"iceberg": {"table_identifier": "copy.letters"}})
    insert(one, "(1, 'a')", "(null, 'nobody')", "(2, 'b')")
    one.run()
    one.warehouse.sql(f"UPDATE {{c}}.{SOURCE} SET v = 'z' WHERE id = 2")
    insert(one, "(3, 'c')")
    expire(one.warehouse)
    one.run()
    assert sorted((row["id"], row["v"]) for row in copy.rows(TARGET)) == [
        (1, "a"), (2, "z"), (3, "c")]
    assert len(copy.rows("copy.letters")) == 2


@pytest.mark.parametrize(("change", "why"), [
    ({"operation": None, "deduplicate_inserts": True}, "operation of the sink"),
    ({"identifier_columns": ["v"]}, None),
])
def test_other_sinks_are_loaded_again_with_a_warning(
    lab: MakeLab, copy: Warehouse, change: dict[str, Any], why: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = lab(**{key: value for key, value in change.items() if value is not None})
    if "operation" in change:
        del one.sinks[0]["iceberg"]["operation"]
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id = 1")
    expire(one.warehouse)
    with caplog.at_level(logging.WARNING):
        one.run()
    told = [record for record in caplog.records if "position lost" in record.message]
    assert len(told) == 1
    if why is None:
        assert contents(copy, TARGET) == contents(one.warehouse, SOURCE)
    else:
        assert "stay in the target" in told[0].message
        assert why in vars(told[0])["why"]
        assert sorted(row["id"] for row in copy.rows(TARGET)) == [1, 2]


def test_rows_that_are_loaded_again_replace_those_that_are_there(
    lab: MakeLab, copy: Warehouse
) -> None:
    """Behind a processor the target is no copy, but it has keys. The load takes several epochs."""
    one = lab()
    one.extra = {"processor": [{"add_entries": {"entries": [{"key": "more", "value": 1}]}}]}
    insert(one, "(1, 'a')", "(2, 'b')", "(3, 'c')")
    one.run()
    insert(one, "(4, 'd')")
    one.warehouse.sql(f"UPDATE {{c}}.{SOURCE} SET v = 'z' WHERE id = 2")
    one.warehouse.sql(f"DELETE FROM {{c}}.{SOURCE} WHERE id = 1")
    expire(one.warehouse)
    one.source = {"load_bytes_per_epoch": "1b"}
    recorder = one.run()
    assert len(recorder.results) > 1
    assert sorted((row["id"], row["v"], row["more"]) for row in copy.rows(TARGET)) == [
        (1, "a", 1), (2, "z", 1), (3, "c", 1), (4, "d", 1)]
    insert(one, "(5, 'e')")
    one.run()
    assert len(copy.rows(TARGET)) == 5


def test_a_table_that_others_write_to_keeps_their_rows(
    lab: MakeLab, copy: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    one = lab()
    insert(one, "(1, 'a')")
    one.run()
    copy.sql(f"ALTER TABLE {{c}}.{TARGET} SET TBLPROPERTIES ('meltline.token.other.files'='x')")
    one.warehouse.sql(f"UPDATE {{c}}.{SOURCE} SET v = 'z'")
    expire(one.warehouse)
    with caplog.at_level(logging.WARNING):
        one.run()
    (told,) = [record for record in caplog.records if "position lost" in record.message]
    assert "rows of others too (other.files)" in vars(told)["why"]


def test_a_column_made_anew_under_its_old_name_is_not_taken_for_the_old_one(
    lab: MakeLab, copy: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    """The copy drops the old one before rows are written: equal values must come again."""
    one = lab()
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    one.warehouse.sql(f"ALTER TABLE {{c}}.{SOURCE} DROP COLUMN v")
    one.warehouse.sql(f"ALTER TABLE {{c}}.{SOURCE} ADD COLUMN v STRING")
    one.warehouse.sql(f"UPDATE {{c}}.{SOURCE} SET v = IF(id = 1, 'a', 'b')")
    expire(one.warehouse)
    with caplog.at_level(logging.WARNING):
        one.run()
    (told,) = [record for record in caplog.records if "position lost" in record.message]
    assert 'column "v" was renamed or made anew' in vars(told)["why"]
    check_equal(one, copy)


def test_a_rollback_past_an_added_column_takes_its_values_back(
    lab: MakeLab, copy: Warehouse
) -> None:
    one = lab()
    insert(one, "(1, 'a')", "(2, 'b')")
    one.run()
    (before,) = one.warehouse.sql(f"SELECT snapshot_id FROM {{c}}.{SOURCE}.snapshots")
    one.warehouse.sql(f"ALTER TABLE {{c}}.{SOURCE} ADD COLUMN c INT")
    one.warehouse.sql(f"UPDATE {{c}}.{SOURCE} SET c = 5")
    one.run()
    check_equal(one, copy)
    one.warehouse.sql(f"CALL {{c}}.system.rollback_to_snapshot('{SOURCE}', "
                      f"{before['snapshot_id']})")
    one.run()
    check_equal(one, copy)
    assert {row["c"] for row in copy.rows(TARGET)} == {None}
