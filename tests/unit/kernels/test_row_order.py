"""Rows in the sort order of a table."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortOrder
from pyiceberg.types import DateType, DoubleType, LongType, StringType, StructType, UUIDType

from meltline.kernels.parquet import equality_deletes
from meltline.kernels.sort import RowOrder
from meltline.kernels.write import TableWriter, WriteLimits
from tests.unit.kernels.conversion import optional
from tests.unit.kernels.tables import table, target

SCHEMA = Schema(
    optional(1, "n", LongType()), optional(2, "x", DoubleType()), optional(3, "t", StringType()),
    optional(4, "s", StructType(optional(5, "d", DateType()))), optional(6, "u", UUIDType()))
COLUMNS: dict[str, list[Any]] = {
    "n": [2, None, 1, 2], "x": [1.5, math.nan, None, -1.0], "t": ["b", "ab", None, "a"],
    "s": [{"d": 400}, {"d": 3}, None, {"d": 35}],
    "u": [b"b" * 16, b"a" * 16, None, b"c" * 16]}


def order_json(*fields: tuple[int, str, str, str]) -> str:
    return json.dumps({"order-id": 3, "fields": [
        {"source-id": id_, "transform": transform, "direction": direction, "null-order": nulls}
        for id_, transform, direction, nulls in fields]})


def places(*fields: tuple[int, str, str, str]) -> list[int]:
    """Which row comes first, second, ..."""
    rows = table(SCHEMA, COLUMNS).append_column("place", [list(range(4))])
    order = RowOrder(SCHEMA, SortOrder.model_validate_json(order_json(*fields)))
    found: list[int] = order.sort(rows).column("place").to_pylist()
    return found


@pytest.mark.parametrize(
    ("fields", "expected"),
    [([(1, "identity", "asc", "nulls-first")], [1, 2, 0, 3]),
     ([(1, "identity", "asc", "nulls-last")], [2, 0, 3, 1]),
     ([(1, "identity", "desc", "nulls-first")], [1, 0, 3, 2]),
     ([(1, "identity", "desc", "nulls-last"), (2, "identity", "asc", "nulls-last")], [3, 0, 2, 1]),
     ([(2, "identity", "asc", "nulls-first")], [2, 3, 0, 1]),
     ([(2, "identity", "desc", "nulls-last")], [1, 0, 3, 2]),
     ([(3, "identity", "asc", "nulls-last")], [3, 1, 0, 2]),
     ([(3, "truncate[1]", "asc", "nulls-first"), (1, "identity", "asc", "nulls-last")],
      [2, 3, 1, 0]),
     ([(5, "month", "asc", "nulls-last"), (5, "day", "desc", "nulls-last")], [1, 3, 0, 2]),
     ([(6, "identity", "desc", "nulls-last")], [3, 0, 1, 2]),
     ([], [0, 1, 2, 3])],
)  # fmt: skip
def test_transforms_directions_and_nulls(
    fields: list[tuple[int, str, str, str]], expected: list[int]
) -> None:
    assert places(*fields) == expected


def test_an_order_that_is_not_known_here_is_none() -> None:
    order = RowOrder(SCHEMA, SortOrder.model_validate_json(
        order_json((99, "identity", "asc", "nulls-first"))))
    assert order.order_id is None
    rows = table(SCHEMA, COLUMNS)
    assert order.sort(rows) is rows


def write(folder: Path, limits: WriteLimits, batches: Sequence[Sequence[int]]) -> list[Any]:
    schema = Schema(optional(1, "n", LongType()))
    made = target(folder, schema, sort=order_json((1, "identity", "asc", "nulls-first")))
    writer = TableWriter(made, f"{folder}/f", limits)
    for batch in batches:
        writer.add(table(schema, {"n": batch}))
    return writer.finish()


def test_a_file_of_one_row_group_says_that_it_is_sorted(tmp_path: Path) -> None:
    [file] = write(tmp_path, WriteLimits(), [[5, 3], [4, 1]])
    assert pq.read_table(file.path).column("n").to_pylist() == [1, 3, 4, 5]
    assert json.loads(file.content)["sort-order-id"] == 3


def test_a_file_of_several_row_groups_does_not(tmp_path: Path) -> None:
    [file] = write(tmp_path, WriteLimits(row_group=1), [[5, 3], [4, 1]])
    assert pq.read_table(file.path).column("n").to_pylist() == [3, 5, 1, 4]
    assert "sort-order-id" not in json.loads(file.content)


def test_deletes_are_not_sorted(tmp_path: Path) -> None:
    schema = Schema(optional(2, "x", DoubleType()))
    made = target(tmp_path, schema, sort=order_json((1, "identity", "asc", "nulls-first")))
    writer = TableWriter(made, f"{tmp_path}/f", WriteLimits(), equality_deletes([2]))
    writer.add(table(schema, {"x": [2.0, 1.0]}))
    [file] = writer.finish()
    assert "sort-order-id" not in json.loads(file.content)
