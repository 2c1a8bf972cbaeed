"""Random rows of the test table, and their form in an event."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

Json = dict[str, Any]
Row = dict[str, Any]
Key = tuple[Any, ...]

COLUMNS: Mapping[str, str] = {
    "at": "timestamptz", "region": "string", "amount": "decimal(12,2)", "born": "date",
    "score": "double", "flag": "boolean", "place": "struct<street: string, number: int>",
    "note": "string",
}
"""Beside the key. `region` and `at` may be what the table is partitioned by."""

REGIONS = ("north", "south", "Übersee", "a/b=c", "")
_START = datetime(2024, 2, 27, 22, tzinfo=timezone.utc)
_NULL = 0.12
_ABSENT = 0.5


def make_row(chance: random.Random) -> Row:
    """Every column beside the key; each may be null."""
    row: Row = {
        "at": _START + timedelta(microseconds=chance.randrange(3 * 24 * 3600 * 10**6)),
        "region": chance.choice(REGIONS),
        "amount": Decimal(chance.randrange(-10**9, 10**9)) / 100,
        "born": date(1969, 12, 30) + timedelta(days=chance.randrange(20_000)),
        "score": chance.choice((chance.uniform(-1e6, 1e6), 0.0, 1e-300, 1e300)),
        "flag": chance.random() < 0.5,
        "place": {"street": _or_null(chance, chance.choice(("Hauptstraße", "", "a\tb\"c"))),
                  "number": _or_null(chance, chance.randrange(-(2**31), 2**31))},
        "note": f"note {chance.randrange(10**9)}",
    }
    return {name: _or_null(chance, value) for name, value in row.items()}


def to_event(row: Mapping[str, Any], chance: random.Random) -> Json:
    """The row as JSON: what is null may as well be absent."""
    return {name: _text(value) for name, value in row.items()
            if value is not None or chance.random() >= _ABSENT}


def _or_null(chance: random.Random, value: Any) -> Any:
    return None if chance.random() < _NULL else value


def _text(value: Any) -> Any:
    if isinstance(value, date):  # a datetime, too
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
