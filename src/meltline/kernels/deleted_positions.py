"""Positions of data files that are deleted already: by deletion vectors or position deletes."""

from __future__ import annotations

from collections.abc import Iterable

from pyiceberg.io import FileIO
from pyroaring import BitMap64

from meltline.errors import BaseMoved
from meltline.kernels.deletion_vector import read_vector
from meltline.kernels.position_delete import read_position_deletes
from meltline.model.live_file import Content, LiveFile, is_vector


def deleted_positions(io: FileIO, files: Iterable[LiveFile]) -> dict[str, BitMap64]:
    """By path; each delete file is read once, however many of the files it is about.

    Where a file has a vector, the vector alone counts."""
    found: dict[str, BitMap64] = {}
    shared: dict[str, tuple[Content, list[str]]] = {}
    for file in files:
        vectors = [delete for delete in file.position_deletes if is_vector(delete)]
        if vectors:
            found[file.path] = _vector(io, vectors[0])
            continue
        for delete in file.position_deletes:
            shared.setdefault(delete["file-path"], (delete, []))[1].append(file.path)
    for delete, paths in shared.values():
        for path, positions in read_position_deletes(io, delete, paths).items():
            found.setdefault(path, BitMap64()).update(positions)
    return found


def _vector(io: FileIO, delete: Content) -> BitMap64:
    try:
        return read_vector(io, delete)
    except FileNotFoundError:
        raise BaseMoved(f"delete file {delete['file-path']} is gone") from None
