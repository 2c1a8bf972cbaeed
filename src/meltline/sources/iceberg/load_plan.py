"""The next part of an initial load, from metadata alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from meltline.errors import PositionLost
from meltline.model.content import FileChange
from meltline.model.history import Snapshot, TableHistory
from meltline.model.plan import Plan
from meltline.sources.iceberg.ancestry import Place


def load_snapshot(history: TableHistory, place: Place, table: str) -> Snapshot:
    """Raises PositionLost when it is gone."""
    snapshot = history.snapshots.get(place.snapshot or -1)
    if history.uuid != place.uuid or snapshot is None:
        raise PositionLost(
            f"the initial load of table {table} stopped in the middle of snapshot "
            f"{place.snapshot}, which is gone",
            hint="set on_lost_position: re_export to begin again")
    return snapshot


def check_keys(place: Place, keys: Sequence[int], table: str) -> None:
    """Raises PositionLost when the load began with other identifier columns: what was left out
    because of a row in another file must be left out in favour of that row."""
    if place.keys is not None and place.keys != tuple(keys):
        raise PositionLost(
            f"the identifier columns of table {table} have changed in the middle of its initial "
            f"load, from the fields {_listed(place.keys)} to {_listed(keys)}: rows that share a "
            f"key were left out by the old ones",
            hint="change them back, set on_lost_position: re_export to begin again, or start anew "
                 "under another pipeline name")


def load_plan(
    place: Place, files: Sequence[FileChange], most: int, data: Mapping[str, Any],
    summary: Mapping[str, str],
) -> Plan:
    """The next files in the order of the manifests, at least one, of at most so many bytes.
    `data` and `summary` are those of the snapshot."""
    first = place.files or 0
    sizes = accumulate(one.weight for one in files[first:])
    last = min(first + max(sum(size <= most for size in sizes), 1), len(files))
    end = Place(place.uuid, place.snapshot) if last == len(files) else Place(
        place.uuid, place.snapshot, last, place.again, tuple(data["identifiers"]))
    return Plan(
        {**data, "from": first, "to": last, "again": place.again}, end.to_position(),
        len(files) - last, {**summary, "load": f"files {first} to {last} of {len(files)}"})


def _listed(field_ids: Sequence[int]) -> str:
    return ", ".join(map(str, field_ids)) or "none"
