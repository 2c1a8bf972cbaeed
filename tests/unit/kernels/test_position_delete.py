"""Position delete files, and the positions that are deleted already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from meltline.errors import BaseMoved
from meltline.kernels.deleted_positions import deleted_positions
from meltline.kernels.deletion_vector import write_vectors
from meltline.kernels.position_delete import read_position_deletes, write_position_deletes
from meltline.model.live_file import LiveFile
from tests.unit.kernels.lookups import IO

HITS = {"s3://b/b.parquet": BitMap64([9, 1, 5]), "s3://b/a.parquet": BitMap64([2**33, 0]),
        "s3://b/ä.parquet": BitMap64([7])}


def live(path: str, partition: str = "x", deletes: tuple[Any, ...] = ()) -> LiveFile:
    return LiveFile({"content": "data", "spec-id": 4, "partition": [partition], "file-path": path,
                     "file-format": "parquet", "record-count": 9}, deletes)


FILES = {path: live(path, "y" if "b.p" in path else "x") for path in HITS}


def test_one_file_for_each_partition(tmp_path: Path) -> None:
    written = write_position_deletes(IO, str(tmp_path / "d"), HITS, FILES, {})
    assert [paths for paths, _ in written] == [("s3://b/a.parquet", "s3://b/ä.parquet"),
                                               ("s3://b/b.parquet",)]
    contents = [json.loads(content) for _, content in written]
    assert [one["partition"] for one in contents] == [["x"], ["y"]]
    assert [one.get("referenced-data-file") for one in contents] == [None, "s3://b/b.parquet"]
    assert {one["content"] for one in contents} == {"position-deletes"}
    for paths, content in written:
        found = read_position_deletes(
            IO, json.loads(content)["file-path"], "parquet", list(HITS))
        assert found == {path: HITS[path] for path in paths}


def test_sorted_with_the_ids_of_the_specification(tmp_path: Path) -> None:
    written = write_position_deletes(IO, str(tmp_path / "d"), HITS,
                                     {path: live(path) for path in HITS}, {})
    [(_, text)] = written
    file = pq.read_table(json.loads(text)["file-path"])
    pairs = list(zip(file["file_path"].to_pylist(), file["pos"].to_pylist(), strict=True))
    assert pairs == sorted((path, at) for path, hits in HITS.items() for at in hits)
    ids = [field.metadata[b"PARQUET:field_id"] for field in file.schema]
    assert ids == [b"2147483546", b"2147483545"]
    assert not any(field.nullable for field in file.schema)


def test_paths_have_whole_bounds(tmp_path: Path) -> None:
    properties = {"write.metadata.metrics.default": "none"}
    long = {"s3://bucket/" + "a" * 90: BitMap64([1])}
    [(_, text)] = write_position_deletes(IO, str(tmp_path / "d"), long,
                                         {path: live(path) for path in long}, properties)
    bounds = json.loads(text)["lower-bounds"]
    found = dict(zip(bounds["keys"], bounds["values"], strict=True))
    assert bytes.fromhex(found[2147483546]).decode() in long


def test_one_file_for_each_data_file(tmp_path: Path) -> None:
    written = write_position_deletes(IO, str(tmp_path / "d"), HITS, FILES,
                                     {"write.delete.granularity": "file"})
    assert sorted(json.loads(text)["referenced-data-file"] for _, text in written) == sorted(HITS)


def test_what_is_deleted_already(tmp_path: Path) -> None:
    """From several delete files; a vector makes the others idle."""
    first, second = (json.loads(text) for hits in (
        HITS, {"s3://b/a.parquet": BitMap64([4])}) for _, text in write_position_deletes(
            IO, str(tmp_path / str(len(hits))), hits, {path: live(path) for path in hits}, {}))
    vector = json.loads(write_vectors(IO, str(tmp_path / "v"), {"s3://b/b.parquet": BitMap64([3])},
                                      FILES)["s3://b/b.parquet"])
    found = deleted_positions(IO, [
        live("s3://b/a.parquet", deletes=(first, second)),
        live("s3://b/b.parquet", deletes=(first, vector)), live("s3://b/c.parquet")])
    assert found == {"s3://b/a.parquet": BitMap64([0, 4, 2**33]),
                     "s3://b/b.parquet": BitMap64([3])}


def test_a_delete_file_that_is_gone(tmp_path: Path) -> None:
    delete = {"content": "position-deletes", "file-format": "puffin", "content-offset": 4,
              "content-size-in-bytes": 4, "file-path": str(tmp_path / "none.puffin")}
    with pytest.raises(BaseMoved):
        deleted_positions(IO, [live("a", deletes=(delete,))])
