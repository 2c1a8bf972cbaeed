"""What a manifest entry leaves out comes from its manifest."""

from __future__ import annotations

from typing import Any

from pyiceberg.typedef import Record

from meltline.model.content import DataFile, DeleteFile
from meltline.sources.iceberg.manifests import (
    FILE_PATH_ID,
    Manifest,
    live_entries,
    written_entries,
)

MANIFEST = Manifest("m", 3, False, 7, 1000)
DELETES = Manifest("m", 3, True, 7, None)


def entry(status: int, sequence: int | None = None, **body: Any) -> dict[str, Any]:
    file = {"file_path": "f", "file_format": "PARQUET", "file_size_in_bytes": 10,
            "record_count": 5, "partition": Record(), "content": 0, **body}
    return {"status": status, "sequence_number": sequence, "data_file": file}


def data_files(*entries: dict[str, Any], manifest: Manifest = MANIFEST) -> list[DataFile]:
    found = live_entries(manifest, entries)
    return [file for file in found if isinstance(file, DataFile)]


def delete_file(**body: Any) -> DeleteFile:
    (found,) = live_entries(DELETES, [entry(1, **body)])
    assert isinstance(found, DeleteFile)
    return found


def test_deleted_entries_are_no_part_of_the_table() -> None:
    assert data_files(entry(2, 1)) == []


def test_sequence_numbers_are_inherited_by_added_files_only() -> None:
    found = data_files(entry(1), entry(0, 4), entry(1, 5), entry(0))
    assert [file.sequence for file in found] == [7, 4, 5, 0]


def test_row_ids_count_the_rows_of_earlier_files_without_one() -> None:
    found = data_files(entry(1), entry(0, 4, first_row_id=50), entry(2, 1), entry(1))
    assert [file.first_row_id for file in found] == [1000, 50, 1005]
    older = Manifest("m", 3, False, 7, None)
    assert data_files(entry(1), manifest=older)[0].first_row_id is None


def test_partitions_compare_as_iceberg_compares_them() -> None:
    one, two = data_files(entry(1, partition=Record(float("nan"), None)),
                          entry(1, partition=Record(float("nan"), None)))
    assert one.group == two.group == (3, ("NaN", None))


def test_kinds_of_deletes() -> None:
    assert delete_file(content=1).kind == "position"
    assert delete_file(content=2, equality_ids=[1, 2]).equality_ids == (1, 2)
    vector = delete_file(content=1, file_format="PUFFIN", content_offset=4,
                         content_size_in_bytes=40, referenced_data_file="f")
    assert (vector.kind, vector.key, vector.length, vector.referenced) == (
        "vector", ("f", 4), 40, "f")


def test_equal_bounds_of_the_path_name_the_data_file() -> None:
    bounds = {FILE_PATH_ID: b"data/a"}
    one = delete_file(content=1, lower_bounds=bounds, upper_bounds=bounds)
    two = delete_file(content=1, lower_bounds=bounds, upper_bounds={FILE_PATH_ID: b"data/b"})
    assert (one.referenced, two.referenced) == ("data/a", None)


def test_what_a_snapshot_wrote_is_not_what_it_carried_over() -> None:
    manifest = Manifest("m", 3, False, 7, 1000, snapshot_id=9)
    found = written_entries(manifest, [
        entry(0, 4, file_path="old") | {"snapshot_id": 8}, entry(1, file_path="new"),
        entry(1, 5, file_path="older") | {"snapshot_id": 8},
        entry(2, 5, file_path="gone before") | {"snapshot_id": 8},
        entry(1, file_path="named") | {"snapshot_id": 9}], 9)
    files = [file for file in found.added if isinstance(file, DataFile)]
    assert [(file.path, file.sequence, file.first_row_id) for file in files] == [
        ("new", 7, 1005), ("named", 7, 1015)]
    assert found.other == 0


def test_a_file_that_a_snapshot_removed_is_counted() -> None:
    manifest = Manifest("m", 3, False, 7, None, snapshot_id=9)
    assert written_entries(manifest, [entry(2, 4) | {"snapshot_id": 9}], 9).other == 1


def test_a_file_of_nobody_is_no_proof() -> None:
    assert written_entries(Manifest("m", 3, False, 7, None), [entry(1)], 9).other == 1
