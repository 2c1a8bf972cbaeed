"""A lane that lost its position and has a copy: the copy is told how it differs from the source.

Nobody knows any more what was changed in between. But the copy holds what was published, so that
the difference of its rows and the source's is what is missing, removed rows included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from meltline.errors import ConfigurationChanged
from meltline.model.content import FileChange
from meltline.model.history import Snapshot, TableHistory
from meltline.model.table_view import TableView
from meltline.sources.iceberg.copy_table import (
    CopyState,
    FindCopy,
    NoCopy,
    present_state,
    recorded_state,
)
from meltline.sources.iceberg.open_table import OpenTable
from meltline.sources.iceberg.shared_schema import Unlike
from meltline.sources.iceberg.units import Unit

NO_SNAPSHOT = -1
"""As Iceberg says it: a table that nothing was written to."""
HASHES_A_BUCKET = 2_000_000


@dataclass(frozen=True)
class Aligned:
    """What tasks need: both tables in the same columns, and the files of both."""

    source: TableView
    copy: TableView
    units: tuple[Unit, ...]

    @property
    def least_buckets(self) -> int:
        """So many that the hashes of one fit into a task."""
        rows = sum(change.file.records for unit in self.units for change in unit.changes)
        return -(-rows // HASHES_A_BUCKET)


class Alignment:
    """Plans the difference of a source and its copy, and cuts it. `find` looks for the copy."""

    def __init__(self, find: FindCopy) -> None:
        self._find = find

    def record(
        self, source_schema: str, uuid: str, keys: Sequence[str]
    ) -> dict[str, Any] | NoCopy | None:
        """The copy as it is now, for the plan; None when it does not exist. The rest is of the
        source: its schema, the table's uuid and its identifier columns."""
        found = self._find()
        if found is None or isinstance(found, NoCopy):
            return found
        state = present_state(found, OpenTable(found.table).history())
        try:
            state.share(source_schema, uuid, keys)
        except Unlike as unlike:
            return NoCopy(str(unlike))
        return state.record()

    def read(
        self, record: Mapping[str, Any], view: TableView, uuid: str, files: Sequence[FileChange]
    ) -> Aligned | None:
        """`files` are the source's, `view` is how it is read by itself, `uuid` its table's. None
        when the copy was dropped since: it holds nothing."""
        found = self._find()
        if isinstance(found, NoCopy):
            raise ConfigurationChanged(
                f"table {view.table} was to be compared with its copy, and now {found.reason}; "
                f"nothing of it was published",
                hint="run once with the configuration as it was, and then change it")
        if found is None:
            return None
        opened = OpenTable(found.table)
        state = recorded_state(found, opened.history(), record)
        source, copy = _views(view, uuid, state, opened.io_properties)
        theirs = [] if state.snapshot is None else opened.contents(state.history, state.snapshot)
        mine = [Unit("hash", (file,)) for file in files]
        gone = [Unit("hash", (FileChange(one.file, one.after, None),)) for one in theirs]
        return Aligned(source, copy, (*mine, *gone))


def _views(
    view: TableView, uuid: str, state: CopyState, io_properties: Mapping[str, str]
) -> tuple[TableView, TableView]:
    """The copy goes by the name and the snapshot of the source: its rows become events too."""
    keys = [field.name for field in view.identifier_fields]
    shared = state.share(view.schema_json, uuid, keys)
    history = state.history
    source = replace(view, schema_json=shared.source, identifiers=shared.source_keys, row_ids=False)
    return source, replace(
        source, schema_json=shared.copy, identifiers=shared.copy_keys,
        schemas=tuple(history.schemas.values()), specs=dict(history.specs),
        name_mapping=history.name_mapping, io_properties=dict(io_properties))


def empty_snapshot(history: TableHistory) -> Snapshot:
    """Stands for the state of a table without any snapshot."""
    return Snapshot(NO_SNAPSHOT, None, 0, 0, "delete", "", history.current_schema_id)
