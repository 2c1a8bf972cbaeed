"""What every version of the shop's tables must hold, from the files alone, by plain Python."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab import Lab
from tests.shop import Shop, mark, multiset
from tests.shop_lab import tables

Json = dict[str, Any]


@dataclass(frozen=True)
class Book:
    """What one file must lead to."""

    orders: tuple[Json, ...]
    paid: tuple[int, ...]
    refused: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not (self.orders or self.paid or self.refused)


@dataclass
class History:
    """Drops files and remembers them; `check` compares each new snapshot with the files of the
    epochs up to it. Which files an epoch took is said by the snapshots themselves."""

    lab: Lab
    shop: Shop
    books: dict[str, Book] = field(default_factory=dict)
    epochs: dict[int, list[str]] = field(default_factory=dict)
    checked: set[int] = field(default_factory=set)

    def drop(self, count: int) -> None:
        shop = self.shop
        orders, paid, refused = len(shop.orders), len(shop.paid), len(shop.refused)
        file = self.lab.drop_file(shop.events(count))
        self.books[str(file)] = Book(tuple(shop.orders[orders:]), tuple(shop.paid[paid:]),
                                     tuple(shop.refused[refused:]))

    def check(self) -> int:
        """Returns how many snapshots were new."""
        snapshots = {table: self.lab.snapshots(table) for table in tables(self.lab)
                     if self.lab.open_catalog().load(table) is not None}
        for found in snapshots.values():
            numbers = [int(s.summary["meltline.epoch"]) for s in found]
            assert numbers == sorted(set(numbers)), f"one snapshot per epoch: {numbers}"
            for snapshot in found:
                self._learn(snapshot.summary)
        self._check_files()
        before = len(self.checked)
        for table, found in snapshots.items():
            for snapshot in found:
                if snapshot.snapshot_id not in self.checked:
                    self.checked.add(snapshot.snapshot_id)
                    self._check_rows(table, snapshot.snapshot_id,
                                     int(snapshot.summary["meltline.epoch"]))
        return len(self.checked) - before

    def check_complete(self) -> None:
        """Nothing is left: the newest versions hold every file."""
        self.check()
        for table in tables(self.lab):
            self._check_rows(table, None, max(self.epochs))
        missing = set(self.books) - {name for names in self.epochs.values() for name in names}
        assert all(self.books[name].empty for name in missing), f"never published: {missing}"

    def _learn(self, summary: Mapping[str, str]) -> None:
        names = [str(Path(name)) for name in json.loads(summary["meltline.source.names"])]
        known = self.epochs.setdefault(int(summary["meltline.epoch"]), names)
        assert known == names, "every table says the same of an epoch"

    def _check_files(self) -> None:
        taken = [name for _, names in sorted(self.epochs.items()) for name in names]
        listed = [name for name in self.books if name in set(taken)]
        assert taken == listed, "each file once, in the order of arrival"

    def _check_rows(self, table: str, snapshot_id: int | None, epoch: int) -> None:
        rows = self.lab.rows(table, snapshot_id)
        books = [(number, self.books[name]) for number, names in self.epochs.items()
                 if number <= epoch for name in names]
        orders, paid, _ = tables(self.lab)
        if table == orders:
            assert multiset(rows) == multiset(row for _, book in books for row in book.orders)
        elif table == paid:
            assert sorted(row["id"] for row in rows) == sorted(
                number for _, book in books for number in book.paid)
        else:
            assert _letters(rows) == Counter(
                (number, text) for number, book in books for text in book.refused)


def _letters(rows: Iterable[Json]) -> Counter[tuple[int, str]]:
    return Counter((int(row["epoch"]), mark(row["event"])) for row in rows)
