"""One task of a key lookup: finds the rows that must go, and writes what takes them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.io import FileIO
from pyroaring import BitMap64

from meltline.kernels.deleted_positions import deleted_positions
from meltline.kernels.deletion_vector import write_vectors
from meltline.kernels.key_lookup import find_rows, load_specs
from meltline.kernels.keys import KeyColumns, Keys
from meltline.kernels.position_delete import write_position_deletes
from meltline.kernels.rewrite import rewrite_files
from meltline.kernels.storage import open_storage
from meltline.model.live_file import LiveFile
from meltline.model.target import TableTarget

COPY_ON_WRITE = "copy-on-write"
VECTORS_SINCE = 3


@dataclass(frozen=True)
class PatchSettings:
    """The same for all tasks. `prefix` is where their files go, `specs` are as in lake.scan."""

    target: TableTarget
    identifiers: tuple[int, ...]
    key_paths: tuple[str, ...]
    mode: str
    specs: Mapping[int, str]
    prefix: str


@dataclass(frozen=True)
class Candidate:
    """`hits` are the positions of the keys' rows (see `Patched`); None: not looked up yet."""

    file: LiveFile
    hits: bytes | None = None


@dataclass(frozen=True)
class Patch:
    """What takes rows out of some data files, as content-file JSON: delete files that join them,
    or data files that take their place. Good as long as those files and their deletes stay."""

    paths: tuple[str, ...]
    delete_files: tuple[str, ...] = ()
    data_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patched:
    """`hits` by path: 64-bit Roaring bitmaps in portable form, empty ones left out."""

    patches: tuple[Patch, ...] = ()
    hits: Mapping[str, bytes] = field(default_factory=dict)


def find_in_files(
    settings: PatchSettings, candidates: Sequence[Candidate], _: str
) -> Mapping[str, bytes]:
    """Looks up only: the hits by path, as in `Patched`."""
    io = open_storage(settings.target.io_properties)
    found = _find(io, settings, [one.file for one in candidates])
    return {path: positions.serialize() for path, positions in found.items()}


def patch_files(settings: PatchSettings, candidates: Sequence[Candidate], attempt: str) -> Patched:
    """Raises BaseMoved when a file is gone, RunError for a file that cannot be read."""
    io = open_storage(settings.target.io_properties)
    hits = {one.file.path: BitMap64.deserialize(one.hits) for one in candidates if one.hits}
    unknown = [one.file for one in candidates if one.hits is None]
    if unknown:
        hits |= _find(io, settings, unknown)
    files = {one.file.path: one.file for one in candidates if one.file.path in hits}
    gone = deleted_positions(io, files.values())
    new = {path: fresh for path, found in hits.items()
           if (fresh := found - gone.get(path, BitMap64()))}
    patches = _patches(io, settings, files, new, gone, f"{settings.prefix}-{attempt}")
    return Patched(patches, {path: found.serialize() for path, found in hits.items()})


def _find(
    io: FileIO, settings: PatchSettings, files: Sequence[LiveFile]
) -> dict[str, BitMap64]:
    columns = KeyColumns(settings.target.schema, settings.identifiers, settings.target.properties)
    keys = Keys.read(io, settings.key_paths, columns)
    return find_rows(io, files, keys, load_specs(settings.specs))


def _patches(
    io: FileIO, settings: PatchSettings, files: Mapping[str, LiveFile],
    new: Mapping[str, BitMap64], gone: Mapping[str, BitMap64], prefix: str,
) -> tuple[Patch, ...]:
    if not new:
        return ()
    if settings.mode == COPY_ON_WRITE:
        every = {path: found | gone.get(path, BitMap64()) for path, found in new.items()}
        contents = rewrite_files(io, settings.target, [files[path] for path in new], every,
                                 load_specs(settings.specs), prefix)
        return (Patch(tuple(new), data_files=tuple(contents)),)
    if settings.target.format_version >= VECTORS_SINCE:
        vectors = {path: found | gone.get(path, BitMap64()) for path, found in new.items()}
        written = write_vectors(io, f"{prefix}-deletes.puffin", vectors, files)
        return tuple(Patch((path,), (content,)) for path, content in written.items())
    return tuple(Patch(paths, (content,)) for paths, content in write_position_deletes(
        io, prefix, new, files, settings.target.properties))
