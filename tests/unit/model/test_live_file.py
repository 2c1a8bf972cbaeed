"""Which deletes belong to a data file alone."""

from __future__ import annotations

from meltline.model.live_file import PATH_ID, LiveFile, is_vector

DATA = {"content": "data", "file-path": "s3://b/a", "file-format": "PARQUET", "spec-id": 1,
        "partition": [1], "record-count": 3}
VECTOR = {"content": "position-deletes", "file-path": "v", "file-format": "puffin",
          "referenced-data-file": "s3://b/a", "content-offset": 4}
WIDE = {"content": "position-deletes", "file-path": "w", "file-format": "parquet"}
NARROW = {**WIDE, "file-path": "n",
          "lower-bounds": {"keys": [PATH_ID], "values": [b"s3://b/a".hex()]},
          "upper-bounds": {"keys": [PATH_ID], "values": [b"s3://b/a".hex()]}}
EQUALITY = {"content": "equality-deletes", "file-path": "e", "file-format": "parquet"}


def test_own_deletes() -> None:
    file = LiveFile(DATA, (VECTOR, WIDE, NARROW, EQUALITY))
    assert file.own_deletes == (VECTOR, NARROW)
    assert file.position_deletes == (VECTOR, WIDE, NARROW)
    assert file.equality_deletes == (EQUALITY,)
    assert [is_vector(one) for one in file.position_deletes] == [True, False, False]


def test_the_same_deletes_in_any_order() -> None:
    one, other = LiveFile(DATA, (VECTOR, WIDE)), LiveFile(DATA, (WIDE, VECTOR))
    assert one.deleted_by == other.deleted_by
    moved = LiveFile(DATA, (WIDE, {**VECTOR, "content-offset": 90}))
    assert one.deleted_by != moved.deleted_by


def test_what_is_said_of_the_file() -> None:
    file = LiveFile(DATA)
    assert (file.path, file.format, file.records) == ("s3://b/a", "parquet", 3)
    assert file.partition == LiveFile({**DATA, "file-path": "x"}).partition
    assert file.partition != LiveFile({**DATA, "spec-id": 2}).partition
