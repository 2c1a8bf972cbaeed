"""Rewritten files, compared place by place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from meltline.kernels.connection import connect
from meltline.kernels.parquet_scan import ParquetScan
from meltline.kernels.storage import open_storage
from meltline.kernels.twins import Twins, TwinScan, compare_sql, unequal_columns
from meltline.model.content import DataFile

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()),
                NestedField(3, "score", DoubleType()))
TYPES = {"id": pa.int64(), "name": pa.large_string(), "score": pa.float64()}
Columns = dict[str, list[Any]]


def rows(count: int = 10) -> Columns:
    return {"id": list(range(count)), "name": [f"n{i}" for i in range(count)],
            "score": [i / 2 for i in range(count)]}


def write(path: Path, columns: Columns, **options: Any) -> DataFile:
    fields = [pa.field(name, TYPES[name], metadata={"PARQUET:field_id": str(i + 1)})
              for i, name in enumerate(TYPES)]
    pq.write_table(pa.table(columns, pa.schema(fields)), path, **options)
    return DataFile(str(path), "parquet", path.stat().st_size, len(columns["id"]), 1)


@pytest.fixture
def twins() -> TwinScan:
    connection = connect()
    scan = ParquetScan(connection, open_storage({}), SCHEMA)
    return TwinScan(connection, scan, SCHEMA.fields, SCHEMA.fields[:1])


def changed(
    twins: TwinScan, *pairs: tuple[DataFile, ...]
) -> tuple[set[int], list[tuple[int, int]]]:
    """The last one of each pair is the new file."""
    real, found = twins.changed([Twins(tuple(old), new) for *old, new in pairs])
    return real, [(row["file"], row["pos"]) for one in found for row in one.places.to_pylist()]


def test_rows_that_differ_in_any_column(twins: TwinScan, tmp_path: Path) -> None:
    new = rows()
    new["name"][3], new["score"][7] = "other", -1.0
    pair = write(tmp_path / "old", rows()), write(tmp_path / "new", new)
    assert changed(twins, pair) == ({0}, [(0, 3), (0, 7)])


@pytest.mark.parametrize(("old", "new", "differ"), [
    (None, None, False), (None, 1.0, True), (1.0, None, True), (0.0, -0.0, True),
    (float("nan"), float("nan"), False), (float("nan"), -float("nan"), False),
    (-0.0, -0.0, False), (float("nan"), 0.0, True), (float("inf"), None, True)])
def test_values_are_compared_as_iceberg_does(
    twins: TwinScan, tmp_path: Path, old: float | None, new: float | None, differ: bool
) -> None:
    before, after = rows(4), rows(4)
    before["score"][2], after["score"][2] = old, new
    # other bytes elsewhere, so that the column is looked at in any case
    after["score"][0] = 9.0
    pair = write(tmp_path / "old", before), write(tmp_path / "new", after)
    assert changed(twins, pair) == ({0}, [(0, 0)] + [(0, 2)] * differ)


def test_files_in_another_order_are_no_twins(twins: TwinScan, tmp_path: Path) -> None:
    turned = {name: values[::-1] for name, values in rows().items()}
    pair = write(tmp_path / "old", rows()), write(tmp_path / "new", turned)
    same = write(tmp_path / "old2", rows()), write(tmp_path / "new2", rows())
    assert changed(twins, pair, same) == ({1}, [])


def test_one_changed_key_makes_no_twins(twins: TwinScan, tmp_path: Path) -> None:
    new = rows()
    new["id"][4] = 77
    assert changed(twins, (write(tmp_path / "old", rows()), write(tmp_path / "new", new))) == (
        set(), [])


def test_null_keys_make_no_twins(twins: TwinScan, tmp_path: Path) -> None:
    one = rows()
    one["id"][0] = None
    assert changed(twins, (write(tmp_path / "old", one), write(tmp_path / "new", one)))[0] == set()


def test_other_numbers_of_rows_make_no_twins(twins: TwinScan, tmp_path: Path) -> None:
    pair = write(tmp_path / "old", rows(10)), write(tmp_path / "new", rows(9))
    assert changed(twins, pair)[0] == set()


def test_pairs_stay_apart_when_some_are_no_twins(twins: TwinScan, tmp_path: Path) -> None:
    pairs = []
    for number in range(6):
        new = rows(10 + number)
        new["name"][number] = "other"
        if number % 2:
            new["id"] = new["id"][::-1]
        pairs.append((write(tmp_path / f"old{number}", rows(10 + number)),
                      write(tmp_path / f"new{number}", new)))
    assert changed(twins, *pairs) == ({0, 2, 4}, [(0, 0), (2, 2), (4, 4)])


def test_row_groups_may_differ(twins: TwinScan, tmp_path: Path) -> None:
    new = rows()
    new["name"][9] = "other"
    pair = (write(tmp_path / "old", rows(), row_group_size=3),
            write(tmp_path / "new", new, row_group_size=4))
    assert changed(twins, pair) == ({0}, [(0, 9)])


def test_several_files_that_became_one(twins: TwinScan, tmp_path: Path) -> None:
    whole = rows(10)
    parts = [{name: values[start:end] for name, values in whole.items()}
             for start, end in ((0, 3), (3, 10))]
    new = rows(10)
    new["name"][2], new["name"][5] = "other", "other"
    old = [write(tmp_path / f"old{i}", part) for i, part in enumerate(parts)]
    again = write(tmp_path / "again", rows(4)), write(tmp_path / "again2", rows(4))
    file = write(tmp_path / "new", new)
    real, found = twins.changed([Twins(again[:1], again[1]), Twins(tuple(old), file)])
    assert real == {0, 1}
    assert [row for one in found for row in one.places.to_pylist()] == [
        {"file": 1, "pos": 2, "old_file": 1, "old_pos": 2},
        {"file": 1, "pos": 5, "old_file": 2, "old_pos": 2}]
    assert changed(twins, (*old[::-1], file))[0] == set()


def test_new_rows_are_at_hand_when_most_columns_were_compared(
    twins: TwinScan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, few, many = rows(), rows(), rows()
    few["name"][3] = many["name"][3] = "other"
    many["score"][7] = -1.0
    before = write(tmp_path / "old", old)
    _, (narrow,) = twins.changed([Twins((before,), write(tmp_path / "few", few))])
    _, (wide,) = twins.changed([Twins((before,), write(tmp_path / "many", many))])
    assert narrow.rows is None
    assert wide.rows is not None
    assert wide.rows.to_pylist() == [{"id": 3, "name": "other", "score": 1.5},
                                     {"id": 7, "name": "n7", "score": -1.0}]
    monkeypatch.setattr("meltline.kernels.twins.ROWS_AT_HAND", 1)
    _, (much,) = twins.changed([Twins((before,), write(tmp_path / "much", many))])
    assert much.rows is None
    assert much.places.equals(wide.places)
    kept = wide.filter(pa.chunked_array([[False, True]]))
    assert kept.rows is not None
    assert (kept.rows.num_rows, kept.places.num_rows) == (1, 1)
    assert narrow.filter(pa.chunked_array([[False]])).rows is None


def test_only_columns_of_other_bytes_are_compared(tmp_path: Path) -> None:
    new = rows()
    new["name"][3] = "other"
    old_file, new_file = write(tmp_path / "old", rows()), write(tmp_path / "new", new)
    assert unequal_columns([old_file.path], new_file.path, list(TYPES), ["id"]) == ("name",)
    snappy = write(tmp_path / "snappy", rows(), compression="zstd")
    assert unequal_columns([old_file.path], snappy.path, list(TYPES), ["id"]) == tuple(TYPES)


def test_the_comparison_as_sql() -> None:
    assert compare_sql("1", "a", "b", SCHEMA.fields[1:]) == (
        'SELECT 1 FROM a o POSITIONAL JOIN b n WHERE o."name" IS DISTINCT FROM n."name" OR '
        'o."score" IS DISTINCT FROM n."score" OR (o."score" = 0 AND signbit(o."score") '
        'IS DISTINCT FROM signbit(n."score"))')
