"""Updates, inserts and deletes, told by row ids and sequence numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from meltline.kernels.connection import connect
from meltline.kernels.lineage_scan import LineageScan
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.storage import open_storage
from meltline.model.content import DataFile

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "n", LongType()),
                NestedField(3, "name", StringType()))
FIELDS = {"id": (1, pa.int64()), "n": (2, pa.int64()), "name": (3, pa.large_string()),
          "_row_id": (2147483540, pa.int64()),
          "_last_updated_sequence_number": (2147483539, pa.int64())}
BASE = 5
Row = tuple[Any, ...]


@pytest.fixture
def scan() -> LineageScan:
    connection = connect()
    found = ParquetScan(connection, open_storage({}), SCHEMA)
    return LineageScan(connection, found, SCHEMA.fields, SCHEMA.fields[:1], BASE)


def write(path: Path, rows: list[Row], first: int, sequence: int) -> DataFile:
    """Rows of (id, n, name) or of (id, n, name, row id, last update)."""
    names = list(FIELDS)[:len(rows[0])]
    fields = [pa.field(name, FIELDS[name][1], metadata={"PARQUET:field_id": str(FIELDS[name][0])})
              for name in names]
    columns = [pa.array(values, field.type)
               for values, field in zip(zip(*rows, strict=True), fields, strict=True)]
    pq.write_table(pa.table(columns, pa.schema(fields)), path)
    return DataFile(str(path), "parquet", 1, len(rows), sequence, first_row_id=first)


def run(
    scan: LineageScan, removed: list[DataFile], added: list[DataFile]
) -> tuple[list[Row], set[Row]]:
    changed = scan.added(added)
    gone = scan.gone(removed, added, changed)
    assert gone is not None
    assert gone.column_names == ["file", "pos", "updated", "k0"]
    return ([tuple(row.values()) for row in changed.to_pylist()],
            {tuple(row.values()) for row in gone.to_pylist()})


def test_updates_inserts_and_deletes(scan: LineageScan, tmp_path: Path) -> None:
    old = write(tmp_path / "old", [(i, i, f"n{i}") for i in range(6)], first=100, sequence=3)
    new = write(tmp_path / "new", [
        (0, 0, "n0", 100, 3), (1, 10, "n1", 101, None), (30, 30, "n3", 103, None),
        (4, 4, "other", 104, None), (5, 5, "n5", 105, None), (9, 9, "new", None, None)],
        first=200, sequence=6)
    changed, gone = run(scan, [old], [new])
    assert changed == [(1, 10, "n1", 101), (30, 30, "n3", 103), (4, 4, "other", 104),
                       (5, 5, "n5", 105), (9, 9, "new", None)]
    # 2 was deleted, 3 has another key, 4 changed in a wide column and 5 not at all: these are for
    # others to look at
    assert gone == {(0, 1, True, 1), (0, 2, False, 2), (0, 3, False, 3), (0, 4, False, 4),
                    (0, 5, False, 5)}


def test_rows_that_were_rewritten_before(scan: LineageScan, tmp_path: Path) -> None:
    """They carry their own ids, some of them; others have theirs from their place."""
    old = write(tmp_path / "old", [
        (0, 0, "a", 7, 2), (1, 1, "b", None, None), (2, 2, "c", 9, None)], first=50, sequence=4)
    plain = write(tmp_path / "plain", [(3, 3, "d"), (4, 4, "e")], first=60, sequence=5)
    new = write(tmp_path / "new", [
        (0, 0, "a", 7, 2), (1, None, "b", 51, None), (2, 2, "c", 9, 4), (3, 3, "d", 60, 5),
        (4, 5, "e", 61, None)], first=80, sequence=6)
    changed, gone = run(scan, [old, plain], [new])
    assert changed == [(1, None, "b", 51), (4, 5, "e", 61)]
    assert gone == {(0, 1, True, 1), (1, 1, True, 4)}


def test_everything_deleted_and_other_rows_written(scan: LineageScan, tmp_path: Path) -> None:
    old = write(tmp_path / "old", [(0, 0, "a"), (1, 0, "b")], first=0, sequence=1)
    new = write(tmp_path / "new", [(0, 0, "x"), (5, 0, "y")], first=10, sequence=6)
    changed, gone = run(scan, [old], [new])
    assert changed == [(0, 0, "x", None), (5, 0, "y", None)]
    assert gone == {(0, 0, False, 0), (0, 1, False, 1)}


def test_an_update_of_a_row_that_was_elsewhere(scan: LineageScan, tmp_path: Path) -> None:
    """As many rows came from other files as were deleted here: that must not hide the deletes."""
    old = write(tmp_path / "old", [(0, 0, "a"), (1, 0, "b")], first=0, sequence=1)
    new = write(tmp_path / "new", [(0, 0, "a", 0, 1), (8, 0, "moved", 77, None)], first=10,
                sequence=6)
    changed, gone = run(scan, [old], [new])
    assert changed == [(8, 0, "moved", 77)]
    assert gone == {(0, 1, False, 1)}


def test_rows_carried_over_from_elsewhere_leave_nothing_to_say(
    scan: LineageScan, tmp_path: Path
) -> None:
    old = write(tmp_path / "old", [(0, 0, "a")], first=0, sequence=1)
    new = write(tmp_path / "new", [(0, 0, "a", 0, 1), (8, 0, "b", 77, 2)], first=10, sequence=6)
    assert scan.gone([old], [new], scan.added([new])) is None


def test_null_keys_are_never_the_same(scan: LineageScan, tmp_path: Path) -> None:
    old = write(tmp_path / "old", [(None, 0, "a")], first=0, sequence=1)
    new = write(tmp_path / "new", [(None, 1, "a", 0, None)], first=10, sequence=6)
    changed, gone = run(scan, [old], [new])
    assert changed == [(None, 1, "a", 0)]
    assert gone == {(0, 0, False, None)}


def test_many_columns_are_judged_by_those_that_changed_in_the_first_file(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(6)]
    wide = Schema(NestedField(1, "id", LongType()),
                  *(NestedField(10 + i, name, LongType()) for i, name in enumerate(names)))

    def file(path: Path, rows: list[Row], first: int, sequence: int) -> DataFile:
        lineage = len(rows[0]) > 1 + len(names)
        ids = {"id": 1, **{name: 10 + i for i, name in enumerate(names)}}
        ids |= {name: FIELDS[name][0] for name in list(FIELDS)[3:]} if lineage else {}
        schema = pa.schema([pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(id_)})
                            for name, id_ in ids.items()])
        pq.write_table(pa.table([pa.array(one, pa.int64()) for one in zip(*rows, strict=True)],
                                schema), path)
        return DataFile(str(path), "parquet", 1, len(rows), sequence, first_row_id=first)

    connection = connect()
    found = ParquetScan(connection, open_storage({}), wide)
    scan = LineageScan(connection, found, wide.fields, wide.fields[:1], BASE)
    one = file(tmp_path / "one", [(1, 0, 0, 0, 0, 0, 0)], 0, 1)
    other = file(tmp_path / "other", [(2, 0, 0, 0, 0, 0, 0), (3, 0, 0, 0, 0, 0, 0)], 1, 1)
    new = file(tmp_path / "new", [
        (1, 0, 0, 0, 0, 0, 9, 0, None), (2, 0, 0, 0, 0, 0, 8, 1, None),
        (3, 7, 0, 0, 0, 0, 0, 2, None)], 10, 6)
    _, gone = run(scan, [one, other], [new])
    # what changed in another column is for others to look at
    assert gone == {(0, 0, True, 1), (1, 0, True, 2), (1, 1, False, 3)}


def test_a_table_without_narrow_columns(tmp_path: Path) -> None:
    connection = connect()
    fields = [SCHEMA.fields[0], SCHEMA.fields[2]]
    found = ParquetScan(connection, open_storage({}), Schema(*fields))
    scan = LineageScan(connection, found, fields, fields[:1], BASE)
    old = write(tmp_path / "old", [(i, i, f"n{i}") for i in range(3)], first=100, sequence=3)
    new = write(tmp_path / "new", [(0, 0, "n0", 100, 3), (1, 1, "other", 101, None)],
                first=200, sequence=6)
    changed = scan.added([new]).select(["id", "name"])
    assert changed.to_pylist() == [{"id": 1, "name": "other"}]
    gone = scan.gone([old], [new], scan.added([new]))
    assert gone is not None
    assert {row["pos"] for row in gone.to_pylist()} == {1, 2}
