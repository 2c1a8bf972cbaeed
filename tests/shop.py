"""Shop events for tests: random with a seed, and what must become of them, by plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

Json = dict[str, Any]

ORDERS: Json = {
    "table_identifier": "shop.orders", "auto_create": True,
    "schema": {
        "columns": [{"name": "id", "type": "long", "required": True},
                    {"name": "at", "type": "timestamptz"},
                    {"name": "amount", "type": "decimal(12,2)"},
                    {"name": "status", "type": "string"}],
        "partition_spec": [{"column": "at", "transform": "day"}]},
    "dlq": {"iceberg": {"table_identifier": "shop.dead_letters"}},
}
PAID: Json = {"table_identifier": "shop.paid", "auto_create": True, "routes": ["paid"]}
ROUTES: Json = {"route": [{"paid": '/status == "PAID"'}]}

_START = datetime(2024, 1, 1, tzinfo=timezone.utc)


@dataclass
class Shop:
    """Makes events and keeps the books: which rows and which refusals they must lead to."""

    seed: int
    orders: list[Json] = field(default_factory=list)
    paid: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._next = 0

    def events(self, count: int) -> list[Any]:
        return [self._event() for _ in range(count)]

    def _event(self) -> Any:
        self._next += 1
        choice = self._random.random()
        if choice < 0.03:
            text = f'{{"id": {self._next}, "status": broken'
            self.refused.append(text)
            return text
        if choice < 0.06:
            # numbers the event although it has no id: two of them must not look alike
            self.refused.append(f"no id {self._next}.")
            return {"status": "NEW", "note": f"no id {self._next}."}
        return self._order()

    def _order(self) -> Json:
        at = _START + timedelta(minutes=self._random.randrange(5 * 24 * 60))
        cents = self._random.randrange(10_000_000)
        status = self._random.choice(["NEW", "PAID", "SHIPPED", None])
        event: Json = {"id": self._next, "at": at.isoformat(), "amount": f"{cents / 100:.2f}"}
        if status is not None or self._random.random() < 0.5:
            event["status"] = status
        if self._random.random() < 0.1:
            event["amount"] = "a lot"
        amount = None if event["amount"] == "a lot" else Decimal(cents) / 100
        self.orders.append({"id": self._next, "at": at.replace(tzinfo=None), "amount": amount,
                            "status": status})
        if status == "PAID":
            self.paid.append(self._next)
        return event


def mark(event: str) -> str:
    """What tells a refused event from all others."""
    try:
        return str(json.loads(event)["note"])
    except ValueError:
        return event


def multiset(rows: Iterable[Json]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def check_books(shop: Shop, orders: list[Json], paid: list[Json], letters: list[Json]) -> None:
    """Nothing lost, nothing doubled, every refusal kept with a reason."""
    assert multiset(orders) == multiset(shop.orders)
    assert sorted(int(row["id"]) for row in paid) == sorted(shop.paid)
    assert Counter(mark(letter["event"]) for letter in letters) == Counter(shop.refused)
    assert all(letter["reason"] and letter["source"] for letter in letters)
