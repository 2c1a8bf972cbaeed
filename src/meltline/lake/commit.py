"""One atomic commit of files and properties, fenced on every try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from meltline.errors import BaseMoved, MeltlineError
from meltline.lake.change import Basis, Change
from meltline.lake.content_files import (
    call_each,
    java_list,
    parse_data_files,
    parse_delete_files,
)
from meltline.lake.jvm import JAVA_ERRORS, exception_names, translate
from meltline.lake.table import Table

Lookup = Callable[[str], str | None]
"""One key of a map that lives in the JVM: fetching whole maps would take longer than the commit."""

Fence = Callable[[Lookup, Iterable[Lookup]], bool]
"""Called with the properties of the table that a commit is about to build on, and with the
summaries of its snapshots, newest first, that were not shown before; again on each optimistic
retry. True lets the commit go on; raising stops it too."""


def append_files(
    table: Table, contents: Sequence[str], summary: Mapping[str, str],
    properties: Mapping[str, str], fence: Fence, stop_at: int | None = None,
) -> bool:
    """Append data files (content-file JSON) and set properties. See commit_change."""
    return commit_change(table, Change(contents), summary, properties, fence, stop_at)


def commit_change(
    table: Table, change: Change, summary: Mapping[str, str], properties: Mapping[str, str],
    fence: Fence, stop_at: int | None = None, branch: str | None = None,
) -> bool:
    """Change the table's files and set properties in one metadata commit.

    False when the fence said no. Raises CommitConflict, BaseMoved when the change must be computed
    anew, CommitUnknown, or what the fence raised. `stop_at` bounds the ancestry shown to the fence.
    A branch that does not exist begins at the main one.
    """
    guard = _Guard(table, fence, stop_at)
    try:
        transaction = table.java.newTransaction()
        update = _update(table, transaction, change)
        if branch is not None:
            update.toBranch(branch)
        for key, value in summary.items():
            update.set(key, value)
        update.validateWith(guard)
        update.commit()
        settings = transaction.updateProperties()
        for key, value in properties.items():
            settings.set(key, value)
        settings.commit()
        transaction.commitTransaction()
    except JAVA_ERRORS as error:
        if guard.refused:
            return False
        if guard.failure is not None:
            raise guard.failure from None
        raise _failed(error, table, change) from None
    table.refresh()
    return True


def _update(table: Table, transaction: Any, change: Change) -> Any:
    """Iceberg's own operation, with all that it must check."""
    if change.removed_data_files:
        return _overwrite(table, transaction, change)
    if (change.delete_files or change.removed_delete_files
            or (change.data_files and change.basis is not None)):
        return _row_delta(table, transaction, change)
    update = transaction.newAppend()
    _add(table, update, change.data_files, "AppendFiles", "appendFile")
    return update


def _add(table: Table, update: Any, contents: Sequence[str], interface: str, method: str) -> None:
    if contents:
        call_each(table, parse_data_files(table, contents), update, interface, method)


def _row_delta(table: Table, transaction: Any, change: Change) -> Any:
    update = transaction.newRowDelta()
    _add(table, update, change.data_files, "RowDelta", "addRows")
    for contents, method in ((change.delete_files, "addDeletes"),
                             (change.removed_delete_files, "removeDeletes")):
        if contents:
            call_each(table, parse_delete_files(table, contents), update, "RowDelta", method)
    if change.basis is not None:
        _validate_from(table, update, change.basis)
        # deletes are among the operations that may have removed a file
        update.validateDeletedFiles()
        update.validateDataFilesExist(java_list(table, change.basis.referenced))
        update.validateNoConflictingDataFiles()
    return update


def _overwrite(table: Table, transaction: Any, change: Change) -> Any:
    if change.delete_files:
        raise ValueError("an overwrite adds no delete files")
    sets = table.jvm.iceberg.util
    update = transaction.newOverwrite()
    _add(table, update, change.data_files, "OverwriteFiles", "addFile")
    update.deleteFiles(
        sets.DataFileSet.of(parse_data_files(table, change.removed_data_files)),
        sets.DeleteFileSet.of(parse_delete_files(table, change.removed_delete_files)))
    if change.basis is not None:
        _validate_from(table, update, change.basis)
        update.validateNoConflictingData()
        update.validateNoConflictingDeletes()
    return update


def _validate_from(table: Table, update: Any, basis: Basis) -> None:
    if basis.snapshot_id is not None:
        update.validateFromSnapshot(basis.snapshot_id)
    if basis.conflicts is not None:
        parser = table.jvm.iceberg.expressions.ExpressionParser
        update.conflictDetectionFilter(parser.fromJson(basis.conflicts, table.java.schema()))


def _failed(error: Exception, table: Table, change: Change) -> MeltlineError:
    """What Iceberg finds wrong with the basis says that somebody else changed the table."""
    doing = f"cannot commit to table {table.identifier}"
    known = translate(error, doing)
    moved = ("ValidationException" in exception_names(error)
             # the snapshot that was looked at is no longer in the branch's history
             or "is not an ancestor of" in known.what)
    return BaseMoved(known.what) if change.basis is not None and moved else known


class _Guard:
    """The fence as Iceberg's SnapshotAncestryValidator. An exception cannot cross the JVM."""

    def __init__(self, table: Table, fence: Fence, stop_at: int | None) -> None:
        self._table = table
        self._fence = fence
        self._stop_at = stop_at
        self.refused = False
        self.failure: Exception | None = None

    def validate(self, snapshots: Any) -> bool:
        try:
            properties = self._table.java.operations().current().properties()
            self.refused = not self._fence(properties.get, self._summaries(snapshots))
        except Exception as error:  # noqa: BLE001
            self.failure = error
            return False
        return not self.refused

    def errorMessage(self) -> str:
        return "refused by the fence"

    def _summaries(self, snapshots: Any) -> Iterable[Lookup]:
        iterator = snapshots.iterator()
        newest, known = None, self._stop_at
        while iterator.hasNext():
            snapshot = iterator.next()
            snapshot_id = snapshot.snapshotId()
            if snapshot_id == known:
                break
            newest = newest or snapshot_id
            yield snapshot.summary().get
        # only reached when every one was looked at
        self._stop_at = newest or known

    class Java:
        implements = ["org.apache.iceberg.SnapshotAncestryValidator"]  # noqa: RUF012
