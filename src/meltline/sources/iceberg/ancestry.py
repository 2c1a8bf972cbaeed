"""From a position to the snapshots that follow it, or to what is lost. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from meltline.errors import PositionLost, UserError
from meltline.model.history import Snapshot, TableHistory
from meltline.model.plan import Position

REPLACE = "replace"
"""Compaction: the rows stay what they are."""
APPEND = "append"
HINT = ("set on_lost_position: re_export to read the table again; protect_position: true keeps it "
        "from happening")


@dataclass(frozen=True)
class Place:
    """A position of this source: everything up to `snapshot` is published.

    `snapshot` None: nothing is, not even a first snapshot. `files`: an initial load of that
    snapshot is under way, and so many of its files are done, with the identifier columns `keys`
    (field ids; None: not known). `again`: it is not the first load, the target may have rows
    already.
    """

    uuid: str
    snapshot: int | None = None
    files: int | None = None
    again: bool = False
    keys: tuple[int, ...] | None = None

    def to_position(self) -> Position:
        more: dict[str, Any] = {"again": True} if self.again else {}
        if self.keys is not None:
            more["keys"] = list(self.keys)
        return Position({"uuid": self.uuid, "snapshot": self.snapshot, "files": self.files, **more})

    @classmethod
    def from_position(cls, position: Position) -> Place:
        data = position.data
        keys = data.get("keys")
        return cls(data["uuid"], data["snapshot"], data.get("files"), data.get("again", False),
                   None if keys is None else tuple(keys))


def find_head(history: TableHistory, ref: str, table: str) -> Snapshot | None:
    """The newest snapshot of a branch or tag; None for a table without any."""
    found = history.refs.get(ref)
    if found is None:
        if ref == "main":
            return None
        raise UserError(f'table {table} has no branch or tag "{ref}"',
                        hint=f"it has: {', '.join(sorted(history.refs)) or 'none'}")
    return history.snapshots[found.snapshot_id]


def following(
    history: TableHistory, head: Snapshot | None, place: Place, table: str,
    only_adds: Callable[[Snapshot], bool],
) -> list[Snapshot]:
    """The snapshots after a place, oldest first. Raises PositionLost before anything is read.

    Snapshots in between may have expired while that of the place is still there: then the parent
    of the first one is unknown, and it is read as the difference to the place (see `base_of`).
    That of the place itself may have expired when the first one says by itself what it changed:
    compaction nothing, an append its own files. `only_adds` looks whether it did nothing else; it
    is asked about that one snapshot at most.
    """
    if history.uuid != place.uuid:
        raise PositionLost(
            f"table {table} was dropped and created again: it is {history.uuid}, and the position "
            f"belongs to {place.uuid}", hint=HINT)
    chain: list[Snapshot] = []
    for snapshot in history.ancestors(head.snapshot_id if head else None):
        if snapshot.snapshot_id == place.snapshot:
            return chain[::-1]
        chain.append(snapshot)
    if place.snapshot is None and (not chain or chain[-1].parent_id is None):
        return chain[::-1]
    if chain and _is_cut(history, chain[-1]) and _is_older(history, place, chain[-1]):
        return chain[::-1]
    if chain and place.snapshot is not None and chain[-1].parent_id == place.snapshot:
        first = chain[-1]
        if first.operation == REPLACE or (first.operation == APPEND and only_adds(first)):
            return chain[::-1]
    raise _lost(history, head, place, chain, table)


def base_of(history: TableHistory, snapshot: Snapshot, place: Place) -> int | None:
    """What a snapshot that follows a place is compared with: its parent, or the place."""
    return place.snapshot if _is_cut(history, snapshot) else snapshot.parent_id


def base_sequence(history: TableHistory, snapshot: Snapshot, base: int | None) -> int | None:
    """The sequence number of what a snapshot is compared with; None when it does not come from
    there, as after a rollback: then the numbers do not tell what is older."""
    if base is None:
        return 0
    return next((older.sequence for older in history.ancestors(snapshot.snapshot_id)
                 if older.snapshot_id == base), None)


def _is_older(history: TableHistory, place: Place, snapshot: Snapshot) -> bool:
    """Whether the snapshot of a place is still there and came before another one. A younger one
    was rolled back. The sequence numbers of format version 1 are all the same."""
    there = history.snapshots.get(-1 if place.snapshot is None else place.snapshot)
    return there is not None and (there.sequence, there.timestamp_ms) < (
        snapshot.sequence, snapshot.timestamp_ms)


def _is_cut(history: TableHistory, snapshot: Snapshot) -> bool:
    return snapshot.parent_id is not None and snapshot.parent_id not in history.snapshots


def _lost(
    history: TableHistory, head: Snapshot | None, place: Place, chain: list[Snapshot], table: str
) -> PositionLost:
    there = history.snapshots.get(place.snapshot or -1)
    at = f"table {table} was read up to snapshot {place.snapshot}"
    if head is None:
        return PositionLost(f"{at}, and now has no snapshot at all", hint=HINT)
    if place.snapshot is None:
        return PositionLost(
            f"table {table} was to be read from its beginning, and what came before snapshot "
            f"{chain[-1].snapshot_id} has expired", hint=HINT)
    if there is None:
        oldest = chain[-1]
        return PositionLost(
            f"{at}, which has expired; the oldest one left is {oldest.snapshot_id} of "
            f"{_time(oldest)}, and what was changed in between is not known any more", hint=HINT)
    if any(one.snapshot_id == head.snapshot_id for one in history.ancestors(there.snapshot_id)):
        return PositionLost(
            f"{at}, and was then rolled back to the older snapshot {head.snapshot_id}", hint=HINT)
    return PositionLost(
        f"{at}, which is not part of the history of snapshot {head.snapshot_id}: the table was "
        f"rolled back or its branch was replaced", hint=HINT)


def _time(snapshot: Snapshot) -> str:
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, timezone.utc).isoformat()


def start_place(
    history: TableHistory, head: Snapshot | None, start_from: str | None, export: bool, table: str
) -> Place:
    """Where reading begins. A place with `files` is an initial load from its first file on."""
    if start_from is None:
        return _loaded_or_after(history, head, export)
    chain = list(history.ancestors(head.snapshot_id if head else None))
    if start_from == "earliest":
        oldest = chain[-1] if chain else None
        if oldest is None or oldest.parent_id is None:
            return Place(history.uuid)
        # what the oldest one left inherited can only be loaded, its changes are not known
        return Place(history.uuid, oldest.snapshot_id, 0)
    return _loaded_or_after(history, _named(chain, start_from, table), export)


def _loaded_or_after(history: TableHistory, at: Snapshot | None, export: bool) -> Place:
    if at is None:
        return Place(history.uuid)
    return Place(history.uuid, at.snapshot_id, 0 if export else None)


def _named(chain: list[Snapshot], start_from: str, table: str) -> Snapshot | None:
    """The snapshot of that id, or the one current at that time (None: before the first)."""
    if start_from.isdigit():
        for snapshot in chain:
            if snapshot.snapshot_id == int(start_from):
                return snapshot
        raise UserError(f"start_from: snapshot {start_from} is not in the history of {table}",
                        hint="`SELECT * FROM table.history` shows the snapshots there are")
    moment = datetime.fromisoformat(start_from.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    wanted = moment.timestamp() * 1000
    for snapshot in chain:
        if snapshot.timestamp_ms <= wanted:
            return snapshot
    if chain and chain[-1].parent_id is not None:
        raise UserError(
            f"start_from: what table {table} held at {start_from} has expired",
            hint=f"the oldest snapshot left is of {_time(chain[-1])}")
    return None
