"""Upserts and deletes by position, into tables that Spark wrote and others change meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.upserts import Upserts
from tests.warehouse import Row, Warehouse

PARTITIONS = {"none": "", "identity": "PARTITIONED BY (region)", "bucket":
              "PARTITIONED BY (bucket(4, id))", "truncate": "PARTITIONED BY (truncate(10, id))"}


def row(id_: int, value: str = "new") -> Row:
    return {"id": id_, "region": f"r{id_ % 3}", "value": value}


def create(
    warehouse: Warehouse, version: int, partition: str = "none", properties: str = ""
) -> Upserts:
    """Sixty rows in two appends."""
    warehouse.sql(f"CREATE TABLE {{c}}.d.t (id BIGINT, region STRING, value STRING) USING iceberg "
                  f"{PARTITIONS[partition]} TBLPROPERTIES ('format-version'='{version}',"
                  f"'write.delete.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
                  f"{properties})")
    made = Upserts(warehouse, "d.t", ("id",))
    for begin in (0, 30):
        insert(made, [row(id_, "old") for id_ in range(begin, begin + 30)])
    return made


def insert(upserts: Upserts, rows: list[Row]) -> None:
    """By Spark SQL."""
    values = ", ".join(f"({r['id']}, '{r['region']}', '{r['value']}')" for r in rows)
    upserts.warehouse.sql(f"INSERT INTO {{c}}.d.t VALUES {values}")
    upserts.know(rows)


def compact(upserts: Upserts) -> None:
    upserts.warehouse.sql("CALL {c}.system.rewrite_data_files(table => 'd.t', "
                          "options => map('rewrite-all', 'true'))")


@pytest.fixture(params=[2, 3])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_epochs_of_changes(warehouse: Warehouse, version: int, partition: str) -> None:
    upserts = create(warehouse, version, partition)
    upserts.apply([row(1), row(31), row(100)], [row(5), row(999)])
    upserts.check()
    upserts.apply([row(1, "newer"), row(7), row(100, "newer")], [row(31)])
    upserts.check()
    compact(upserts)
    upserts.apply([row(1, "newest"), row(31, "again")], [row(100), row(7)])
    upserts.check()
    upserts.apply([], [row(id_) for id_ in range(60)])
    upserts.check()
    assert upserts.rows == {}


@pytest.mark.parametrize("mode", ["position", "copy-on-write"])
@pytest.mark.parametrize("format_", ["orc", "avro"])
def test_rows_in_files_of_other_formats(
    warehouse: Warehouse, version: int, format_: str, mode: str
) -> None:
    upserts = create(warehouse, version, "identity", f", 'write.format.default'='{format_}'")
    warehouse.sql("ALTER TABLE {c}.d.t SET TBLPROPERTIES ('write.format.default'='parquet')")
    upserts.mode = mode
    upserts.apply([row(1), row(31), row(100)], [row(5), row(999)])
    upserts.check(pyiceberg=format_ != "avro")
    formats = {one["file_format"] for one in warehouse.sql(
        "SELECT file_format FROM {c}.d.t.data_files")}
    assert formats == {format_.upper(), "PARQUET"}


def test_random_changes(warehouse: Warehouse, version: int) -> None:
    seeded = random.Random(version)
    upserts = create(warehouse, version, seeded.choice(list(PARTITIONS)))
    for epoch in range(5):
        ids = seeded.sample(range(80), 25)
        upserts.apply([row(id_, f"e{epoch}") for id_ in ids[:18]], [row(id_) for id_ in ids[18:]])
        upserts.check()


def test_one_vector_for_each_file(warehouse: Warehouse) -> None:
    upserts = create(warehouse, 3)
    for id_ in (1, 2, 3):
        upserts.apply([], [row(id_)])
    upserts.check()
    vectors = upserts.deletes()
    assert [(one["file_format"], one["record_count"]) for one in vectors] == [("PUFFIN", 3)]
    assert upserts.apply([], [row(1)]).snapshot_id is not None
    assert upserts.deletes() == vectors


def test_positions_are_written_once(warehouse: Warehouse) -> None:
    upserts = create(warehouse, 2)
    upserts.apply([], [row(1), row(2)])
    upserts.apply([], [row(1), row(2), row(3)])
    upserts.check()
    assert sorted(one["record_count"] for one in upserts.deletes()) == [1, 2]


def test_delete_files_for_each_data_file(warehouse: Warehouse) -> None:
    upserts = create(warehouse, 2, properties=", 'write.delete.granularity'='file'")
    upserts.apply([], [row(1), row(31)])
    upserts.check()
    files = upserts.deletes()
    assert len({one["referenced_data_file"] for one in files} - {None}) == len(files) == 2


def test_deletes_of_others_are_merged(warehouse: Warehouse, version: int) -> None:
    upserts = create(warehouse, version)
    warehouse.sql("DELETE FROM {c}.d.t WHERE id IN (2, 3, 40)")
    for id_ in (2, 3, 40):
        upserts.rows.pop((id_,))
    upserts.apply([row(4)], [row(2)])
    upserts.check()


def test_a_table_upgraded_with_position_deletes(warehouse: Warehouse) -> None:
    """Vectors take the place of position deletes, also of those about many files."""
    upserts = create(warehouse, 2)
    upserts.apply([], [row(1), row(2), row(31)])
    warehouse.sql("ALTER TABLE {c}.d.t SET TBLPROPERTIES ('format-version'='3')")
    upserts.apply([row(3)], [row(4)])
    upserts.check()
    upserts.apply([row(32), row(2)], [row(33)])
    upserts.check()


def append(upserts: Upserts) -> None:
    insert(upserts, [row(200, "theirs")])


def append_same_key(upserts: Upserts) -> None:
    """Comes before us, so it goes too."""
    upserts.warehouse.sql("INSERT INTO {c}.d.t VALUES (1, 'r1', 'theirs')")


def delete(upserts: Upserts) -> None:
    upserts.warehouse.sql("DELETE FROM {c}.d.t WHERE id = 9")
    upserts.rows.pop((9,))


def update(upserts: Upserts) -> None:
    upserts.warehouse.sql("UPDATE {c}.d.t SET value = 'theirs' WHERE id = 8")
    upserts.know([row(8, "theirs")])


def delete_all(upserts: Upserts) -> None:
    upserts.warehouse.sql("DELETE FROM {c}.d.t")
    upserts.rows = {(1,): row(1)}


OTHERS: list[Callable[[Upserts], None]] = [
    append, append_same_key, delete, update, delete_all, compact]


@pytest.mark.parametrize("other", OTHERS)
def test_changes_between_lookup_and_commit(
    warehouse: Warehouse, version: int, other: Callable[[Upserts], None]
) -> None:
    upserts = create(warehouse, version)
    done = upserts.apply([row(1)], [row(5)], meanwhile=[lambda: other(upserts)])
    upserts.check()
    if other in (append_same_key, compact):
        assert done.conflicts == 1


def test_a_writer_that_never_stops(warehouse: Warehouse, version: int) -> None:
    """Each further look only reads what is new."""
    upserts = create(warehouse, version)
    mine = range(0, 60, 2)
    appends = [lambda id_=id_: insert(upserts, [row(id_, "theirs")]) for id_ in (1, 3, 5, 7)]
    for id_ in (1, 3, 5, 7):
        upserts.rows.pop((id_,))
        warehouse.sql(f"DELETE FROM {{c}}.d.t WHERE id = {id_}")
    done = upserts.apply([row(id_) for id_ in (*mine, *range(1000, 1300))], meanwhile=appends)
    upserts.check()
    assert done.conflicts == 4
    assert upserts.looked[0] >= 2
    assert upserts.looked[1:] == [1, 1, 1, 1]


def test_a_published_epoch_is_found_again(warehouse: Warehouse, version: int) -> None:
    upserts = create(warehouse, version)
    first = upserts.apply([row(1)], [row(5)])
    upserts.epoch -= 1
    again = upserts.apply([row(1)], [row(5)])
    assert again.repeated
    assert again.snapshot_id == first.snapshot_id
    upserts.check()


def test_another_branch(warehouse: Warehouse, version: int) -> None:
    upserts = create(warehouse, version)
    upserts.branch = "audit"
    upserts.apply([row(1)], [row(5)])
    upserts.apply([row(2)], [row(1)])
    assert len(warehouse.rows("d.t")) == 60
    found = warehouse.sql("SELECT * FROM {c}.d.t VERSION AS OF 'audit'")
    assert {r["id"]: r for r in found} == {key[0]: r for key, r in upserts.rows.items()}


def test_after_changes_of_schema_and_partitions(warehouse: Warehouse, version: int) -> None:
    """A renamed and promoted key, in files of two partition specs."""
    warehouse.sql(f"CREATE TABLE {{c}}.d.t (k INT, v STRING) USING iceberg "
                  f"PARTITIONED BY (bucket(3, k)) TBLPROPERTIES ('format-version'='{version}')")
    warehouse.sql("INSERT INTO {c}.d.t SELECT CAST(id AS INT), 'old' FROM range(20)")
    warehouse.sql("ALTER TABLE {c}.d.t RENAME COLUMN k TO id")
    warehouse.sql("ALTER TABLE {c}.d.t ALTER COLUMN id TYPE BIGINT")
    table = warehouse.table("d.t")
    table.java.updateSpec().removeField("k_bucket").addField("v").commit()
    warehouse.sql("INSERT INTO {c}.d.t SELECT id, 'new' FROM range(20, 30)")
    upserts = Upserts(warehouse, "d.t", ("id",))
    upserts.know([{"id": id_, "v": "old" if id_ < 20 else "new"} for id_ in range(30)])
    upserts.apply([{"id": id_, "v": "newest"} for id_ in (3, 25, 2**40)], [{"id": 4}, {"id": 26}])
    upserts.check()
    upserts.mode = "copy-on-write"
    upserts.apply([{"id": id_, "v": "last"} for id_ in (5, 25, 27)], [{"id": 3}])
    upserts.check()


def test_keys_of_two_columns(warehouse: Warehouse, version: int) -> None:
    upserts = create(warehouse, version, "identity")
    upserts.keys = ("region", "id")
    upserts.rows = {upserts.key(one): one for one in upserts.rows.values()}
    upserts.apply([row(1), {"id": 1, "region": "r9", "value": "other"}], [row(2)])
    upserts.check()
    many = [row(id_, "many") for id_ in range(300)]
    upserts.apply(many, [{"id": 1, "region": "r9"}])
    upserts.check()
