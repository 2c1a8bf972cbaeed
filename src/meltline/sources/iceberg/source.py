"""The source `iceberg`: a table's rows once, then its changes, snapshot by snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from meltline.engine.protocols import Blobs, Meet
from meltline.errors import PlanLost, PositionLost, Retryable, UserError
from meltline.lake.table import Table
from meltline.lake.tags import set_tag
from meltline.model import lineage
from meltline.model.content import FileChange
from meltline.model.history import Snapshot, TableHistory
from meltline.model.plan import Plan, Position, Split
from meltline.model.table_like import TableLike
from meltline.model.table_view import TableView, parse_schema, readable_schema
from meltline.sources.iceberg.alignment import NO_SNAPSHOT, Alignment, empty_snapshot
from meltline.sources.iceberg.ancestry import (
    REPLACE,
    Place,
    base_of,
    base_sequence,
    find_head,
    following,
    start_place,
)
from meltline.sources.iceberg.bounds import key_bounds
from meltline.sources.iceberg.copy_table import FindCopy, NoCopy, no_copy
from meltline.sources.iceberg.identifiers import find_identifiers
from meltline.sources.iceberg.likeness import like_of
from meltline.sources.iceberg.load_keys import LoadKeys
from meltline.sources.iceberg.load_plan import check_keys, load_plan, load_snapshot
from meltline.sources.iceberg.open_table import OpenTable
from meltline.sources.iceberg.reader import IcebergReader
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.splits import cut_aligned, cut_splits, view_of
from meltline.sources.iceberg.units import Unit, cut_units

log = logging.getLogger(__name__)


class IcebergSource:
    """Implements Source, for one table. `load` opens the table when it is first needed.

    A plan's data: `kind` (`start`, `load`, `change` or `align`), the snapshots, schema and
    identifier columns it is read with, for `load` the files `from` and `to` by their place in the
    snapshot, and for `align` the state of the copy. Snapshots never change, so the same plan gives
    the same rows. `copy` finds the table that the rows go to, if it is a copy of this one.
    """

    def __init__(
        self, load: Callable[[], Table | None], settings: TableSettings, meet: Meet,
        copy: FindCopy = no_copy,
    ) -> None:
        self._load = load
        self._settings = settings
        self._keys = LoadKeys(meet)
        self._alignment = Alignment(copy)
        self._opened: OpenTable | None = None
        self._like: TableLike | None = None

    def check(self) -> None:
        """At start. Raises UserError for what cannot work, warns of what works only in part."""
        history = self._history()
        find_head(history, self._settings.ref, self._settings.table)
        ids = find_identifiers(history, self._settings.identifier_columns, self._settings.table)
        readable_schema(history.schemas[history.current_schema_id], self._settings.table)
        if not ids and history.format_version < 3:
            log.warning(
                "table has no identifier_columns: it can only be appended to, and a snapshot that "
                "changes or removes rows stops its lane", extra={"table": self._settings.table})

    def plan(self, after: Position | None, blobs: Blobs) -> Plan | None:  # noqa: ARG002
        history = self._history()
        settings = self._settings
        head = find_head(history, settings.ref, settings.table)
        if after is None:
            place = start_place(history, head, settings.start_from, settings.export,
                                settings.table)
            return self._plan_load(history, place) if place.files == 0 else self._plan_start(place)
        place = Place.from_position(after)
        try:
            if place.files is not None:
                return self._plan_load(history, place)
            chain = following(history, head, place, settings.table, self._only_adds)
        except PositionLost as lost:
            return self._plan_again(history, head, place, lost)
        return self._plan_change(history, place, chain)

    def _plan_start(self, place: Place) -> Plan:
        """Nothing to read, but where reading begins must not depend on when it begins."""
        return Plan({"kind": "start"}, place.to_position(), summary={"start": str(place.snapshot)})

    def _plan_load(self, history: TableHistory, place: Place) -> Plan:
        table = self._settings.table
        snapshot = load_snapshot(history, place, table)
        data = self._data("load", history, snapshot)
        check_keys(place, data["identifiers"], table)
        files = self._table().contents(history, snapshot)
        return load_plan(place, files, self._settings.load_bytes, data, _summary(snapshot))

    def _plan_change(
        self, history: TableHistory, place: Place, chain: Sequence[Snapshot]
    ) -> Plan | None:
        for number, snapshot in enumerate(chain):
            base = base_of(history, snapshot, place)
            if base != snapshot.parent_id:
                log.warning("snapshots expired before they were read: what they changed is read "
                            "as one change", extra={"table": self._settings.table,
                                                    "from": base, "to": snapshot.snapshot_id})
            if snapshot.operation != REPLACE or base != snapshot.parent_id:
                data = {**self._data("change", history, snapshot), "before": base}
                end = Place(place.uuid, snapshot.snapshot_id)
                return Plan(data, end.to_position(), len(chain) - number - 1, _summary(snapshot),
                            valid_through_ms=snapshot.timestamp_ms)
        # only compaction: the position follows, or it would expire with the files it replaced
        return self._plan_start(Place(place.uuid, chain[-1].snapshot_id)) if chain else None

    def _plan_again(
        self, history: TableHistory, head: Snapshot | None, place: Place, lost: PositionLost
    ) -> Plan:
        """As `on_lost_position` says. What is still known of the old position is not loaded twice:
        then the difference to the new state is all that is read. So it is where the rows went to a
        copy, which knows what was published."""
        if self._settings.on_lost == "stop":
            raise lost
        known = place.uuid == history.uuid and place.files is None
        if head is not None and known and place.snapshot in history.snapshots:
            self._warn("position lost: the difference to the last snapshot read is read", lost)
            data = {**self._data("change", history, head), "before": place.snapshot,
                    "schema": history.current_schema_id}
            return Plan(data, Place(history.uuid, head.snapshot_id).to_position(), 0,
                        _summary(head))
        state = head or empty_snapshot(history)
        data = self._data("align", history, state)
        # an older snapshot may lack columns that what was published has
        data["schema"] = history.current_schema_id
        newest = history.schemas[history.current_schema_id]
        schema = parse_schema(newest, self._settings.table)
        keys = [name for id_ in data["identifiers"] if (name := schema.find_column_name(id_))]
        copy = self._alignment.record(newest, history.uuid, keys)
        if isinstance(copy, NoCopy) or copy is None:
            return self._plan_reload(history, head, lost, copy)
        self._warn("position lost: the difference to the copy is read", lost)
        data["copy"] = copy
        end = Place(history.uuid, head.snapshot_id if head else None)
        return Plan(data, end.to_position(), 0, _summary(state),
                    valid_through_ms=head.timestamp_ms if head else None)

    def _plan_reload(
        self, history: TableHistory, head: Snapshot | None, lost: PositionLost,
        copy: NoCopy | None,
    ) -> Plan:
        if copy is None:
            self._warn("position lost: the table is loaded again", lost)
        else:
            self._warn(
                "position lost: the table is loaded again, and rows that vanished in the meantime "
                "stay in the target; remove them there, or empty the target and start anew under "
                "another pipeline name", lost, why=copy.reason)
        if head is None:
            return self._plan_start(Place(history.uuid))
        again = copy is not None
        return self._plan_load(history, Place(history.uuid, head.snapshot_id, 0, again))

    def _warn(self, words: str, lost: PositionLost, **fields: str) -> None:
        log.warning(words, extra={"table": self._settings.table, "reason": lost.what, **fields})

    def splits(self, plan: Plan, parallelism: int, blobs: Blobs) -> Sequence[Split]:  # noqa: ARG002
        kind = plan.data["kind"]
        if kind == "start":
            return []
        history = self._history()
        snapshot = self._snapshot(history, plan.data["snapshot"])
        view = self._view(history, snapshot, plan)
        limits = self._settings.limits
        if kind == "align":
            empty = snapshot.snapshot_id == NO_SNAPSHOT
            files = [] if empty else self._table().contents(history, snapshot)
            aligned = self._alignment.read(plan.data["copy"], view, history.uuid, files)
            if aligned is None:
                return self._load_splits(view, files, slice(None), parallelism)
            return cut_aligned(aligned, parallelism, limits)
        if kind == "load":
            files = self._table().contents(history, snapshot)
            part = slice(plan.data["from"], plan.data["to"])
            again = plan.data.get("again", False)
            return [replace(split, data={**split.data, "again": again})
                    for split in self._load_splits(view, files, part, parallelism)]
        before = plan.data["before"]
        found = self._changes(history, snapshot, before)
        bounds = key_bounds(view.identifiers, self._table().types(history))
        units = cut_units(found, history.format_version >= lineage.SINCE, limits, bounds,
                          keyed=not view.row_ids)
        if len({change.file.spec_id for change in found}) == 1:
            # else rows of one spec may be carried over into files of another: nothing tells which
            view = replace(view, base_sequence=base_sequence(history, snapshot, before))
        return cut_splits(view, units, parallelism, limits, load=False)

    def _load_splits(
        self, view: TableView, files: Sequence[FileChange], part: slice, parallelism: int
    ) -> list[Split]:
        """A part of a snapshot's files. What is left out of them depends on all of these."""
        limits = self._settings.limits
        wanted = self._keys.one_each(view, files, parallelism, limits)[part]
        units = [Unit("rows", (one,)) for one in wanted]
        return cut_splits(view, units, parallelism, limits, load=True)

    def _changes(
        self, history: TableHistory, snapshot: Snapshot, before: int | None
    ) -> Sequence[FileChange]:
        """The same whether the base is still there or has expired since: both ways name the files
        that an append added, in the order of the manifests."""
        if before is None:
            return self._table().changes(history, snapshot, None)
        if before not in history.snapshots and snapshot.parent_id == before:
            added = self._table().added(snapshot)
            if added is not None:
                return added
        return self._table().changes(history, snapshot, self._snapshot(history, before))

    def _only_adds(self, snapshot: Snapshot) -> bool:
        return self._table().added(snapshot) is not None

    def like(self) -> TableLike | None:
        """What a table for the rows of the last plan looks like: as this one did then."""
        return self._like

    def reader(self) -> IcebergReader:
        return IcebergReader(self._settings.update_before)

    def forget(self, upto: Position) -> None:
        """Moves the tag that keeps unread snapshots from expiring, if there is one."""
        place = Place.from_position(upto)
        if place.files is None:
            self._keys.forget()
        if self._settings.protect and place.snapshot is not None:
            set_tag(self._table().table, self._settings.protect, place.snapshot)

    def lag(self, after: Position | None, blobs: Blobs) -> int | None:  # noqa: ARG002
        """How many snapshots wait, those of compaction left out."""
        history = self._history()
        head = find_head(history, self._settings.ref, self._settings.table)
        if after is None:
            return None
        chain = following(history, head, Place.from_position(after), self._settings.table,
                          self._only_adds)
        return sum(snapshot.operation != REPLACE for snapshot in chain)

    def _data(self, kind: str, history: TableHistory, snapshot: Snapshot) -> dict[str, Any]:
        ids = find_identifiers(history, self._settings.identifier_columns, self._settings.table)
        return {"kind": kind, "snapshot": snapshot.snapshot_id,
                "schema": history.schema_of(snapshot), "identifiers": list(ids)}

    def _view(self, history: TableHistory, snapshot: Snapshot, plan: Plan) -> TableView:
        view = view_of(history, snapshot, self._settings.table, plan, self._table().io_properties)
        self._like = like_of(history, view)
        return view

    def _snapshot(self, history: TableHistory, snapshot_id: int) -> Snapshot:
        if snapshot_id == NO_SNAPSHOT:
            return empty_snapshot(history)
        found = history.snapshots.get(snapshot_id)
        if found is None:
            raise PlanLost(
                f"snapshot {snapshot_id} of table {self._settings.table} has expired before it "
                f"was read", hint="set on_lost_position: re_export")
        return found

    def _history(self) -> TableHistory:
        try:
            return self._table().history()
        except Retryable:
            # perhaps another table of the same name: what was known of the old one is no use
            again = self._load()
            if again is None:
                raise
            self._opened = OpenTable(again)
            return self._opened.history()

    def _table(self) -> OpenTable:
        if self._opened is None:
            table = self._load()
            if table is None:
                raise UserError(f"table {self._settings.table} does not exist in the catalog")
            self._opened = OpenTable(table)
        return self._opened


def _summary(snapshot: Snapshot) -> dict[str, str]:
    return {"snapshot": str(snapshot.snapshot_id), "operation": snapshot.operation,
            "sequence": str(snapshot.sequence), "timestamp": str(snapshot.timestamp_ms)}
