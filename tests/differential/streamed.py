"""Random histories of a partitioned table with equality deletes, of every reach."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.differential.replay import Row
from tests.differential.streaming_writer import Deletes, StreamingWriter
from tests.warehouse import Warehouse

KEY = ("id", "region")
COLUMN_SETS = (("id",), ("id", "region"), ("v",), ("region", "n"))
EVERYWHERE, BY_REGION, BY_BOTH = 0, 1, 2
"""Partition specs in the order of their ids: none, by region, by region and a bucket of the id."""
_FIRST_ID = 1 << 40
_IDS = 10
_REGIONS = ("us", "eu", None)


@dataclass
class StreamedHistory:
    """Rows are told apart by `KEY`: an id may be there in several regions. The table is born
    without partitions and gets them later, twice: files of all three specs are side by side."""

    warehouse: Warehouse
    version: int
    mode: str
    seed: int
    identifier: str = field(default_factory=lambda: f"d.s{uuid.uuid4().hex[:8]}")
    told: list[str] = field(default_factory=list)
    spec: int = EVERYWHERE

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        modes = ", ".join(f"'write.{kind}.mode'='{self.mode}'" for kind in ("delete", "update"))
        self.warehouse.sql("CREATE NAMESPACE IF NOT EXISTS {c}.d")
        self.sql("CREATE TABLE {t} (id BIGINT, region STRING, n INT, v STRING) USING iceberg "
                 f"TBLPROPERTIES ('format-version'='{self.version}', {modes})")
        self.writer = StreamingWriter(self.warehouse, self.identifier)

    def live(self) -> None:
        """Every kind of change under each of the three specs, in a random order."""
        every: list[Callable[[], None]] = [
            self.upsert, self.remove_everywhere, self.remove_by_two_sets, self.change]
        for change_spec in (None, "region", "bucket(2, id)"):
            if change_spec is not None:
                self.sql(f"ALTER TABLE {{t}} ADD PARTITION FIELD {change_spec}")
                self.spec += 1
                every = [*every, self.remove_in_partition]
            self.insert()
            for one in self.random.sample(every, len(every)):
                one()
        self.sql("CALL {c}.system.rewrite_data_files(table => '" + self.identifier
                 + "', options => map('rewrite-all', 'true'))")
        self.remove_in_partition()

    def sql(self, statement: str) -> None:
        self.told.append(statement)
        self.warehouse.sql(statement.replace("{t}", f"{{c}}.{self.identifier}"))

    def commit(self, deletes: list[Deletes], rows: list[Row]) -> None:
        self.told.append(f"row delta: {deletes}, rows {rows}")
        self.writer.commit(deletes, rows)

    def insert(self) -> None:
        there = {(row["id"], row["region"]) for row in self.rows()}
        new = [row for row in self.some_rows() if (row["id"], row["region"]) not in there]
        self.commit([], new)

    def upsert(self) -> None:
        """The rows of the commit have the keys that it deletes, and stay. Files of every spec
        may hold earlier ones, and a delete reaches no files of another spec than its own."""
        rows = self.some_rows()
        specs = {one["spec_id"] for one in self.warehouse.sql(
            f"SELECT DISTINCT spec_id FROM {{c}}.{self.identifier}.data_files")}
        self.commit([Deletes(KEY, rows, spec) for spec in sorted(specs)], rows)

    def remove_everywhere(self) -> None:
        self.commit([Deletes(self.random.choice(COLUMN_SETS), self.known_rows(), EVERYWHERE)], [])

    def remove_in_partition(self) -> None:
        """Of the newest spec or an older one; a row of the same id elsewhere stays."""
        spec = self.random.randrange(BY_REGION, self.spec + 1)
        self.commit([Deletes(self.random.choice(COLUMN_SETS), self.known_rows(), spec)], [])

    def remove_by_two_sets(self) -> None:
        first, second = self.random.sample(COLUMN_SETS, 2)
        self.commit([Deletes(first, self.known_rows(), EVERYWHERE),
                     Deletes(second, self.known_rows(), self.spec)], [])

    def change(self) -> None:
        """By SQL: position deletes and rewritten files beside the equality deletes."""
        self.sql(self.random.choice((
            "UPDATE {t} SET v = concat(coalesce(v, ''), '+') WHERE id % 3 = 1",
            "DELETE FROM {t} WHERE id % 5 = 2")))

    def rows(self) -> list[Row]:
        return sorted(self.warehouse.rows(self.identifier), key=str)

    def known_rows(self) -> list[Row]:
        """Up to two that are there, or would be."""
        rows = self.rows() or self.some_rows()
        return self.random.sample(rows, min(2, len(rows)))

    def some_rows(self) -> list[Row]:
        chance = self.random
        keys = {(chance.randrange(_IDS), chance.choice(_REGIONS)) for _ in range(6)}
        return [{"id": _FIRST_ID + id_, "region": region,
                 "n": chance.choice((None, *range(5))), "v": chance.choice((None, "a", "b", "c"))}
                for id_, region in sorted(keys, key=str)]
