"""Rows that a snapshot added or removed, from real files with real deletes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyroaring import BitMap64

from meltline.errors import PositionLost, RunError
from meltline.kernels.changed_rows import ChangedRows
from meltline.kernels.connection import connect
from meltline.kernels.deletes import Deletes
from meltline.kernels.deletion_vector import encode_vector
from meltline.kernels.storage import open_storage
from meltline.model.content import DataFile, DeleteFile, FileChange

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
OLD = NestedField(3, "region", StringType())


class Lake:
    """Files in one folder, as an Iceberg writer would make them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, file: str, ids: dict[str, int], /, **columns: Sequence[Any]) -> str:
        fields = [pa.field(key, pa.array(values).type,
                           metadata={"PARQUET:field_id": str(ids[key])})
                  for key, values in columns.items()]
        table = pa.table([pa.array(values) for values in columns.values()], pa.schema(fields))
        pq.write_table(table, self.folder / file, row_group_size=4)
        return str(self.folder / file)

    def data(self, count: int = 10) -> DataFile:
        path = self.write("data.parquet", {"id": 1, "name": 2, "region": 3}, id=list(range(count)),
                          name=[f"n{i}" for i in range(count)],
                          region=[("us", "eu", None)[i % 3] for i in range(count)])
        return DataFile(path, "parquet", 1, count, 1, first_row_id=100)

    def positions(self, name: str, *pairs: tuple[str, int]) -> DeleteFile:
        path = self.write(name, {"file_path": 2147483546, "pos": 2147483545},
                          file_path=[p for p, _ in pairs], pos=[n for _, n in pairs])
        return DeleteFile("position", path, "parquet", 1, len(pairs), 2)

    def vector(self, name: str, file: DataFile, *positions: int) -> DeleteFile:
        blob = encode_vector(BitMap64(positions))
        (self.folder / name).write_bytes(b"PFA1" + blob)
        return DeleteFile("vector", str(self.folder / name), "puffin", 1, len(positions), 2,
                          referenced=file.path, offset=4, length=len(blob))

    def keys(self, name: str, ids: tuple[int, ...], sequence: int = 2, **columns: Sequence[Any]
             ) -> DeleteFile:
        path = self.write(name, dict(zip(columns, ids, strict=True)), **columns)
        return DeleteFile("equality", path, "parquet", 1, 1, sequence, equality_ids=ids)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def read(change: FileChange, schema: Schema = SCHEMA, lineage: bool = False
         ) -> dict[int, list[dict[str, Any]]]:
    fields = {field.field_id: field for field in (*SCHEMA.fields, OLD)}
    io = open_storage({})
    reader = ChangedRows(io, schema, Deletes(io, fields.__getitem__), lineage=lineage)
    found: dict[int, list[dict[str, Any]]] = {}
    with connect() as connection:
        for rows in reader.read(connection, change):
            found.setdefault(rows.sign, []).extend(rows.table.to_pylist())
    return found


def ids(change: FileChange) -> dict[int, list[int]]:
    return {sign: [row["id"] for row in rows] for sign, rows in read(change).items()}


def test_an_added_file_without_its_deletes(lake: Lake) -> None:
    file = lake.data()
    gone = lake.positions("d", (file.path, 0), (file.path, 5), ("other", 7))
    assert ids(FileChange(file, None, (gone,))) == {1: [1, 2, 3, 4, 6, 7, 8, 9]}


def test_a_removed_file_without_what_was_gone_before(lake: Lake) -> None:
    file = lake.data()
    gone = lake.vector("v", file, 0, 9)
    assert ids(FileChange(file, (gone,), None)) == {-1: [1, 2, 3, 4, 5, 6, 7, 8]}


def test_new_positions_alone_are_removed(lake: Lake) -> None:
    file = lake.data()
    one, two = lake.vector("v", file, 1), lake.vector("w", file, 1, 6, 9)
    assert ids(FileChange(file, (one,), (two,))) == {-1: [6, 9]}


def test_a_vector_that_holds_the_old_delete_files_removes_the_rest(lake: Lake) -> None:
    file = lake.data()
    one, two = lake.positions("d", (file.path, 4)), lake.vector("w", file, 4, 5)
    assert ids(FileChange(file, (one,), (two,))) == {-1: [5]}


