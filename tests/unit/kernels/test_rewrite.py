"""Rewritten files: the rows that stay, as the table has them now."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import (
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)
from pyroaring import BitMap64

from meltline.kernels.parquet import equality_deletes
from meltline.kernels.rewrite import rewrite_files
from meltline.model.live_file import LiveFile
from tests.unit.kernels.lookups import IO, data_file
from tests.unit.kernels.tables import target

OLD = Schema(
    NestedField(1, "id", IntegerType()), NestedField(2, "name", StringType()),
    NestedField(3, "s", StructType(NestedField(4, "a", IntegerType()),
                                   NestedField(5, "b", StringType()))),
    NestedField(6, "l", ListType(7, StructType(NestedField(8, "x", IntegerType())))),
    NestedField(9, "m", MapType(10, StringType(), 11, IntegerType(), False)))
NEW = Schema(
    NestedField(3, "s", StructType(NestedField(5, "bb", StringType()),
                                   NestedField(4, "a", LongType()),
                                   NestedField(13, "c", LongType(), initial_default=4))),
    NestedField(6, "l", ListType(7, StructType(NestedField(8, "x", LongType()),
                                               NestedField(14, "y", StringType())))),
    NestedField(9, "m", MapType(10, StringType(), 11, LongType(), False)),
    NestedField(1, "key", LongType()),
    NestedField(12, "added", StringType(), initial_default="d"))
COLUMNS: dict[str, list[Any]] = {
    "id": [1, 2, 3, 4], "name": ["a", "b", "c", "d"],
    "s": [{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": 4, "b": "y"}],
    "l": [[{"x": 1}, {"x": None}], None, [], [{"x": 7}]],
    "m": [[("k", 1)], None, [], [("k", None)]]}


def rewritten(
    tmp_path: Path, file: LiveFile, gone: list[int], schema: Schema = NEW, version: int = 2
) -> list[dict[str, Any]]:
    table = replace(target(tmp_path, schema), format_version=version)
    contents = rewrite_files(IO, table, [file], {file.path: BitMap64(gone)}, {},
                             str(tmp_path / "new"))
    found = [pq.read_table(json.loads(text)["file-path"]) for text in contents]
    return [row for one in found for row in one.to_pylist()]


def test_an_old_file_in_the_new_schema(tmp_path: Path) -> None:
    file = data_file(tmp_path / "a.parquet", OLD, COLUMNS)
    assert rewritten(tmp_path, file, [2]) == [
        {"s": {"bb": "x", "a": 1, "c": 4}, "l": [{"x": 1, "y": None}, {"x": None, "y": None}],
         "m": [("k", 1)], "key": 1, "added": "d"},
        {"s": None, "l": None, "m": None, "key": 2, "added": "d"},
        {"s": {"bb": "y", "a": 4, "c": 4}, "l": [{"x": 7, "y": None}], "m": [("k", None)],
         "key": 4, "added": "d"}]


def test_positions_count_over_row_groups(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType()))
    file = data_file(tmp_path / "a.parquet", schema, {"id": list(range(10))}, groups=3)
    left = rewritten(tmp_path, file, [0, 3, 4, 9], schema)
    assert [row["id"] for row in left] == [1, 2, 5, 6, 7, 8]
    assert rewritten(tmp_path, file, list(range(10)), schema) == []


def test_equality_deletes_are_applied(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "v", StringType()))
    keys = data_file(tmp_path / "k.parquet", Schema(schema.fields[0]), {"id": [2, None]})
    delete = {**keys.content, **equality_deletes([1])}
    file = data_file(tmp_path / "a.parquet", schema,
                     {"id": [1, 2, None, 4], "v": ["a", "b", "c", "d"]}, deletes=[delete])
    assert [row["id"] for row in rewritten(tmp_path, file, [0], schema)] == [4]


def test_lineage_follows_from_the_file_or_is_stored(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType()))
    stored = Schema(*schema.fields, NestedField(2147483540, "_row_id", LongType()),
                    NestedField(2147483539, "_last_updated_sequence_number", LongType()))
    implied = data_file(tmp_path / "a.parquet", schema, {"id": [5, 6, 7]}, first_row_id=100)
    assert rewritten(tmp_path, implied, [1], schema, 3) == [
        {"id": 5, "_row_id": 100, "_last_updated_sequence_number": 7},
        {"id": 7, "_row_id": 102, "_last_updated_sequence_number": 7}]
    told = data_file(tmp_path / "b.parquet", stored, {
        "id": [5, 6], "_row_id": [3, None], "_last_updated_sequence_number": [1, None]},
        first_row_id=200)
    assert rewritten(tmp_path, told, [], schema, 3) == [
        {"id": 5, "_row_id": 3, "_last_updated_sequence_number": 1},
        {"id": 6, "_row_id": 201, "_last_updated_sequence_number": 7}]


def test_an_older_table_has_no_lineage_yet(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType()))
    file = data_file(tmp_path / "a.parquet", schema, {"id": [5]})
    assert rewritten(tmp_path, file, [], schema, 3)[0]["_row_id"] is None
    assert pa.types.is_int64(pq.read_schema(file.path).field("id").type)
