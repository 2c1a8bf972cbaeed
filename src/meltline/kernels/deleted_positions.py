"""Positions of data files that are deleted already: by deletion vectors or position deletes."""

from __future__ import annotations

from collections.abc import Iterable

from pyiceberg.io import FileIO
from pyroaring import BitMap64

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
            found[file.path] = read_vector(
                io, str(vectors[0]["file-path"]), int(vectors[0]["content-offset"]),
                int(vectors[0]["content-size-in-bytes"]))
            continue
        for delete in file.position_deletes:
            shared.setdefault(delete["file-path"], (delete, []))[1].append(file.path)
    for delete, paths in shared.values():
        format_ = str(delete["file-format"]).lower()
        for path, positions in read_position_deletes(
                io, delete["file-path"], format_, paths).items():
            found.setdefault(path, BitMap64()).update(positions)
    return found

