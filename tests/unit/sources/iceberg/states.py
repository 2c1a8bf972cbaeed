"""States of a table for planner tests: manifests in memory, no files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meltline.model.content import DataFile, DeleteFile, Stats
from meltline.sources.iceberg.delete_index import MayMatch, always
from meltline.sources.iceberg.manifests import Entry, Manifest
from meltline.sources.iceberg.planner import changes, compare


def data(path: str, sequence: int = 1, group: tuple[int, tuple[Any, ...]] = (0, ()),
         **more: Any) -> DataFile:
    return DataFile(path, "parquet", 1000, 10, sequence, group[0], group[1], **more)


def delete(kind: Any, path: str, sequence: int, group: tuple[int, tuple[Any, ...]] = (0, ()),
           **more: Any) -> DeleteFile:
    more.setdefault("format", "puffin" if kind == "vector" else "parquet")
    return DeleteFile(kind, path, more.pop("format"), 100, 1, sequence, group[0], group[1], **more)


def stats(low: int, high: int, nulls: int = 0) -> Stats:
    return Stats({1: low.to_bytes(8, "little", signed=True)},
                 {1: high.to_bytes(8, "little", signed=True)}, {1: nulls})


State = Sequence[Sequence[Entry]]


def changed(
    before: State, after: State, unpartitioned: Sequence[int] = (0,), may_match: MayMatch = always
) -> dict[str, tuple[list[str] | None, list[str] | None]]:
    """Path of each changed data file to the paths of its deletes before and after."""
    known: dict[Manifest, Sequence[Entry]] = {}
    sides = []
    for state in (before, after):
        manifests = []
        for entries in state:
            name = "+".join(sorted(entry.path + str(getattr(entry, "offset", ""))
                                   for entry in entries))
            deletes = bool(entries) and isinstance(entries[0], DeleteFile)
            manifest = Manifest(f"{deletes}/{name}", 0, deletes, 1, None)
            known[manifest] = entries
            manifests.append(manifest)
        sides.append(manifests)
    difference = compare(sides[0], sides[1], lambda m: known[m], unpartitioned)
    return {change.file.path: (_paths(change.before), _paths(change.after))
            for change in changes(difference, may_match)}


def _paths(deletes: Sequence[DeleteFile] | None) -> list[str] | None:
    return None if deletes is None else [one.path for one in deletes]
