"""A copy follows the evolution of its source: columns, identifier fields, partition spec."""

from __future__ import annotations

import json

import pytest

from meltline.testing import PowerCut
from tests.copy_lab import COPY, SOURCE, Copies, alter, create

NAME = '${getMetadata("iceberg_table_name")}'


@pytest.mark.parametrize("identifier", [COPY, f"copy.{NAME}"], ids=["static", "dynamic"])
def test_columns_are_renamed_dropped_and_added_again(copies: Copies, identifier: str) -> None:
    copies.sink["table_identifier"] = identifier
    create(copies, "id BIGINT NOT NULL, a INT, b STRING, c FLOAT",
           rows=["(1, 1, 'b1', 1.5), (2, 2, 'b2', 2.5)"])
    copies.run(*alter("RENAME COLUMN a TO x", "ALTER COLUMN c TYPE DOUBLE", "DROP COLUMN b"),
               "INSERT INTO {t} VALUES (3, 3, 3.5)")
    assert copies.names() == ["id", "x", "c"]
    copies.run(*alter("ADD COLUMN b INT AFTER id", "ADD COLUMN a STRING"),
               "UPDATE {t} SET b = 7, a = 'new' WHERE id = 1")
    assert copies.names() == ["id", "b", "x", "c", "a"]
    # two columns change their names with each other, between two snapshots
    copies.run(*alter("RENAME COLUMN x TO y", "RENAME COLUMN a TO x", "RENAME COLUMN y TO a"),
               "DELETE FROM {t} WHERE id = 2")
    assert copies.check() == 4


def test_fields_inside_of_columns_follow(copies: Copies) -> None:
    create(copies, "id BIGINT, s STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>>, "
                   "l ARRAY<STRUCT<a: INT, b: STRING>>, m MAP<STRING, STRUCT<a: FLOAT, b: INT>>",
           rows=["(1, named_struct('a', 1, 'b', named_struct('c', 1, 'd', 'd')), "
                 "array(named_struct('a', 1, 'b', 'b')), "
                 "map('k', named_struct('a', 1.5, 'b', 2)))"])
    copies.run(*alter("RENAME COLUMN s.b.c TO cc", "DROP COLUMN s.a", "ADD COLUMN s.b.e INT",
                      "RENAME COLUMN l.element.a TO aa", "DROP COLUMN l.element.b",
                      "ADD COLUMN l.element.b INT", "ALTER COLUMN m.value.a TYPE DOUBLE",
                      "RENAME COLUMN s TO t", "ADD COLUMN m.value.c STRING",
                      "DROP COLUMN m.value.b"),
               "INSERT INTO {t} VALUES (2, named_struct('b', named_struct('cc', 2, 'd', 'x', "
               "'e', 5)), array(named_struct('aa', 2, 'b', 9)), "
               "map('k', named_struct('a', 2.5, 'c', 'c')))")
    assert copies.check() == 2


def test_an_identifier_column_is_renamed(copies: Copies) -> None:
    copies.sink["identifier_columns"] = ["id"]
    create(copies, "id BIGINT NOT NULL, v INT", rows=["(1, 1), (2, 2)"])
    copies.run(*alter("RENAME COLUMN id TO key"), "UPDATE {t} SET v = 5 WHERE key = 1")
    assert copies.identifiers() == ["key"]
    copies.run("DELETE FROM {t} WHERE key = 2")
    assert copies.check() == 3


def test_an_identifier_column_is_dropped(copies: Copies) -> None:
    copies.lab.tables[0]["identifier_columns"] = ["region", "id"]
    create(copies, "id BIGINT NOT NULL, region STRING NOT NULL, v INT",
           rows=["(1, 'us', 1), (2, 'eu', 2)"])
    assert copies.identifiers() == ["id", "region"]
    copies.run("UPDATE {t} SET v = 5 WHERE id = 1")
    copies.lab.tables[0]["identifier_columns"] = ["id"]
    copies.run(*alter("DROP COLUMN region"), "INSERT INTO {t} VALUES (3, 3)")
    assert copies.identifiers() == ["id"]
    assert copies.check() == 3


def test_a_crash_behind_the_schema_update_is_made_good(copies: Copies) -> None:
    create(copies, "id BIGINT, a INT, b INT", rows=["(1, 1, 1)"])
    copies.sql(*alter("RENAME COLUMN a TO x", "DROP COLUMN b", "ADD COLUMN b STRING"),
               "INSERT INTO {t} VALUES (2, 2, 'b')")
    with pytest.raises(PowerCut):
        copies.lab.run(crash_at="write")
    assert copies.names() == ["id", "x", "b"]
    known = copies.copy.table(COPY).properties["meltline.source-fields"]
    copies.run()
    assert copies.copy.table(COPY).properties["meltline.source-fields"] == known
    assert copies.check() == 2


def test_a_table_that_others_made_is_followed_by_name_only(copies: Copies) -> None:
    copies.copy.sql("CREATE NAMESPACE {c}.copy")
    copies.copy.sql("CREATE NAMESPACE {c}.copy.prod")
    copies.copy.sql(f"CREATE TABLE {{c}}.{COPY} (id BIGINT, a INT) USING iceberg")
    create(copies, "id BIGINT, a INT", rows=["(1, 1)"])
    copies.run(*alter("RENAME COLUMN a TO x"), "INSERT INTO {t} VALUES (2, 2)")
    assert copies.names() == ["id", "a", "x"]
    assert "meltline.source-fields" not in copies.copy.table(COPY).properties


def test_behind_processors_only_the_identifier_columns_are_the_sources(copies: Copies) -> None:
    copies.lab.extra["processor"] = [
        {"add_entries": {"entries": [{"key": "seen", "value": "yes"}]}}]
    create(copies, "id BIGINT, a INT", rows=["(1, 1)"])
    copies.run(*alter("RENAME COLUMN a TO x"), "UPDATE {t} SET x = 2")
    assert copies.copy.rows(COPY) == [{"id": 1, "a": None, "seen": "yes", "x": 2}]


def test_without_schema_evolution_the_copy_stays(copies: Copies) -> None:
    copies.sink["schema_evolution"] = False
    create(copies, "id BIGINT, a INT, b INT", rows=["(1, 1, 1)"])
    copies.run(*alter("DROP COLUMN b", "ADD COLUMN c INT"), "INSERT INTO {t} VALUES (2, 2, 2)")
    assert copies.names() == ["id", "a", "b"]


def test_columns_of_the_copys_own_stay(copies: Copies) -> None:
    create(copies, "id BIGINT, a INT", rows=["(1, 1)"])
    copies.copy.sql(f"ALTER TABLE {{c}}.{COPY} ADD COLUMN loaded STRING")
    copies.run(*alter("DROP COLUMN a", "ADD COLUMN z INT"), "INSERT INTO {t} VALUES (2, 2)")
    assert set(copies.names()) == {"id", "loaded", "z"}


def test_the_property_says_what_came_from_where(copies: Copies) -> None:
    create(copies, "id BIGINT NOT NULL, s STRUCT<a: INT>", "PARTITIONED BY (bucket(2, id))",
           ["(1, null)"])
    body = json.loads(copies.copy.table(COPY).properties["meltline.source-fields"])
    assert body == {
        "table": copies.lab.warehouse.table(SOURCE).uuid, "last": 3,
        "fields": {"1": "id", "2": "s", "3": "s.a"}, "identifiers": [1],
        "spec": [[1, "bucket[2]", "id_bucket"]]}
