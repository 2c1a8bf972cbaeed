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
TABLES = ("one", "named", "listed")
"""One table; several that are there already, each event naming its own; a list of several."""

NAMES = ("orders", "bills", "visits")

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
        names = NAMES[:1] if self.tables == "one" else NAMES
        return Stream(seed, names, self.composite, self.upserts, dynamic=self.tables == "named")

    @property
    def keys(self) -> dict[str, str]:
        return {"shop": "string", "id": "long"} if self.composite else {"id": "long"}

    @property
    def schema(self) -> Json:
        """The block `schema`. A composite key may be null as far as the table is concerned."""
        columns = [{"name": name, "type": kind, "required": name == "id" and not self.composite}
                   for name, kind in {**self.keys, **COLUMNS}.items()]
        return {"columns": columns, "partition_spec": _SPECS[self.partition]}

    @property
    def properties(self) -> dict[str, str]:
        return {"format-version": str(self.version)}

    def sink(self, namespace: str) -> Json:
        """The block of the sink, but for its catalog."""
        made: Json = {"auto_create": True, "schema": self.schema,
                      "table_properties": self.properties}
        tables: dict[str, Json] = {
            "one": {"table_identifier": f"{namespace}.{NAMES[0]}", **made},
            "named": {"table_identifier": f"{namespace}.${{/table}}"},
            "listed": {"route_field": "table", **made, "tables": [
                {"table_identifier": f"{namespace}.{name}", "route_regex": name}
                for name in NAMES]},
        }
        return {
            **tables[self.tables], "operation": "${/op}", "identifier_columns": list(self.keys),
            "delete_mode": self.mode, "deduplicate_inserts": self.upserts,
            "dlq": {"iceberg": {"table_identifier": f"{namespace}.refused"}},
        }


def any_combination(chance: random.Random) -> Combination:
    """Each point of the space is as likely as any other."""
    points = list(product(MODES, VERSIONS, PARTITIONS, TABLES))
    return Combination(*chance.choice(points), composite=chance.random() < 0.5,
                       upserts=chance.random() < 0.5, wide=chance.random() < 0.2)
