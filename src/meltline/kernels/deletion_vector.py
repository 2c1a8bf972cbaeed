"""Deletion vectors: one Puffin file with a vector for each of many data files."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.io import FileIO
from pyroaring import BitMap64

from meltline import __version__
from meltline.errors import BaseMoved, RunError
from meltline.model.live_file import LiveFile

_PUFFIN_MAGIC = b"PFA1"
_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"


@dataclass(frozen=True)
class _Blob:
    file: LiveFile
    offset: int
    length: int
    cardinality: int


def write_vectors(
    io: FileIO, path: str, vectors: Mapping[str, BitMap64], files: Mapping[str, LiveFile]
) -> dict[str, str]:
    """Write one Puffin file. Returns the content-file JSON of each vector by its data file's path.

    A vector replaces every earlier one of its file, so it must hold all deleted positions."""
    body = bytearray(_PUFFIN_MAGIC)
    blobs = []
    for name, positions in vectors.items():
        blob = encode_vector(positions)
        blobs.append(_Blob(files[name], len(body), len(blob), len(positions)))
        body += blob
    body += _footer(blobs)
    with io.new_output(path).create(overwrite=True) as stream:
        stream.write(bytes(body))
    return {blob.file.path: json.dumps(_content(blob, path, len(body))) for blob in blobs}


def encode_vector(positions: BitMap64) -> bytes:
    """The blob `deletion-vector-v1`: length, magic, 64-bit Roaring in portable form, CRC-32."""
    compact = positions.copy()
    compact.run_optimize()
    checked = _VECTOR_MAGIC + compact.serialize()
    return struct.pack(">i", len(checked)) + checked + struct.pack(">I", zlib.crc32(checked))


def decode_vector(blob: bytes, where: str) -> BitMap64:
    (length,) = struct.unpack(">i", blob[:4])
    checked, crc = blob[4:4 + length], blob[4 + length:8 + length]
    if checked[:4] != _VECTOR_MAGIC or struct.pack(">I", zlib.crc32(checked)) != crc:
        raise RunError(f"the deletion vector in {where} is damaged",
                       hint="restore the file, or roll the table back to an older snapshot")
    return BitMap64.deserialize(checked[4:])


def read_vector(io: FileIO, path: str, offset: int, length: int) -> BitMap64:
    """The footer is not needed. Raises BaseMoved when the file is gone."""
    try:
        with io.new_input(path).open() as stream:
            stream.seek(offset)
            return decode_vector(stream.read(length), path)
    except FileNotFoundError:
        raise BaseMoved(f"delete file {path} is gone") from None


def _footer(blobs: list[_Blob]) -> bytes:
    payload = json.dumps({
        "blobs": [{
            "type": "deletion-vector-v1", "fields": [2147483645], "snapshot-id": -1,
            "sequence-number": -1, "offset": blob.offset, "length": blob.length,
            "properties": {"referenced-data-file": blob.file.path,
                           "cardinality": str(blob.cardinality)}} for blob in blobs],
        "properties": {"created-by": f"Meltline {__version__}"},
    }, separators=(",", ":")).encode()
    return _PUFFIN_MAGIC + payload + struct.pack("<i", len(payload)) + bytes(4) + _PUFFIN_MAGIC


def _content(blob: _Blob, path: str, size: int) -> dict[str, Any]:
    data = blob.file.content
    return {
        "content": "position-deletes", "file-format": "puffin", "file-path": path,
        "spec-id": data["spec-id"], "partition": data.get("partition", []),
        "file-size-in-bytes": size, "record-count": blob.cardinality,
        "referenced-data-file": blob.file.path, "content-offset": blob.offset,
        "content-size-in-bytes": blob.length,
    }
