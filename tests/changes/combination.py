"""Which pipeline a change stream goes through."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

from tests.changes.stream import Stream
from tests.changes.values import COLUMNS, Json

MODES = ("equality", "position", "copy-on-write")
VERSIONS = (2, 3)
PARTITIONS = ("none", "identity", "bucket", "day")
TABLES = ("one", "many")

_SPECS: dict[str, list[Json]] = {
    "none": [],
    "identity": [{"column": "region", "transform": "identity"}],
    "bucket": [{"column": "id", "transform": "bucket[4]"}],
    "day": [{"column": "at", "transform": "day"}],
}


@dataclass(frozen=True)
class Combination:
    """One point of the space. `wide`: the epoch's events are read by several tasks."""

    mode: str
    version: int
    partition: str = "none"
    tables: str = "one"
    composite: bool = False
    upserts: bool = False
    wide: bool = False

    def __str__(self) -> str:
        marks = [word for word in ("composite", "upserts", "wide") if getattr(self, word)]
        return "-".join([self.mode, f"v{self.version}", self.partition, self.tables, *marks])

    def stream(self, seed: int) -> Stream:
        names = ("orders",) if self.tables == "one" else ("orders", "bills", "visits")
        return Stream(seed, names, self.composite, self.upserts)

    def sink(self, namespace: str) -> Json:
        """The block of the sink, but for its catalog."""
        keys = {"shop": "string", "id": "long"} if self.composite else {"id": "long"}
        columns = [{"name": name, "type": kind, "required": name == "id" and not self.composite}
                   for name, kind in {**keys, **COLUMNS}.items()]
        table = "${/table}" if self.tables == "many" else "orders"
        return {
            "table_identifier": f"{namespace}.{table}", "auto_create": True,
            "operation": "${/op}", "identifier_columns": list(keys),
            "delete_mode": self.mode, "deduplicate_inserts": self.upserts,
            "table_properties": {"format-version": str(self.version)},
            "schema": {"columns": columns, "partition_spec": _SPECS[self.partition]},
            "dlq": {"iceberg": {"table_identifier": f"{namespace}.refused"}},
        }


def any_combination(chance: random.Random) -> Combination:
    """Each point of the space is as likely as any other."""
    points = list(product(MODES, VERSIONS, PARTITIONS, TABLES))
    return Combination(*chance.choice(points), composite=chance.random() < 0.5,
                       upserts=chance.random() < 0.5, wide=chance.random() < 0.2)
