"""Change events at random, applied to a dictionary in the order in which they are told."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.changes.values import Json, Key, Row, make_row, to_event

INSERTS = ("index", "insert", "create", "c", "i", "r")
UPDATES = ("update", "u", "update_after")
DELETES = ("delete", "d", "update_before")
UNKNOWN = ("truncate", "", "inserted", "-d", None)
SHOPS = ("oslo", "øst", "")

Tables = dict[str, dict[Key, Row]]


@dataclass
class Stream:
    """`tables` hold what each table must hold now, `history` what after each epoch.

    `upserts`: an insert may name a key that is there (`deduplicate_inserts` must be on). Without
    it an insert names a key that is not there, unless it repeats one of the same epoch.
    `dynamic`: events name their table, and some name none or one that is not there.
    """

    seed: int
    names: tuple[str, ...] = ("orders",)
    composite: bool = False
    upserts: bool = False
    dynamic: bool = False
    keys: int = 60
    tables: Tables = field(default_factory=dict)
    history: list[Tables] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._epoch: list[Json] = []
        self._busy = list(self.names)
        self._rows: dict[int, Row | None] = {}
        self._marks = 0

    @property
    def key_columns(self) -> tuple[str, ...]:
        return ("shop", "id") if self.composite else ("id",)

    def epoch(self, files: int, events: int) -> list[list[Json]]:
        """The next epoch: its files in the order that counts, each with its events."""
        self._epoch = []
        self._rows = {}
        # not every table hears something in every epoch
        self._busy = [name for name in self.names if self._chance.random() < 0.7] or [
            self._chance.choice(self.names)]
        while len(self._epoch) < events:
            self._some_change()
        self.history.append(copy.deepcopy(self.tables))
        cuts = [0, *sorted(self._chance.randrange(events) for _ in range(files - 1)), None]
        return [self._epoch[a:b] for a, b in pairwise(cuts)]

    def _some_change(self) -> None:
        chance = self._chance
        table = chance.choice(self._busy)
        live = self.tables.setdefault(table, {})
        key = self._make_key()
        kind = chance.random()
        if kind < 0.05:
            self._refused_event(table, key)
        elif kind < 0.11 and self._epoch:
            self._repeat(chance.choice(self._epoch))
        elif kind < 0.17 and live:
            self._change_key(table, chance.choice(sorted(live)), key)
        elif key not in live:
            # now and then an update or a delete of what is not there
            self._tell(table, chance.choices((INSERTS, UPDATES, DELETES), (14, 1, 2))[0], key)
        elif kind < 0.25 and self.upserts:
            self._tell(table, INSERTS, key)
        elif kind < 0.70:
            self._tell(table, UPDATES, key)
        else:
            self._tell(table, DELETES, key)

    def _make_key(self) -> Key:
        number = self._chance.randrange(self.keys) - self.keys // 2
        if not self.composite:
            return (number * 10**14,)
        return (self._chance.choice(SHOPS), number // len(SHOPS))

    def _change_key(self, table: str, old: Key, new: Key) -> None:
        before, after = ("update_before", "update_after")
        self._tell(table, (before,), old)
        self._tell(table, (after,), new)

    def _tell(self, table: str, operations: tuple[str, ...], key: Key) -> None:
        operation = self._chance.choice(operations)
        if operation in DELETES:
            image = self.tables[table].get(key, {}) if self._chance.random() < 0.5 else {}
        else:
            image = make_row(self._chance)
        event = {"op": self._chance.choice((operation, operation.upper(), operation.title())),
                 "table": table, **dict(zip(self.key_columns, key, strict=True)),
                 **to_event(image, self._chance)}
        self._add(event, None if operation in DELETES else image)

    def _repeat(self, event: Json) -> None:
        """The very same event once more, at a later place."""
        self._add(event, self._rows.get(id(event)))

    def _add(self, event: Json, row: Row | None) -> None:
        self._epoch.append(event)
        if "mark" in event:
            self.refused.append(event["mark"])
            return
        live = self.tables.setdefault(event["table"], {})
        key = tuple(event[name] for name in self.key_columns)
        if row is None:
            live.pop(key, None)
        else:
            live[key] = {**dict(zip(self.key_columns, key, strict=True)), **row}
        self._rows[id(event)] = row

    def _refused_event(self, table: str, key: Key) -> None:
        """Without a fit key, a known operation or a table: for the dead letters."""
        chance = self._chance
        operation: Any = chance.choice((*INSERTS, *UPDATES, *DELETES))
        event: Json = {"op": operation, "table": table,
                       **dict(zip(self.key_columns, key, strict=True)), "note": "refused"}
        column = chance.choice(self.key_columns)
        fault = chance.randrange(6 if self.dynamic else 5)
        if fault == 0:
            event[column] = None
        elif fault == 1:
            del event[column]
        elif fault == 2:
            event["id"] = "eleven"
        elif fault == 3:
            event["op"] = chance.choice(UNKNOWN)
        elif fault == 4:
            del event["op"]
        else:
            event["table"] = chance.choice((None, "nowhere"))
        self._marks += 1
        self._add({**event, "mark": f"{self.seed}:{self._marks}."}, None)
