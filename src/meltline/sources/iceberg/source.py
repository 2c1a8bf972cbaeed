"""The source `iceberg`: a table's rows once, then its changes, snapshot by snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import accumulate

from meltline.engine.protocols import Blobs
from meltline.errors import PositionLost, UserError
from meltline.kernels.storage import open_storage
from meltline.lake.history import HistoryReader
from meltline.lake.table import Table
from meltline.lake.tags import set_tag
from meltline.model.content import FileChange
from meltline.model.history import Snapshot, TableHistory
from meltline.model.plan import Plan, Position, Split
from meltline.model.table_like import TableLike, fitting_spec, with_identifiers
from meltline.model.table_view import TableView, parse_schema
from meltline.sources.iceberg.ancestry import (
    APPEND,
    REPLACE,
    Place,
    base_of,
    find_head,
    following,
    start_place,
)
from meltline.sources.iceberg.bounds import may_match
from meltline.sources.iceberg.identifiers import find_identifiers
from meltline.sources.iceberg.manifests import Manifest, ManifestReader
from meltline.sources.iceberg.planner import appended, changes, compare, contents
from meltline.sources.iceberg.reader import IcebergReader
from meltline.sources.iceberg.settings import TableSettings
from meltline.sources.iceberg.units import Unit, cut_units, pack

log = logging.getLogger(__name__)

BUCKET_BYTES = 64 << 20


class IcebergSource:
    """Implements Source, for one table. `load` opens the table when it is first needed.

    A plan's data: `kind` (`start`, `load` or `change`), the snapshots, schema and identifier
    columns it is read with, and for `load` the files `from` and `to` by their place in the
    snapshot. Snapshots never change, so the same plan gives the same rows.
    """

    def __init__(self, load: Callable[[], Table | None], settings: TableSettings) -> None:
        self._load = load
        self._settings = settings
        self._opened: tuple[Table, HistoryReader, ManifestReader] | None = None
        self._like: TableLike | None = None

    def check(self) -> None:
        """At start. Raises UserError for what cannot work, warns of what works only in part."""
        history = self._history()
        find_head(history, self._settings.ref, self._settings.table)
        ids = find_identifiers(history, self._settings.identifier_columns, self._settings.table)
        parse_schema(history.schemas[history.current_schema_id], self._settings.table)
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
        """The next files of an initial load, in the order of the manifests."""
        snapshot = history.snapshots.get(place.snapshot or -1)
        if history.uuid != place.uuid or snapshot is None:
            raise PositionLost(
                f"the initial load of table {self._settings.table} stopped in the middle of "
                f"snapshot {place.snapshot}, which is gone",
                hint="set on_lost_position: re_export to begin again")
        files = self._contents(history, snapshot)
        first = place.files or 0
        sizes = accumulate(one.weight for one in files[first:])
        taken = max(sum(size <= self._settings.load_bytes for size in sizes), 1)
        last = min(first + taken, len(files))
        done = last == len(files)
        end = Place(place.uuid, snapshot.snapshot_id, None if done else last)
        data = {**self._data("load", history, snapshot), "from": first, "to": last}
        summary = {**_summary(snapshot), "load": f"files {first} to {last} of {len(files)}"}
        return Plan(data, end.to_position(), len(files) - last, summary)

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
        then the difference to the new state is all that is read."""
        if self._settings.on_lost == "stop":
            raise lost
        log.warning("position lost, reading again", extra={
            "table": self._settings.table, "reason": lost.what})
        if head is None:
            return self._plan_start(Place(history.uuid))
        known = place.uuid == history.uuid and place.files is None
        if known and place.snapshot in history.snapshots:
            data = {**self._data("change", history, head), "before": place.snapshot}
            return Plan(data, Place(history.uuid, head.snapshot_id).to_position(), 0,
                        _summary(head))
        return self._plan_load(history, Place(history.uuid, head.snapshot_id, 0))

    def splits(self, plan: Plan, parallelism: int, blobs: Blobs) -> Sequence[Split]:  # noqa: ARG002
        if plan.data["kind"] == "start":
            return []
        history = self._history()
        snapshot = self._snapshot(history, plan.data["snapshot"])
        view = self._view(history, snapshot, plan)
        if plan.data["kind"] == "load":
            files = self._contents(history, snapshot)[plan.data["from"]:plan.data["to"]]
            units = [Unit("rows", (one,)) for one in files]
            return self._cut(view, units, parallelism, load=True)
        found = self._changes(history, snapshot, plan.data["before"])
        units = cut_units(found, history.format_version >= 3, self._settings.limits)
        return self._cut(view, units, parallelism, load=False)

    def _changes(
        self, history: TableHistory, snapshot: Snapshot, before: int | None
    ) -> Sequence[FileChange]:
        """The same whether the base is still there or has expired since: both ways name the files
        that an append added, in the order of the manifests."""
        if before not in history.snapshots and snapshot.parent_id == before:
            added = self._added(snapshot)
            if before is not None and added is not None:
                return added
        old = [] if before is None else self._manifests(self._snapshot(history, before))
        reader = self._parts()[2]
        difference = compare(old, self._manifests(snapshot), reader.live, history.unpartitioned)
        return changes(difference, may_match(_types(history, self._settings.table)))

    def _only_adds(self, snapshot: Snapshot) -> bool:
        return self._added(snapshot) is not None

    def _added(self, snapshot: Snapshot) -> list[FileChange] | None:
        """The files of an append; None for any other snapshot."""
        if snapshot.operation != APPEND:
            return None
        reader = self._parts()[2]
        return appended(reader.written(manifest, snapshot.snapshot_id)
                        for manifest in self._manifests(snapshot))

    def _cut(
        self, view: TableView, units: Sequence[Unit], parallelism: int, load: bool
    ) -> list[Split]:
        tasks = pack(units, parallelism, self._settings.limits)
        total = sum(unit.weight for unit in units)
        hashes = any(unit.mode == "hash" for unit in units)
        removes = any(not change.added for unit in units for change in unit.changes)
        exchange = removes or bool(view.identifiers)
        rounds = 0 if load or not exchange else 3 if hashes else 1
        buckets = 1 if len(tasks) < 2 else max(parallelism, -(-total // BUCKET_BYTES) // 2)
        return [Split({"view": view, "units": task, "load": load or not exchange,
                       "rounds": rounds, "buckets": buckets},
                      sum(unit.weight for unit in task)) for task in tasks]

    def like(self) -> TableLike | None:
        """What a table for the rows of the last plan looks like: as this one did then."""
        return self._like

    def reader(self) -> IcebergReader:
        return IcebergReader(self._settings.update_before)

    def forget(self, upto: Position) -> None:
        """Moves the tag that keeps unread snapshots from expiring, if there is one."""
        place = Place.from_position(upto)
        if self._settings.protect and place.snapshot is not None:
            set_tag(self._parts()[0], self._settings.protect, place.snapshot)

    def lag(self, after: Position | None, blobs: Blobs) -> int | None:  # noqa: ARG002
        """How many snapshots wait, those of compaction left out."""
        history = self._history()
        head = find_head(history, self._settings.ref, self._settings.table)
        if after is None:
            return None
        chain = following(history, head, Place.from_position(after), self._settings.table,
                          self._only_adds)
        return sum(snapshot.operation != REPLACE for snapshot in chain)

    def _data(self, kind: str, history: TableHistory, snapshot: Snapshot) -> dict[str, object]:
        ids = find_identifiers(history, self._settings.identifier_columns, self._settings.table)
        return {"kind": kind, "snapshot": snapshot.snapshot_id,
                "schema": history.schema_of(snapshot), "identifiers": list(ids)}

    def _view(self, history: TableHistory, snapshot: Snapshot, plan: Plan) -> TableView:
        ids = tuple(plan.data["identifiers"])
        view = TableView(
            self._settings.table, snapshot.snapshot_id, snapshot.sequence, snapshot.timestamp_ms,
            history.schemas[plan.data["schema"]], tuple(history.schemas.values()),
            dict(history.specs), ids, not ids and history.format_version >= 3,
            history.name_mapping, self._parts()[1].io_properties)
        missing = set(ids) - {field.field_id for field in view.schema.fields}
        if missing:
            raise UserError(
                f"snapshot {snapshot.snapshot_id} of table {self._settings.table} lacks an "
                f"identifier column (field id {min(missing)})")
        spec = fitting_spec(view.schema_json, history.specs[history.default_spec_id])
        self._like = TableLike(with_identifiers(view.schema_json, ids), spec,
                               history.format_version)
        return view

    def _contents(self, history: TableHistory, snapshot: Snapshot) -> list[FileChange]:
        types = _types(history, self._settings.table)
        return contents(self._manifests(snapshot), self._parts()[2].live, history.unpartitioned,
                        may_match(types))

    def _manifests(self, snapshot: Snapshot) -> list[Manifest]:
        return self._parts()[2].manifests(snapshot.manifest_list)

    def _snapshot(self, history: TableHistory, snapshot_id: int) -> Snapshot:
        found = history.snapshots.get(snapshot_id)
        if found is None:
            raise PositionLost(
                f"snapshot {snapshot_id} of table {self._settings.table} has expired before it "
                f"was read", hint="set on_lost_position: re_export")
        return found

    def _history(self) -> TableHistory:
        return self._parts()[1].read()

    def _parts(self) -> tuple[Table, HistoryReader, ManifestReader]:
        if self._opened is None:
            table = self._load()
            if table is None:
                raise UserError(f"table {self._settings.table} does not exist in the catalog")
            history = HistoryReader(table)
            manifests = ManifestReader(open_storage(history.io_properties))
            self._opened = (table, history, manifests)
        return self._opened


def _types(history: TableHistory, table: str) -> dict[int, str]:
    """Types of top-level columns by field id; the newest schema has the widest."""
    return {field.field_id: str(field.field_type) for _, text in sorted(history.schemas.items())
            for field in parse_schema(text, table).fields}


def _summary(snapshot: Snapshot) -> dict[str, str]:
    return {"snapshot": str(snapshot.snapshot_id), "operation": snapshot.operation,
            "sequence": str(snapshot.sequence), "timestamp": str(snapshot.timestamp_ms)}
