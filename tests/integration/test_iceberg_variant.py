"""Tables with columns of the type variant: in as Spark writes them, out as JSON and as copies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meltline.errors import UserError
from tests.change_lab import ChangeLab
from tests.copy_lab import COPY, Copies
from tests.lab import Lab
from tests.warehouse import Warehouse

MakeLab = Callable[..., ChangeLab]
MODES = ("copy-on-write", "merge-on-read")
# Spark's fast reader knows neither shredded variants nor lists of variants
SLOW = "'read.parquet.vectorization.enabled'='false'"
SHREDDED = f"'write.parquet.shred-variants'='true', {SLOW}"

VALUES: dict[str, Any] = {
    r"""parse_json('{"b": [1, 2.50, "x", null, true, {"z": {}}], "a": -7}')""":
        {"a": -7, "b": [1, 2.5, "x", None, True, {"z": {}}]},
    "parse_json('12345678901234567890')": 12345678901234567890,
    "parse_json('1e300')": 1e300,
    "parse_json('null')": None,
    "NULL": None,
    "parse_json('\"te\\\\\"xt é <'||'\"')": 'te"xt é <',
    "CAST(DATE'2024-02-03' AS VARIANT)": "2024-02-03",
    "CAST(TIMESTAMP'2024-02-03 04:05:06.5Z' AS VARIANT)": "2024-02-03T04:05:06.5Z",
    "CAST(TIMESTAMP_NTZ'2024-02-03 04:05:06' AS VARIANT)": "2024-02-03T04:05:06",
    "CAST(X'00FF' AS VARIANT)": "AP8=",
    "CAST(X'616263' AS VARIANT)": "YWJj",
    "CAST(CAST('NaN' AS DOUBLE) AS VARIANT)": "NaN",
    "CAST(CAST('-Infinity' AS DOUBLE) AS VARIANT)": "-Infinity",
    "CAST(0.5F AS VARIANT)": 0.5,
    "CAST(9223372036854775807L AS VARIANT)": 9223372036854775807,
    "to_variant_object(named_struct('at', DATE'2024-02-03', 'raw', X'01', 'list', array(1, 2)))":
        {"at": "2024-02-03", "raw": "AQ==", "list": [1, 2]},
}


@pytest.fixture
def lab(warehouse: Warehouse, tmp_path: Path) -> MakeLab:
    def make(columns: str = "id BIGINT, v VARIANT", mode: str = "copy-on-write",
             more: str = "", **table: Any) -> ChangeLab:
        warehouse.sql("CREATE NAMESPACE IF NOT EXISTS {c}.shop")
        warehouse.sql(f"CREATE TABLE {{c}}.shop.orders ({columns}) USING iceberg "
                      f"TBLPROPERTIES ({_properties(mode, more)})")
        named = {"table_name": "shop.orders", "identifier_columns": ["id"], **table}
        return ChangeLab(tmp_path, warehouse, [named])

    return make


def _properties(mode: str, more: str = "") -> str:
    modes = [f"'write.{kind}.mode'='{mode}'" for kind in ("delete", "update", "merge")]
    return ", ".join(["'format-version'='3'", *modes, *([more] if more else [])])


def insert(lab: ChangeLab, *rows: str) -> None:
    lab.warehouse.sql("INSERT INTO {c}.shop.orders SELECT /*+ COALESCE(1) */ * FROM VALUES "
                      + ", ".join(rows))


@pytest.mark.parametrize("more", ["", SHREDDED], ids=["whole", "shredded"])
def test_values_of_every_type(lab: MakeLab, more: str) -> None:
    one = lab(more=more)
    insert(one, *(f"({i}, {sql})" for i, sql in enumerate(VALUES)))
    one.run()
    found = {int(id_ or -1): document["v"] for _, id_, document in one.changes()}
    assert [found[i] for i in range(len(VALUES))] == list(VALUES.values())


def test_numbers_keep_their_digits(lab: MakeLab) -> None:
    one = lab()
    number = "123456789012345678901234567890.12345678"
    insert(one, f"(1, parse_json('[{number}]'))")
    one.run()
    (file,) = (one.base / "out").glob("*.ndjson")
    assert f'"v":[{number}]' in file.read_text().replace(" ", "")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", [["id"], []], ids=["keyed", "row ids"])
def test_changes(lab: MakeLab, mode: str, key: list[str]) -> None:
    one = lab(mode=mode, identifier_columns=key)
    insert(one, """(1, parse_json('{"a": 1}')), (2, parse_json('[2]')), (3, NULL)""")
    one.run()
    one.warehouse.sql("""UPDATE {c}.shop.orders SET v = parse_json('{"a": 2}') WHERE id = 1""")
    one.warehouse.sql("DELETE FROM {c}.shop.orders WHERE id = 2")
    one.warehouse.sql("UPDATE {c}.shop.orders SET v = parse_json('null') WHERE id = 3")
    one.run()
    assert [(operation, document) for operation, _, document in one.changes()[3:]] == [
        ("UPDATE_AFTER", {"id": 1, "v": {"a": 2}}), ("DELETE", {"id": 2, "v": [2]}),
        ("UPDATE_AFTER", {"id": 3, "v": None})]


def test_other_bytes_of_the_same_value_are_no_change(lab: MakeLab) -> None:
    one = lab()
    insert(one, """(1, parse_json('{"b": {"y": 1, "x": 2}, "a": [1]}')), (2, parse_json('1'))""")
    one.run()
    one.warehouse.sql(f"ALTER TABLE {{c}}.shop.orders SET TBLPROPERTIES ({SHREDDED})")
    one.warehouse.sql("""INSERT OVERWRITE {c}.shop.orders SELECT /*+ COALESCE(1) */ * FROM VALUES
        (1, parse_json('{"a": [1], "b": {"x": 2, "y": 1}}')), (2, parse_json('2'))""")
    one.run()
    assert one.changes()[2:] == [("UPDATE_AFTER", "2", {"id": 2, "v": 2})]


def test_variants_inside_of_other_columns(lab: MakeLab) -> None:
    one = lab("id BIGINT, s STRUCT<v: VARIANT, n: INT>, l ARRAY<VARIANT>, m MAP<STRING, VARIANT>",
              more=SHREDDED)
    insert(one, """(1, named_struct('v', parse_json('{"a": 1}'), 'n', 2),
        array(parse_json('1'), NULL, parse_json('"x"')), map('k', parse_json('[1]'), 'j', NULL))""")
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET l = array(CAST(X'61' AS VARIANT)) WHERE id = 1")
    one.run()
    document = {"id": 1, "s": {"v": {"a": 1}, "n": 2}, "m": {"k": [1], "j": None}}
    assert [change[2] for change in one.changes()] == [
        {**document, "l": [1, None, "x"]}, {**document, "l": ["YQ=="]}]


def test_a_column_that_is_added_later(lab: MakeLab) -> None:
    one = lab("id BIGINT")
    insert(one, "(1)")
    one.warehouse.sql("ALTER TABLE {c}.shop.orders ADD COLUMN v VARIANT")
    insert(one, "(2, parse_json('[2]'))")
    one.run()
    assert sorted(change[2]["v"] or [] for change in one.changes()) == [[], [2]]


def test_columns_of_the_type_unknown(lab: MakeLab) -> None:
    one = lab("id BIGINT, nothing VOID")
    insert(one, "(1, NULL)")
    one.run()
    one.warehouse.sql("UPDATE {c}.shop.orders SET id = 2")
    one.run()
    assert [(change[0], change[2]) for change in one.changes()[:1]] == [
        ("INSERT", {"id": 1, "nothing": None})]
    assert len(one.changes()) == 3


def test_a_variant_identifies_no_row(lab: MakeLab) -> None:
    with pytest.raises(UserError, match=r'"v" of table shop\.orders is a variant'):
        lab(identifier_columns=["v"]).run()


def test_a_copy_has_columns_of_the_type_unknown_too(copies: Copies) -> None:
    copies.run("CREATE TABLE {t} (id BIGINT NOT NULL, nothing VOID, s STRUCT<n: INT, no: VOID>) "
               "USING iceberg TBLPROPERTIES ('format-version'='3')",
               "INSERT INTO {t} VALUES (1, NULL, named_struct('n', 1, 'no', NULL))")
    copies.run("UPDATE {t} SET s = named_struct('n', 2, 'no', NULL)")
    assert copies.check() == 2


def test_only_variants_are_written_to_variants(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.sql("CREATE NAMESPACE {c}.shop")
    warehouse.sql("CREATE TABLE {c}.shop.orders (id BIGINT, s STRUCT<v: VARIANT>) USING iceberg "
                  "TBLPROPERTIES ('format-version'='3')")
    one = Lab(tmp_path, {"name": warehouse.name, **warehouse.properties}, warehouse.spark,
              sinks=[{"table_identifier": "shop.orders"}])
    one.drop_file([{"id": 1, "s": {"v": 1}}])
    with pytest.raises(UserError, match=r'"s\.v" of table shop\.orders has the type variant'):
        one.run()


def test_behind_processors_a_variant_becomes_a_text(copies: Copies) -> None:
    copies.lab.extra["processor"] = [{"delete_entries": {"with_keys": ["other"]}}]
    copies.run("CREATE TABLE {t} (id BIGINT NOT NULL, v VARIANT, other INT) USING iceberg "
               "TBLPROPERTIES ('format-version'='3')",
               "INSERT INTO {t} VALUES (1, parse_json('{\"b\": 1.50, \"a\": \"x\"}'), 1)",
               "INSERT INTO {t} VALUES (2, parse_json('\"x\"'), 1), (3, NULL, 1)")
    rows = copies.copy.sql(f"SELECT v FROM {{c}}.{COPY} ORDER BY id")
    assert [row["v"] for row in rows] == ['{"a":"x","b":1.50}', '"x"', None]


@pytest.mark.parametrize(("mode", "delete_mode"), [
    ("copy-on-write", "equality"), ("merge-on-read", "position"),
    ("merge-on-read", "copy-on-write")])
def test_a_copy_has_the_same_variants(copies: Copies, mode: str, delete_mode: str) -> None:
    copies.sink["delete_mode"] = delete_mode
    copies.sql(f"CREATE TABLE {{t}} (id BIGINT NOT NULL, v VARIANT, s STRUCT<v: VARIANT>) "
               f"USING iceberg TBLPROPERTIES ({_properties(mode)})",
               *(f"INSERT INTO {{t}} VALUES ({i}, {sql}, named_struct('v', {sql}))"
                 for i, sql in enumerate(VALUES)))
    copies.run()
    copies.run("UPDATE {t} SET v = parse_json('{\"z\": 1}') WHERE id < 3",
               "DELETE FROM {t} WHERE id = 4", "ALTER TABLE {t} ADD COLUMN w VARIANT",
               "INSERT INTO {t} VALUES (99, NULL, NULL, parse_json('[1]'))")
    told = ("SELECT id, to_json(v) v, schema_of_variant(v) t, v IS NULL n, to_json(s) s, "
            "to_json(w) w FROM {c}.%s ORDER BY id")
    assert copies.copy.sql(told % COPY) == copies.lab.warehouse.sql(told % "prod.orders")


def test_a_copy_is_brought_up_to_date_by_the_values_of_variants(copies: Copies) -> None:
    copies.lab.tables[0]["on_lost_position"] = "re_export"
    copies.run(f"CREATE TABLE {{t}} (id BIGINT NOT NULL, v VARIANT) USING iceberg "
               f"TBLPROPERTIES ({_properties('copy-on-write', SHREDDED)})",
               *(f"INSERT INTO {{t}} VALUES ({i}, parse_json('{{\"a\": {i}}}'))" for i in range(4)))
    copies.sql("DELETE FROM {t} WHERE id = 0", "UPDATE {t} SET v = parse_json('[]') WHERE id = 1",
               "CALL {c}.system.expire_snapshots(table => 'prod.orders', "
               "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)")
    recorder = copies.lab.run()
    assert sum(result.report.read for result in recorder.results) == 2
    rows = copies.copy.sql(f"SELECT id, to_json(v) v FROM {{c}}.{COPY} ORDER BY id")
    assert [(row["id"], row["v"]) for row in rows] == [(1, "[]"), (2, '{"a":2}'), (3, '{"a":3}')]
