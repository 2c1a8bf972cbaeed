"""What one commit does to the files of a table. Files are content-file JSON everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Basis:
    """What a change was computed from. The commit fails with BaseMoved when it no longer holds.

    `snapshot_id` None: the branch had no snapshot. `referenced` are paths of data files that the
    new deletes point into. `conflicts` is an Iceberg expression as JSON: files that were added
    since and may hold rows that match it are in the way; None: every file is.
    """

    snapshot_id: int | None
    referenced: Sequence[str] = ()
    conflicts: str | None = None


@dataclass(frozen=True)
class Change:
    """Files to add and to remove at once.

    Only data files to add: an append. With delete files: a row delta. With data files to remove:
    an overwrite, which adds no delete files. Without a basis nothing but the fence is checked;
    with one, appended files too must not meet rows that came since.
    """

    data_files: Sequence[str] = ()
    delete_files: Sequence[str] = ()
    removed_data_files: Sequence[str] = ()
    removed_delete_files: Sequence[str] = ()
    basis: Basis | None = None
