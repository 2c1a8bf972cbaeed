"""Keys match columns whatever the letter case, from events to tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.catalogs import Properties
from tests.lab import Lab

SINK: dict[str, Any] = {"table_identifier": "shop.orders", "auto_create": True,
                        "case_insensitive": True, "schema_evolution": True}


@pytest.fixture
def lab(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> Lab:
    return Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, sinks=[{**SINK}])


def columns(lab: Lab) -> list[str]:
    return [field.name for field in lab.table("shop.orders").target().schema.fields]


def test_a_table_that_is_guessed_and_grows_has_each_name_once(lab: Lab) -> None:
    lab.drop_file([{"Id": 1, "item": {"Amount": 5}}, {"ID": 2, "Item": {"amount": 6}}])
    lab.run()
    assert len(columns(lab)) == 2
    lab.drop_file([{"id": 3, "ITEM": {"AMOUNT": 7, "Tax": 1}}, {"iD": 4, "New": "a"},
                   {"id": 5, "new": "c", "item": {"TAX": 2}}])
    lab.run()
    names = columns(lab)
    assert [name.lower() for name in names] == ["id", "item", "new"]
    key, item, new = names
    found = {row[key]: row for row in lab.rows("shop.orders")}
    assert [found[id_][new] for id_ in (3, 4, 5)] == [None, "a", "c"]
    amounts = [{name.lower(): value for name, value in (found[id_][item] or {}).items()}
               for id_ in (1, 2, 3, 5)]
    assert amounts == [{"amount": 5, "tax": None}, {"amount": 6, "tax": None},
                       {"amount": 7, "tax": 1}, {"amount": None, "tax": 2}]


def test_identifiers_and_filters_in_any_case(lab: Lab) -> None:
    lab.sinks[0] |= {
        "operation": "${/op}", "identifier_columns": ["ID"], "delete_mode": "equality",
        "exclude_keys": ["OP", "Secret"], "schema": {"columns": [
            {"name": "Id", "type": "long", "required": True}, {"name": "name", "type": "string"}]}}
    lab.drop_file([{"op": "c", "id": 1, "NAME": "a"}, {"op": "c", "ID": 2, "name": "b"},
                   {"op": "c", "iD": 3, "secret": 1}])
    lab.run()
    lab.drop_file([{"op": "u", "ID": 1, "Name": "a2"}, {"op": "d", "id": 2}])
    lab.run()
    assert sorted((row["Id"], row["name"]) for row in lab.rows("shop.orders")) == [
        (1, "a2"), (3, None)]
    schema = lab.table("shop.orders").target().schema
    assert [field.name for field in schema.fields] == ["Id", "name"]
    assert schema.identifier_field_ids == [1]
