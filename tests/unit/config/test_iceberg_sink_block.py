"""What the block of an Iceberg sink says of its tables and of changes."""

from __future__ import annotations

from typing import Any

import pytest

from meltline.config.shared_table import shared_table
from meltline.config.sink_iceberg import IcebergSink

LIST = {"tables": [{"table_identifier": "shop.a"},
                   {"table_identifier": "shop.b", "branch": "staging"}]}
DYNAMIC = {"dynamic_tables": True, "route_field": "meta/table"}


def sink(**keys: Any) -> IcebergSink:
    return IcebergSink.model_validate(keys)


@pytest.mark.parametrize(
    ("keys", "names", "dynamic", "label", "table_key"),
    [({"table_identifier": "shop.a"}, ("shop.a",), False, "shop.a", "table_identifier"),
     ({"table_identifier": "shop.${/t}"}, (), True, "shop.${/t}", "table_identifier"),
     (LIST, ("shop.a", "shop.b"), False, "shop.a, shop.b", "tables"),
     (DYNAMIC, (), True, "${meta/table}", "dynamic_tables")],
)  # fmt: skip
def test_which_tables(
    keys: dict[str, Any], names: tuple[str, ...], dynamic: bool, label: str, table_key: str
) -> None:
    made = sink(**keys)
    assert (made.names, made.dynamic, made.label, made.table_key) == (
        names, dynamic, label, table_key)


@pytest.mark.parametrize(("keys", "keyed"), [
    ({}, False), ({"identifier_columns": ["id"]}, False), ({"operation": "index"}, True),
    ({"operation": "${/op}", "delete_mode": "copy-on-write"}, True),
    ({"deduplicate_inserts": True, "delete_mode": "equality"}, True)])
def test_whether_rows_leave_the_table(keys: dict[str, Any], keyed: bool) -> None:
    assert sink(table_identifier="shop.a", **keys).keyed is keyed


def test_defaults_of_changes() -> None:
    made = sink(table_identifier="shop.a")
    assert (made.operation, made.identifier_columns, made.delete_mode, made.branch) == (
        None, (), None, None)
    assert (made.deduplicate_inserts, made.case_insensitive, made.dynamic_tables) == (
        False, False, False)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [({"table_identifier": "shop.a"}, {"table_identifier": "shop.b"}, None),
     ({"table_identifier": "shop.a"}, LIST, "shop.a"),
     ({"table_identifier": "eu.${/t}"}, {"table_identifier": "us.${/t}"}, None),
     ({"table_identifier": "shop.${/t}"}, {"table_identifier": "shop.x_${/t}"}, "shop.x_*"),
     (DYNAMIC, {"table_identifier": "shop.${/t}"}, "shop.*")],
)  # fmt: skip
def test_tables_that_two_sinks_share(
    one: dict[str, Any], other: dict[str, Any], shared: str | None
) -> None:
    assert shared_table(sink(**one), sink(**other)) == shared
    assert shared_table(sink(**other), sink(**one)) == shared
