"""What column statistics tell: which equality deletes cannot hit a file, which keys it may hold.
Pure.

A wrong answer would lose a delete, so anything not understood may match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meltline.model.content import DataFile, DeleteFile, Stats
from meltline.sources.iceberg.delete_index import MayMatch
from meltline.sources.iceberg.parts import Bounds

_WHOLE_NUMBERS = {"int", "long", "date", "time", "timestamp", "timestamptz", "timestamp_ns",
                  "timestamptz_ns"}


def may_match(types: Mapping[int, str]) -> MayMatch:
    """`types` names the Iceberg type of a field by its id."""

    def decide(file: DataFile, delete: DeleteFile) -> bool:
        if file.stats is None or delete.stats is None:
            return True
        return all(_overlap(file.stats, delete.stats, id_, types.get(id_, ""))
                   for id_ in delete.equality_ids)

    return decide


def key_bounds(identifiers: Sequence[int], types: Mapping[int, str]) -> Bounds:
    """By the first of the identifier columns."""

    def find(file: DataFile) -> tuple[Any, Any] | None:
        if file.stats is None or not identifiers:
            return None
        id_ = identifiers[0]
        low, high = (_value(bounds, id_, types.get(id_, ""))
                     for bounds in (file.stats.lower, file.stats.upper))
        return None if low is None or high is None else (low, high)

    return find


def _overlap(data: Stats, delete: Stats, id_: int, type_: str) -> bool:
    if delete.nulls.get(id_, 1) > 0 and data.nulls.get(id_, 1) > 0:
        return True  # null matches null, and bounds do not speak of nulls
    bounds = [_value(stats, id_, type_) for stats in (
        data.lower, data.upper, delete.lower, delete.upper)]
    if any(bound is None for bound in bounds):
        return True
    low, high, delete_low, delete_high = bounds
    return bool(low <= delete_high and delete_low <= high)


def _value(bounds: Mapping[int, bytes], id_: int, type_: str) -> Any:
    raw = bounds.get(id_)
    if raw is None:
        return None
    if type_.startswith("timestamp") and len(raw) != 8:
        return None  # the column was a date then: its bound counts days
    if type_ in _WHOLE_NUMBERS:
        # a bound keeps the width its column had when it was written
        return int.from_bytes(raw, "little", signed=True)
    # UTF-8 sorts as its code points do, and a cut bound still bounds
    return bytes(raw) if type_ == "string" else None
