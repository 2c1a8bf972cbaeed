"""Manifest lists and manifests, read in Python: ten thousand entries take a quarter of a second.

Manifests never change once they are written, so what was read is kept for the next snapshot.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.typedef import Record

from meltline.errors import PositionLost, Retryable
from meltline.model.content import DataFile, DeleteFile, Stats

FILE_PATH_ID = 2147483546
"""The column of a position delete file that names the data file."""
ADDED, DELETED = 1, 2
MOST_ENTRIES = 500_000
"""What is kept in memory between snapshots, in manifest entries."""

Entry = DataFile | DeleteFile
Fields = dict[str, Any]


@dataclass(frozen=True)
class Manifest:
    """One line of a manifest list. `first_row_id` may be given to a manifest after it was written,
    so it is part of what tells two apart. `snapshot_id` is the snapshot that wrote it."""

    path: str
    spec_id: int
    deletes: bool
    sequence: int
    first_row_id: int | None
    snapshot_id: int | None = None


@dataclass(frozen=True)
class Written:
    """What one snapshot did to the files of a manifest, carried-over ones left out.

    `other` counts files that it removed, or of which the manifest does not say whose they are.
    """

    added: tuple[Entry, ...] = ()
    other: int = 0


class ManifestReader:
    """`io` opens files by Iceberg's property names."""

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._known: OrderedDict[Manifest, tuple[Entry, ...]] = OrderedDict()
        self._entries = 0

    def manifests(self, manifest_list: str) -> list[Manifest]:
        """Raises PositionLost when the list is gone: its snapshot has expired."""
        return [_manifest(line) for line in self._records(manifest_list)]

    def live(self, manifest: Manifest) -> tuple[Entry, ...]:
        """The files that are part of the table, in order, with everything inherited."""
        if manifest in self._known:
            self._known.move_to_end(manifest)
            return self._known[manifest]
        entries = live_entries(manifest, self._records(manifest.path))
        self._known[manifest] = entries
        self._entries += len(entries)
        while self._entries > MOST_ENTRIES and len(self._known) > 1:
            self._entries -= len(self._known.popitem(last=False)[1])
        return entries

    def written(self, manifest: Manifest, snapshot_id: int) -> Written:
        """Only a manifest that the snapshot wrote says anything about it; others are not read."""
        if manifest.snapshot_id not in (snapshot_id, None):
            return Written()
        return written_entries(manifest, self._records(manifest.path), snapshot_id)

    def _records(self, path: str) -> list[Fields]:
        try:
            with AvroFile[Record](self._io.new_input(path)) as file:
                return [_fields(file.schema.as_struct(), record) for record in file]
        except FileNotFoundError as error:
            raise PositionLost(
                f"{path} is gone: the snapshot it belongs to has expired",
                hint="set on_lost_position: re_export, or restore the file") from error
        except OSError as error:
            raise Retryable(f"{path} cannot be read: {error}") from error


def _fields(type_: Any, record: Record) -> Fields:
    """A record by its field names; the struct `data_file` likewise."""
    found: Fields = {}
    for index, field in enumerate(type_.fields):
        value = record[index]
        if field.name == "data_file":
            value = _fields(field.field_type, value)
        found[field.name] = value
    return found


def _manifest(line: Fields) -> Manifest:
    return Manifest(
        line["manifest_path"], line["partition_spec_id"], bool(line.get("content") or 0),
        line.get("sequence_number") or 0, line.get("first_row_id"),
        line.get("added_snapshot_id"))


def live_entries(manifest: Manifest, records: Sequence[Fields]) -> tuple[Entry, ...]:
    """Entries that are not marked deleted. What an entry leaves out comes from its manifest."""
    entries: list[Entry] = []
    next_row_id = manifest.first_row_id
    for record in records:
        if record["status"] == DELETED:
            continue
        body = record["data_file"]
        sequence = record.get("sequence_number")
        if sequence is None:
            sequence = manifest.sequence if record["status"] == ADDED else 0
        if manifest.deletes:
            entries.append(_delete_file(body, sequence, manifest.spec_id))
            continue
        file = _data_file(body, sequence, manifest.spec_id)
        if file.first_row_id is None and next_row_id is not None:
            file = replace(file, first_row_id=next_row_id)
            next_row_id += file.records
        entries.append(file)
    return tuple(entries)


def written_entries(
    manifest: Manifest, records: Sequence[Fields], snapshot_id: int
) -> Written:
    """Entries of one snapshot. An entry that names none is of the one that wrote the manifest."""
    authors = [record.get("snapshot_id") or manifest.snapshot_id for record in records]
    alive = [record["status"] == ADDED and author == snapshot_id
             for record, author in zip(records, authors, strict=True)
             if record["status"] != DELETED]
    other = sum(author is None or (record["status"] == DELETED and author == snapshot_id)
                for record, author in zip(records, authors, strict=True))
    return Written(tuple(compress(live_entries(manifest, records), alive)), other)


def _data_file(body: Fields, sequence: int, spec_id: int) -> DataFile:
    return DataFile(
        body["file_path"], str(body["file_format"]).lower(), body["file_size_in_bytes"],
        body["record_count"], sequence, spec_id, _partition(body["partition"]),
        body.get("first_row_id"), _stats(body))


def _delete_file(body: Fields, sequence: int, spec_id: int) -> DeleteFile:
    format_ = str(body["file_format"]).lower()
    stats = _stats(body)
    equality = body["content"] == 2
    kind: Any = "equality" if equality else "vector" if format_ == "puffin" else "position"
    referenced = body.get("referenced_data_file")
    if kind == "position" and referenced is None:
        referenced = _only_path(stats)
    return DeleteFile(
        kind, body["file_path"], format_, body["file_size_in_bytes"], body["record_count"],
        sequence, spec_id, _partition(body["partition"]), referenced,
        body.get("content_offset") or 0, body.get("content_size_in_bytes") or 0,
        tuple(body.get("equality_ids") or ()), stats)


def _only_path(stats: Stats) -> str | None:
    """Older writers do not say that a delete file speaks of one data file, but its bounds do."""
    low, high = stats.lower.get(FILE_PATH_ID), stats.upper.get(FILE_PATH_ID)
    return low.decode() if low is not None and low == high else None


def _stats(body: Fields) -> Stats:
    return Stats(body.get("lower_bounds") or {}, body.get("upper_bounds") or {},
                 body.get("null_value_counts") or {})


def _partition(record: Record) -> tuple[Any, ...]:
    """Values that compare as Iceberg compares partitions: every NaN is the same."""
    values = (record[i] for i in range(len(record)))
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in values)
