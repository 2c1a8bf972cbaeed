"""Rows as lines of JSON that keep their types. Standard library only: the readers run it, too."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any


def dumps(value: Any) -> str:
    return json.dumps(value, default=_tagged, allow_nan=True)


def loads(text: str) -> Any:
    return json.loads(text, object_hook=_untagged)


def _tagged(value: Any) -> dict[str, str]:
    """Times are told in UTC: which zone a reader happens to answer in says nothing."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return {"$local": value.isoformat()}
        return {"$instant": value.astimezone(timezone.utc).isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    raise TypeError(f"a reader answered with a {type(value).__name__}, which has no form here")


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((tag, text),) = value.items()
        if tag in ("$local", "$instant"):
            return datetime.fromisoformat(text)
        if tag == "$date":
            return date.fromisoformat(text)
        if tag == "$decimal":
            return Decimal(text)
    return value
