"""One atomic commit of files and properties, fenced on every try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from meltline.lake.jvm import translate
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
    """Append data files (content-file JSON) and set properties in one metadata commit.

    False when the fence said no. Raises CommitConflict,
    CommitUnknown or what the fence raised. `stop_at` bounds the ancestry shown to the fence.
    """
    jvm = table.jvm
    guard = _Guard(table, fence, stop_at)
    try:
        transaction = table.java.newTransaction()
        append = transaction.newAppend()
        specs = table.java.specs()
        parser = jvm.iceberg.ContentFileParser
        for content in contents:
            append.appendFile(parser.fromJson(jvm.json_tree(content), specs))
        for key, value in summary.items():
            append.set(key, value)
        append.validateWith(guard)
        append.commit()
        update = transaction.updateProperties()
        for key, value in properties.items():
            update.set(key, value)
        update.commit()
        transaction.commitTransaction()
    except Py4JJavaError as error:
        if guard.refused:
            return False
        if guard.failure is not None:
            raise guard.failure from None
        raise translate(error, f"cannot commit to table {table.identifier}") from None
    table.refresh()
    return True


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
