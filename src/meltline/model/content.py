"""Data files and delete files of an Iceberg table, as manifests describe them. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

DeleteKind = Literal["position", "vector", "equality"]


@dataclass(frozen=True)
class Stats:
    """Column statistics by field id. They serve to leave files out, never to decide a row."""

    lower: Mapping[int, bytes] = field(default_factory=dict)
    upper: Mapping[int, bytes] = field(default_factory=dict)
    nulls: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DataFile:
    """`sequence` is the data sequence number; `first_row_id` is None without row lineage."""

    path: str
    format: str
    size: int
    records: int
    sequence: int
    spec_id: int = 0
    partition: tuple[Any, ...] = ()
    first_row_id: int | None = None
    stats: Stats | None = field(default=None, compare=False, repr=False)

    @property
    def group(self) -> tuple[int, tuple[Any, ...]]:
        """Where its rows may live: identical rows written under one spec are in one group."""
        return self.spec_id, self.partition

    def bare(self) -> DataFile:
        """Without statistics, as it travels to a worker."""
        return replace(self, stats=None)


@dataclass(frozen=True)
class DeleteFile:
    """`referenced` is the one data file it speaks of, if it is one; always set for vectors.

    `offset` and `length` say where a vector is within its Puffin file.
    """

    kind: DeleteKind
    path: str
    format: str
    size: int
    records: int
    sequence: int
    spec_id: int = 0
    partition: tuple[Any, ...] = ()
    referenced: str | None = None
    offset: int = 0
    length: int = 0
    equality_ids: tuple[int, ...] = ()
    stats: Stats | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, int]:
        """Several vectors share one Puffin file."""
        return self.path, self.offset

    @property
    def group(self) -> tuple[int, tuple[Any, ...]]:
        return self.spec_id, self.partition

    def bare(self) -> DeleteFile:
        return replace(self, stats=None)


@dataclass(frozen=True)
class FileChange:
    """One data file with the deletes in force before and after a snapshot.

    None means that the file is not part of the table on that side. Rows live before and not
    after are removed, rows live after and not before are added. `without` are positions that
    nobody wants though they are live (kernels/position_mask.py), or empty.
    """

    file: DataFile
    before: tuple[DeleteFile, ...] | None
    after: tuple[DeleteFile, ...] | None
    without: bytes = field(default=b"", repr=False)

    @property
    def added(self) -> bool:
        return self.before is None

    @property
    def removed(self) -> bool:
        return self.after is None

    @property
    def weight(self) -> int:
        """Bytes to read, at most."""
        deletes = {*(self.before or ()), *(self.after or ())}
        return self.file.size + sum(delete.length or delete.size for delete in deletes)