def test_a_dropped_delete_brings_rows_back(lake: Lake) -> None:
    file = lake.data()
    assert ids(FileChange(file, (lake.vector("v", file, 3),), ())) == {1: [3]}


def test_equality_deletes_remove_what_was_live(lake: Lake) -> None:
    file = lake.data()
    before = lake.positions("d", (file.path, 4))
    keys = lake.keys("e", (1,), id=[4, 6, 99])
    assert ids(FileChange(file, (before,), (before, keys))) == {-1: [6]}


def test_equality_deletes_of_a_column_that_was_dropped(lake: Lake) -> None:
    file = lake.data(6)
    keys = lake.keys("e", (3,), region=["eu", None])
    found = read(FileChange(file, None, (keys,)))
    assert found == {1: [{"id": 0, "name": "n0"}, {"id": 3, "name": "n3"}]}


def test_a_dropped_column_is_not_taken_for_a_new_one_of_its_name(lake: Lake) -> None:
    file = lake.data(6)
    keys = lake.keys("e", (3,), region=["eu"])
    schema = Schema(NestedField(1, "id", LongType()), NestedField(9, "region", StringType()))
    found = read(FileChange(file, (), (keys,)), schema)
    assert found == {-1: [{"id": 1, "region": None}, {"id": 4, "region": None}]}


def test_equality_deletes_of_several_columns_match_all_of_them(lake: Lake) -> None:
    file = lake.data(6)
    keys = lake.keys("e", (1, 3), id=[0, 1, 2], region=["eu", "eu", None])
    assert ids(FileChange(file, (), (keys,))) == {-1: [1, 2]}


def test_equality_deletes_by_every_column_there_is(lake: Lake) -> None:
    file = lake.data()
    path = lake.write("e", {"id": 1, "name": 2}, id=[3, 4], name=["n3", "n5"])
    keys = DeleteFile("equality", path, "parquet", 1, 2, 2, equality_ids=(1, 2))
    assert read(FileChange(file, (), (keys,))) == {-1: [{"id": 3, "name": "n3"}]}


def test_a_row_that_was_gone_already_is_not_removed_again(lake: Lake) -> None:
    file = lake.data()
    keys = lake.keys("e", (1,), id=[5])
    vector = lake.vector("v", file, 5, 6)
    assert ids(FileChange(file, (keys,), (vector, keys))) == {-1: [6]}


def test_row_ids_and_last_changes_are_inherited(lake: Lake) -> None:
    path = lake.write("l.parquet", {"id": 1, "_row_id": 2147483540,
                                    "_last_updated_sequence_number": 2147483539},
                      id=[1, 2, 3], _row_id=[7, None, None],
                      _last_updated_sequence_number=[1, None, 3])
    file = DataFile(path, "parquet", 1, 3, 9, first_row_id=50)
    found = read(FileChange(file, None, ()), lineage=True)
    assert [(row["_row_id"], row["_last_updated_sequence_number"]) for row in found[1]] == [
        (7, 1), (51, 9), (52, 3)]


def test_columns_are_found_by_id(lake: Lake) -> None:
    path = lake.write("e.parquet", {"name": 1, "gone": 8, "id": 2}, name=pa.array([1], pa.int32()),
                      gone=["x"], id=["text"])
    schema = Schema(NestedField(2, "name", StringType()), NestedField(5, "new", StringType()),
                    NestedField(1, "id", LongType()))
    change = FileChange(DataFile(path, "parquet", 1, 1, 1), None, ())
    assert read(change, schema) == {1: [{"name": "text", "new": None, "id": 1}]}
    added = Schema(NestedField(5, "new", StringType()))
    assert read(change, added) == {1: [{"new": None}]}


def test_what_is_gone_or_damaged_is_named(lake: Lake) -> None:
    file = lake.data()
    vector = lake.vector("v", file, 3)
    Path(vector.path).write_bytes(Path(vector.path).read_bytes()[:-1] + b"!")
    with pytest.raises(RunError, match="damaged"):
        ids(FileChange(file, None, (vector,)))
    Path(file.path).unlink()
    with pytest.raises(PositionLost, match=r"data\.parquet"):
        ids(FileChange(file, None, ()))
