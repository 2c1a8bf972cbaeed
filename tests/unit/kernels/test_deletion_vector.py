"""Deletion vectors: the exact bytes, and what other readers make of them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap64

from meltline.errors import RunError
from meltline.kernels.deletion_vector import (
    decode_vector,
    encode_vector,
    read_vector,
    write_vectors,
)
from meltline.model.live_file import LiveFile
from tests.unit.kernels.lookups import IO

VECTORS = {
    "one": BitMap64([0]),
    "many": BitMap64(range(100_000)),
    "scattered": BitMap64(range(0, 1_000_000, 977)),
    "far": BitMap64([3, 2**31, 2**32 + 5, 2**40]),
}


def live(path: str) -> LiveFile:
    return LiveFile({"content": "data", "spec-id": 4, "partition": ["x"], "file-path": path,
                     "file-format": "parquet", "record-count": 9})


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_comes_back(name: str) -> None:
    assert decode_vector(encode_vector(VECTORS[name]), "x") == VECTORS[name]


def test_the_layout() -> None:
    blob = encode_vector(BitMap64([1, 2**32 + 5]))
    (length,) = struct.unpack(">i", blob[:4])
    assert length == len(blob) - 8
    assert blob[4:8] == bytes.fromhex("d1d33964")
    assert struct.unpack("<q", blob[8:16]) == (2,)
    assert struct.unpack("<i", blob[16:20]) == (0,)


def test_damage_is_noticed() -> None:
    blob = bytearray(encode_vector(VECTORS["scattered"]))
    blob[40] ^= 1
    with pytest.raises(RunError, match="damaged"):
        decode_vector(bytes(blob), "x")


def test_one_file_for_many_vectors(tmp_path: Path) -> None:
    path = str(tmp_path / "v.puffin")
    files = {name: live(name) for name in VECTORS}
    contents = {name: json.loads(text)
                for name, text in write_vectors(IO, path, VECTORS, files).items()}
    assert {name: read_vector(IO, path, content["content-offset"],
                              content["content-size-in-bytes"])
            for name, content in contents.items()} == VECTORS
    size = (tmp_path / "v.puffin").stat().st_size
    for name, content in contents.items():
        assert content["referenced-data-file"] == name
        assert content["record-count"] == len(VECTORS[name])
        assert content["file-size-in-bytes"] == size
        assert (content["spec-id"], content["partition"]) == (4, ["x"])


def test_another_reader(tmp_path: Path) -> None:
    path = tmp_path / "v.puffin"
    near = {name: VECTORS[name] for name in ("one", "many", "scattered")}
    write_vectors(IO, str(path), near, {name: live(name) for name in near})
    found = deletion_vectors_from_puffin_file(PuffinFile(path.read_bytes()))
    assert {one.referenced_data_file: BitMap64(one.to_vector().to_pylist())
            for one in found} == near
