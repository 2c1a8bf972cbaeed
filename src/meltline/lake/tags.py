"""Tags that keep snapshots from expiring."""

from __future__ import annotations

from meltline.lake.jvm import java_errors
from meltline.lake.table import Table


def set_tag(table: Table, name: str, snapshot_id: int) -> None:
    """Create the tag or move it. Nothing happens when it is there already."""
    table.refresh()
    with java_errors(f"cannot set tag {name} on table {table.identifier}"):
        found = table.java.refs().get(name)
        if found is not None and int(found.snapshotId()) == snapshot_id:
            return
        change = table.java.manageSnapshots()
        if found is None:
            change.createTag(name, snapshot_id).commit()
        else:
            change.replaceTag(name, snapshot_id).commit()
