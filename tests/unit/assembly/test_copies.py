"""Which table is a copy of a source's table: rows may be deleted from no other."""

from __future__ import annotations

from typing import Any

import pytest

from meltline.assembly.copies import CopyName, copy_name
from meltline.config.pipeline import PipelineBlock
from meltline.sources.iceberg.copy_table import NoCopy

NAME = '${getMetadata("iceberg_table_name")}'
SINK = {"table_identifier": f"copy.{NAME}", "operation": '${getMetadata("iceberg_operation")}',
        "identifier_columns": ["id"]}


def found(sink: dict[str, Any] | None = None, tables: tuple[str, ...] = ("shop.orders",),
          more_sinks: tuple[Any, ...] = (), **block: Any) -> CopyName | NoCopy:
    iceberg = {key: value for key, value in {**SINK, **(sink or {})}.items() if value is not None}
    pipeline = PipelineBlock.model_validate({
        "source": {"iceberg": {"tables": [{"table_name": name} for name in tables]}},
        "sink": [{"iceberg": iceberg}, *more_sinks], **block})
    return copy_name(pipeline, "shop.orders")


def test_a_name_that_the_source_decides_is_known_beforehand() -> None:
    one = found(tables=("shop.orders", "shop.items"))
    assert isinstance(one, CopyName)
    assert one.table == "copy.shop.orders"


def test_a_plain_name_is_known_beforehand() -> None:
    one = found({"table_identifier": "copy.orders"})
    assert isinstance(one, CopyName)
    assert one.table == "copy.orders"


@pytest.mark.parametrize(("changes", "why"), [
    ({"sink": {"table_identifier": "copy.${/region}"}}, "say themselves to which one"),
    ({"sink": {"table_identifier": None, "dynamic_tables": True, "route_field": "t"}},
     "say themselves to which one"),
    ({"sink": {"table_identifier": None, "tables": [{"table_identifier": "a.b"}]}},
     "several tables"),
    ({"sink": {"table_identifier": "copy.all"}, "tables": ("shop.orders", "shop.items")},
     "several tables of the source"),
    ({"sink": {"operation": None}}, "operation of the sink"),
    ({"sink": {"operation": "${/op}"}}, "operation of the sink"),
    ({"sink": {"operation": "insert"}}, "operation of the sink"),
    ({"more_sinks": ({"file": {"path": "out"}},)}, "another sink"),
    ({"processor": [{"delete_entries": {"with_keys": ["v"]}}]}, "processors"),
    ({"sink": {"routes": ["big"]}, "routes": [{"big": "/v > 1"}]}, "routes"),
])
def test_anything_else_is_no_copy(changes: dict[str, Any], why: str) -> None:
    one = found(**changes)
    assert isinstance(one, NoCopy)
    assert why in one.reason


def test_files_are_no_copy() -> None:
    pipeline = PipelineBlock.model_validate({
        "source": {"iceberg": {"tables": [{"table_name": "shop.orders"}]}},
        "sink": [{"file": {"path": "out"}}]})
    assert isinstance(copy_name(pipeline, "shop.orders"), NoCopy)
