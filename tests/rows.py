"""Rows of any reader in one form, so that they can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

Row = Mapping[str, Any]
Normal = tuple[tuple[str, Any], ...]


def normal(row: Row) -> Normal:
    """A row as a value: columns by name, structs likewise, instants in UTC."""
    return tuple(sorted((name, _value(value)) for name, value in row.items()))


def bag(rows: Iterable[Row]) -> Counter[Normal]:
    """How often each row is there."""
    return Counter(map(normal, rows))


def differences(found: Iterable[Row], wanted: Iterable[Row]) -> str:
    """Empty when the rows are the same, each as often; else the first few that are not."""
    have, want = bag(found), bag(wanted)
    lines = [f"{len(_list)} {word}, e.g. {[dict(row) for row in _list[:5]]}"
             for word, _list in (("too many", list((have - want).elements())),
                                 ("missing", list((want - have).elements()))) if _list]
    return "; ".join(lines)


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        # PySpark answers in the local zone of this process, and does not say so
        return value.astimezone(timezone.utc)
    if isinstance(value, Mapping):
        return normal(value)
    if isinstance(value, list):
        return tuple(map(_value, value))
    return value
