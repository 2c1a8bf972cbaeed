"""One Iceberg table, as the driver sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from meltline.errors import RunError
from meltline.lake.jvm import Jvm, java_errors
from meltline.model.target import TableTarget


@dataclass(frozen=True)
class SnapshotInfo:
    snapshot_id: int
    parent_id: int | None
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str]


class Table:
    """Wraps the Java table. `refresh` before each decision; the rest reads what was refreshed."""

    def __init__(self, jvm: Jvm, identifier: str, java: Any) -> None:
        self.jvm = jvm
        self.identifier = identifier
        self.java = java

    def refresh(self) -> None:
        with java_errors(f"cannot refresh table {self.identifier}"):
            self.java.refresh()

    @property
    def properties(self) -> dict[str, str]:
        return self.jvm.texts(self.java.properties())

    @property
    def uuid(self) -> str:
        return str(self.java.uuid())

    @property
    def schema_id(self) -> int:
        return int(self.java.schema().schemaId())

    def schemas(self) -> list[str]:
        """Iceberg's JSON of every schema that the table had, newest first."""
        known = self.java.schemas()
        parser = self.jvm.iceberg.SchemaParser
        return [str(parser.toJson(known.get(id_)))
                for id_ in sorted(known.keySet(), reverse=True)]

    @property
    def location(self) -> str:
        return str(self.java.location())

    @property
    def io_properties(self) -> dict[str, str]:
        """What a worker needs to open files where this table lives, secrets included."""
        return self.jvm.texts(self.java.io().properties())

    def target(self) -> TableTarget:
        """The table for the workers, at its current schema and partition spec."""
        with java_errors(f"cannot describe table {self.identifier}"):
            parsers = self.jvm.iceberg
            return TableTarget(
                table=self.identifier,
                uuid=self.uuid,
                schema_json=str(parsers.SchemaParser.toJson(self.java.schema())),
                spec_json=str(parsers.PartitionSpecParser.toJson(self.java.spec())),
                location=self.location,
                properties=self.properties,
                io_properties=self.io_properties,
                format_version=int(self.java.operations().current().formatVersion()),
                sort_json=str(parsers.SortOrderParser.toJson(self.java.sortOrder())),
            )

    def delete_file(self, path: str) -> None:
        """Remove a file that nothing refers to. One that stays behind does no harm."""
        with suppress(RunError), java_errors(f"cannot remove {path}"):
            self.java.io().deleteFile(path)

    def ancestry(self, stop_at: int | None = None) -> Iterator[SnapshotInfo]:
        """Snapshots of the main branch, newest first, up to but without `stop_at`."""
        snapshot = self.java.currentSnapshot()
        while snapshot is not None and snapshot.snapshotId() != stop_at:
            yield snapshot_info(self.jvm, snapshot)
            parent = snapshot.parentId()
            snapshot = None if parent is None else self.java.snapshot(parent)

    def find_snapshot(
        self, key: str, value: str, limit: int = 100, branch: str | None = None
    ) -> int | None:
        """The newest snapshot of the branch whose summary says so, among the last `limit`."""
        snapshot = self._head(branch)
        for _ in range(limit):
            if snapshot is None:
                return None
            if snapshot.summary().get(key) == value:
                return int(snapshot.snapshotId())
            parent = snapshot.parentId()
            snapshot = None if parent is None else self.java.snapshot(parent)
        return None

    def current_snapshot_id(self, branch: str | None = None) -> int | None:
        """Of the main branch, or of another one, which begins at the main one when it is new."""
        snapshot = self._head(branch)
        return None if snapshot is None else int(snapshot.snapshotId())

    def _head(self, branch: str | None) -> Any:
        named = None if branch is None else self.java.snapshot(branch)
        return self.java.currentSnapshot() if named is None else named


def snapshot_info(jvm: Jvm, snapshot: Any) -> SnapshotInfo:
    parent = snapshot.parentId()
    return SnapshotInfo(
        int(snapshot.snapshotId()), None if parent is None else int(parent),
        int(snapshot.timestampMillis()), str(snapshot.operation() or ""),
        jvm.texts(snapshot.summary()))
