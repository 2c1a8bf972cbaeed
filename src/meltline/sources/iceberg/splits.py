"""Units of work as splits: how many tasks, and how often and where their rows meet. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from meltline.engine.rounds import tasks_for
from meltline.errors import UserError
from meltline.model import lineage
from meltline.model.history import Snapshot, TableHistory
from meltline.model.plan import Plan, Split
from meltline.model.table_view import TableView
from meltline.sources.iceberg.alignment import Aligned
from meltline.sources.iceberg.units import Limits, Unit, pack

BUCKET_BYTES = 64 << 20
BUCKET_ROWS = 250_000


def view_of(
    history: TableHistory, snapshot: Snapshot, table: str, plan: Plan,
    io_properties: dict[str, str],
) -> TableView:
    """A table as the tasks of a plan read it. Raises UserError without an identifier column."""
    ids = tuple(plan.data["identifiers"])
    view = TableView(
        table, snapshot.snapshot_id, snapshot.sequence, snapshot.timestamp_ms,
        history.schemas[plan.data["schema"]], tuple(history.schemas.values()),
        dict(history.specs), ids, not ids and history.format_version >= lineage.SINCE,
        history.name_mapping, io_properties)
    missing = set(ids) - {field.field_id for field in view.schema.fields}
    if missing:
        raise UserError(
            f"snapshot {snapshot.snapshot_id} of table {table} lacks an identifier column "
            f"(field id {min(missing)})")
    return view


def cut_splits(
    view: TableView, units: Sequence[Unit], parallelism: int, limits: Limits, load: bool
) -> list[Split]:
    """`load`: every row is an insert, and none has to meet another one."""
    whole = [change for unit in units if unit.mode == "rows" for change in unit.changes
             if change.added or change.removed]
    if not load:
        # where all that is read becomes events there is more work than to find a few of many
        every = len(whole) == sum(len(unit.changes) for unit in units)
        size = limits.split_size // 8 if every else limits.split_size * 2
        limits = replace(limits, split_size=max(size, 1))
    tasks = pack(units, parallelism, limits)
    total = sum(unit.weight for unit in units)
    hashes = any(unit.mode == "hash" for unit in units)
    removes = any(not change.added for unit in units for change in unit.changes)
    exchange = removes or bool(view.identifiers)
    rounds = 0 if load or not exchange else 3 if hashes else 1
    buckets = 1 if len(tasks) < 2 else max(parallelism, -(-total // BUCKET_BYTES) // 2)
    # every row of these is an event, and a bucket is held in memory
    buckets = max(buckets, -(-sum(change.file.records for change in whole) // BUCKET_ROWS))
    buckets = -(-buckets // parallelism) * parallelism if len(tasks) > 1 else buckets
    common = {"view": view, "load": load or not exchange, "rounds": rounds, "buckets": buckets,
              "tasks": tasks_for(buckets, parallelism)}
    return [Split({**common, "units": task, "task": number}, sum(unit.weight for unit in task))
            for number, task in enumerate(tasks)]


def cut_aligned(aligned: Aligned, parallelism: int, limits: Limits) -> list[Split]:
    splits = cut_splits(aligned.source, aligned.units, parallelism, limits, load=False)
    return [Split({**split.data, "copy": aligned.copy,
                   "buckets": max(split.data["buckets"], aligned.least_buckets)}, split.weight)
            for split in splits]
