"""One sink, many tables: by expression, by a list with patterns, by a field's value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from meltline.errors import UserError
from meltline.sinks.iceberg.ledger import control_table_name
from meltline.testing import PowerCut
from tests.catalogs import Properties
from tests.lab import Lab

SINK: dict[str, Any] = {
    "table_identifier": "shop.${/kind}", "auto_create": True, "schema_evolution": True,
    "exclude_keys": ["kind"], "dlq": {"iceberg": {"table_identifier": "shop.dead_letters"}}}


@pytest.fixture
def lab(
    tmp_path: Path, spark: SparkSession, make_catalog: Callable[[str], Properties]
) -> Lab:
    return Lab(tmp_path, make_catalog("jdbc-sqlite"), spark, sinks=[{**SINK}])


def ids(lab: Lab, table: str) -> list[int]:
    return sorted(row["id"] for row in lab.rows(table))


def reasons(lab: Lab) -> list[str]:
    return sorted(row["reason"] for row in lab.rows("shop.dead_letters"))


def test_each_event_names_its_table(lab: Lab) -> None:
    lab.drop_file([{"kind": "orders", "id": 1}, {"kind": "items", "id": 2, "n": "x"},
                   {"kind": "orders", "id": 3}, {"id": 4}, {"kind": "dead_letters", "id": 5}])
    lab.run()
    assert (ids(lab, "shop.orders"), ids(lab, "shop.items")) == ([1, 3], [2])
    lab.drop_file([{"kind": "orders", "id": 6, "new": True}, {"kind": "eu.items", "id": 7}])
    lab.run()
    assert ids(lab, "shop.orders") == [1, 3, 6]
    assert ids(lab, "shop.eu.items") == [7]
    assert {row["id"]: row["new"] for row in lab.rows("shop.orders")}[6] is True
    assert reasons(lab) == [
        'table shop.dead_letters belongs to another sink, or to the dead letters, of this pipeline',
        'the event names no table: "shop." is not namespace.table']
    assert lab.epochs("shop.orders") == [1, 2]
    assert lab.epochs("shop.items") == [1]


def test_a_crash_between_two_tables_doubles_nothing(lab: Lab) -> None:
    lab.sinks[0] |= {"operation": "${/op}", "identifier_columns": ["id"],
                     "exclude_keys": ["kind", "op"]}
    expected: dict[str, dict[int, int]] = {f"t{n}": {} for n in range(4)}
    for round_, point in enumerate(("publish.table", "publish.letters", "done", None)):
        events = []
        for id_ in range(20):
            table = f"t{(id_ + round_) % 4}"
            events.append({"kind": table, "op": "u", "id": id_, "v": round_})
            expected[table][id_] = round_
        lab.drop_file([*events, {"kind": "t0", "op": "?", "id": 1}])
        if point is None:
            lab.run()
        else:
            with pytest.raises(PowerCut):
                lab.run(crash_at=point)
    for table, rows in expected.items():
        assert {row["id"]: row["v"] for row in lab.rows(f"shop.{table}")} == rows
        epochs = lab.epochs(f"shop.{table}")
        assert epochs == sorted(set(epochs)), "a snapshot per table and epoch"
    assert reasons(lab) == ['unknown operation "?"'] * 4


def test_a_lost_ledger_is_rebuilt_from_the_tables_that_events_named(lab: Lab) -> None:
    for number in range(2):
        lab.drop_file([{"kind": "eu.orders", "id": number}, {"kind": "items", "id": number}])
        lab.run()
    assert lab.open_catalog().drop(control_table_name("meltline", "lab"))
    lab.drop_file([{"kind": "eu.orders", "id": 2}])
    lab.run()
    assert (ids(lab, "shop.eu.orders"), ids(lab, "shop.items")) == ([0, 1, 2], [0, 1])
    assert lab.epochs("shop.eu.orders") == [1, 2, 3]


def test_without_auto_create_events_of_missing_tables_are_dead_letters(lab: Lab) -> None:
    lab.drop_file([{"kind": "orders", "id": 1}])
    lab.run()
    lab.sinks[0] |= {"auto_create": False}
    lab.drop_file([{"kind": "orders", "id": 2}, {"kind": "items", "id": 3}])
    lab.run()
    assert ids(lab, "shop.orders") == [1, 2]
    assert reasons(lab) == ["table shop.items does not exist"]


def test_a_list_of_tables_with_patterns(lab: Lab) -> None:
    del lab.sinks[0]["table_identifier"]
    lab.sinks[0] |= {"route_field": "kind", "tables": [
        {"table_identifier": "shop.orders", "route_regex": "order.*"},
        {"table_identifier": "shop.all", "route_regex": ".*s"}]}
    lab.drop_file([{"kind": "orders", "id": 1}, {"kind": "order", "id": 2},
                   {"kind": "items", "id": 3}, {"id": 4}])
    recorder = lab.run()
    assert (ids(lab, "shop.orders"), ids(lab, "shop.all")) == ([1, 2], [1, 3])
    assert sum(result.report.unrouted for result in recorder.results) == 1


def test_a_table_by_the_lower_cased_value_of_a_field(lab: Lab) -> None:
    del lab.sinks[0]["table_identifier"]
    lab.sinks[0] |= {"route_field": "kind", "dynamic_tables": True}
    lab.drop_file([{"kind": "Shop.Orders", "id": 1}, {"kind": "SHOP.ORDERS", "id": 2}])
    lab.run()
    assert ids(lab, "shop.orders") == [1, 2]


def test_a_missing_table_of_a_list_is_an_error_at_start(lab: Lab) -> None:
    del lab.sinks[0]["table_identifier"]
    lab.sinks[0] |= {"auto_create": False, "tables": [{"table_identifier": "shop.orders"}]}
    lab.drop_file([{"id": 1}])
    with pytest.raises(UserError, match=r"table shop\.orders does not exist"):
        lab.run()
