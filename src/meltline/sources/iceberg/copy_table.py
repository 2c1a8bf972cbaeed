"""The table that a lane's rows go to, where it is a copy that nothing else writes to.

A source that has lost its position needs it: the copy itself says what was published. The source
knows nothing of sinks; whoever puts a pipeline together hands it a `FindCopy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meltline.lake.table import Table
from meltline.model.history import MAIN, Snapshot, TableHistory
from meltline.sources.iceberg.shared_schema import SharedSchema, check_names, keys_in, share


@dataclass(frozen=True)
class NoCopy:
    """There is none to compare with, and why, for people."""

    reason: str


@dataclass(frozen=True)
class Follows:
    """`uuid` of the source's table, and the path that each of its fields has in the copy."""

    uuid: str
    fields: Mapping[int, str]


@dataclass(frozen=True)
class Copy:
    """`keys` are the columns that tell its rows apart; without any those of the source, if it has
    them all, and else its identifier fields. `branch` is where rows are committed, `any_case`
    whether columns match whatever the letter case. `follows`: what it remembers of the fields of
    its source, by id, if it will follow them before rows are written to it."""

    table: Table
    keys: tuple[str, ...] = ()
    branch: str | None = None
    any_case: bool = False
    follows: Follows | None = None


FindCopy = Callable[[], Copy | NoCopy | None]
"""None: the table is not there yet."""


def no_copy() -> NoCopy:
    return NoCopy("the rows go to no table that is known")


@dataclass(frozen=True)
class CopyState:
    """A copy at one moment. `snapshot` None: it is empty. `schema` is the id of its schema."""

    copy: Copy
    history: TableHistory
    snapshot: Snapshot | None
    schema: int

    def share(self, source_schema: str, uuid: str, keys: Sequence[str]) -> SharedSchema:
        """With the source's table of that uuid and those identifier columns. Raises Unlike."""
        schema, copy = self.history.schemas[self.schema], self.copy
        if copy.follows is not None and copy.follows.uuid == uuid:
            check_names(source_schema, schema, copy.follows.fields)
        return share(source_schema, schema, copy.keys or keys_in(schema, keys, copy.any_case),
                     copy.any_case)

    def record(self) -> dict[str, Any]:
        """For a plan: the copy is read as it is now, however often and however late."""
        return {"snapshot": self.snapshot.snapshot_id if self.snapshot else None,
                "schema": self.schema}


def present_state(copy: Copy, history: TableHistory) -> CopyState:
    return CopyState(copy, history, _head(history, copy.branch), history.current_schema_id)


def recorded_state(copy: Copy, history: TableHistory, record: Mapping[str, Any]) -> CopyState:
    """The state that a plan recorded.

    Its snapshot may have expired, which takes a newer one: then the copy as it is now serves as
    well. Either it has this very epoch already, and does not differ from the source any more, or
    somebody else has written, and what differs now is what has to be mended.
    """
    now = present_state(copy, history)
    schema = record["schema"] if record["schema"] in history.schemas else now.schema
    if record["snapshot"] is None:
        return CopyState(copy, history, None, schema)
    return CopyState(copy, history, history.snapshots.get(record["snapshot"], now.snapshot), schema)


def _head(history: TableHistory, branch: str | None) -> Snapshot | None:
    """A branch that is not there yet begins at the main one."""
    ref = history.refs.get(branch or MAIN) or history.refs.get(MAIN)
    return None if ref is None else history.snapshots[ref.snapshot_id]

