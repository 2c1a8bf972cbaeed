"""Random histories of a table, written by Spark SQL and by Iceberg's Java API."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from tests.warehouse import Warehouse

KEYS = 30
REGIONS = ("us", "eu", "asia")
_COLUMNS = {
    "id": "BIGINT", "region": "STRING", "amount": "DECIMAL(12,2)", "price": "DOUBLE",
    "note": "STRING", "raw": "BINARY", "at": "TIMESTAMP"}
_NESTED = {
    "tags": "ARRAY<STRING>", "attrs": "MAP<STRING, INT>", "info": "STRUCT<a: INT, b: STRING>"}
_VALUES = {
    "region": ("null", *(f"'{region}'" for region in REGIONS)),
    "amount": ("null", "1.50", "-0.01", "9999999.99"),
    "price": ("null", "1.5", "0.0", "-0.0D", "'NaN'"),
    "note": ("null", "'n'", "''"),
    "raw": ("null", "X'00FF'"),
    "at": ("null", "TIMESTAMP '2024-01-01 00:00:00.000001'"),
    "tags": ("null", "array()", "array(1, null)"),
    "attrs": ("null", "map(1, 2)", "map(1, null, 2, 3)"),
    "info": ("null", "named_struct('a', 1, 'b', null)"),
}
_CHANGES = ("note = concat(coalesce(note, ''), '+')", "price = -0.0D", "price = double('NaN')",
            "amount = amount + 0.01", "raw = null, note = null")
_NESTED_CHANGES = ("attrs = map('k', 7)", "tags = array('n', null)",
                   "info = named_struct('a', 1, 'b', 'x')")


@dataclass(frozen=True)
class Kind:
    """How a table is kept. `partition`: none, by a column, by a bucket, or changed half-way.

    `nested` False: only columns of single values, which are read another way.
    """

    version: int
    mode: str
    partition: str = "none"
    format: str = "parquet"
    nested: bool = True

    def __str__(self) -> str:
        depth = "nested" if self.nested else "flat"
        return f"v{self.version}-{self.mode}-{self.partition}-{self.format}-{depth}"

    @property
    def columns(self) -> dict[str, str]:
        return {**_COLUMNS, **(_NESTED if self.nested else {})}


@dataclass
class History:
    """One table on its way. The same seed gives the same statements."""

    warehouse: Warehouse
    kind: Kind
    seed: int
    identifier: str = field(init=False)
    random: random.Random = field(init=False)
    statements: list[str] = field(default_factory=list)
    extra_columns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.identifier = f"d.t{uuid.uuid4().hex[:8]}"
        modes = {f"write.{k}.mode": self.kind.mode for k in ("delete", "update", "merge")}
        properties = {"format-version": str(self.kind.version),
                      "write.format.default": self.kind.format, **modes}
        listed = ", ".join(f"'{k}'='{v}'" for k, v in properties.items())
        spec = {"region": "PARTITIONED BY (region)", "changed": "PARTITIONED BY (region)",
                "bucket": "PARTITIONED BY (bucket(3, id))"}.get(self.kind.partition, "")
        self.warehouse.sql("CREATE NAMESPACE IF NOT EXISTS {c}.d")
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.kind.columns.items())
        self.run(f"CREATE TABLE {{t}} ({columns}) USING iceberg {spec} TBLPROPERTIES ({listed})")

    def run(self, statement: str) -> None:
        if self.kind.format == "orc":
            # Java's ORC reader gives 0.0 for a -0.0 behind a 0.0, and it is what we compare with
            statement = statement.replace("-0.0D", "2.5D")
        self.statements.append(statement)
        self.warehouse.sql(statement.replace("{t}", f"{{c}}.{self.identifier}"))

    def step(self) -> None:
        """One more change, whatever it is."""
        steps = self.steps()
        weights = [weight for weight, _ in steps]
        self.random.choices([one for _, one in steps], weights)[0]()

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        """What may happen, and how often."""
        steps = [
            (4, self.insert), (4, self.update), (3, self.delete), (4, self.merge),
            (2, self.move), (1, self.nothing), (1, self.overwrite), (2, self.compact),
            (1, self.evolve), (1, self.insert_again)]
        if self.kind.version >= 2:
            steps.append((4, self.upsert_by_equality))
        if self.kind.version == 2 and self.kind.mode == "merge-on-read":
            steps.append((1, self.compact_deletes))
        return steps

    def insert(self) -> None:
        known = {row["id"] for row in self.warehouse.rows(self.identifier)}
        new = [i for i in self.ids() if i not in known]
        if new:
            self.run(f"INSERT INTO {{t}} ({self.names()}) VALUES {self.values(new)}")

    def insert_doubles(self) -> None:
        """Keys that some rows share: in one file, in several, some deleted. Never again the table
        for which one event a key and snapshot tells all."""
        for _ in range(2):
            ids = [*range(0, KEYS, 3), *range(0, KEYS, 5), 1, 1]
            self.run(f"INSERT INTO {{t}} ({self.names()}) VALUES {self.values(ids)}")
        self.run(f"DELETE FROM {{t}} WHERE {self.some()}")

    def insert_again(self) -> None:
        """The table emptied and filled: equal rows come back."""
        self.run("TRUNCATE TABLE {t}" if self.random.random() < 0.3
                 else "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id % 2 = 0")

    def update(self) -> None:
        change = self.random.choice((*_CHANGES, *(_NESTED_CHANGES if self.kind.nested else ())))
        self.run(f"UPDATE {{t}} SET {change} WHERE {self.some()}")

    def nothing(self) -> None:
        self.run(f"UPDATE {{t}} SET note = note WHERE {self.some()}")

    def move(self) -> None:
        self.run(f"UPDATE {{t}} SET region = '{self.random.choice(REGIONS)}' WHERE {self.some()}")

    def delete(self) -> None:
        self.run(f"DELETE FROM {{t}} WHERE {self.some()}")

    def merge(self) -> None:
        source = (f"(SELECT * FROM VALUES {self.values(self.ids())} AS s({self.names()}))")
        self.run(f"MERGE INTO {{t}} t USING {source} s ON t.id = s.id "
                 f"WHEN MATCHED AND s.id % 3 = 0 THEN DELETE "
                 f"WHEN MATCHED THEN UPDATE SET t.note = s.note, t.price = s.price "
                 f"WHEN NOT MATCHED THEN INSERT ({self.names()}) VALUES "
                 f"({', '.join('s.' + n.strip() for n in self.names().split(','))})")

    def overwrite(self) -> None:
        region = self.random.choice(REGIONS)
        self.run(f"DELETE FROM {{t}} WHERE region = '{region}'")

    def compact(self) -> None:
        self.run("CALL {c}.system.rewrite_data_files(table => '" + self.identifier
                 + "', options => map('rewrite-all', 'true'))")

    def compact_deletes(self) -> None:
        self.run("CALL {c}.system.rewrite_position_delete_files(table => '" + self.identifier
                 + "', options => map('rewrite-all', 'true'))")

    def evolve(self) -> None:
        if self.extra_columns and self.random.random() < 0.4:
            self.run(f"ALTER TABLE {{t}} DROP COLUMN {self.extra_columns.pop()}")
            return
        name = f"extra{self.random.randrange(3)}"
        if name in self.extra_columns:
            self.run("ALTER TABLE {t} ALTER COLUMN note AFTER id")
        else:
            self.extra_columns.append(name)
            self.run(f"ALTER TABLE {{t}} ADD COLUMN {name} INT")

    def change_spec(self) -> None:
        self.run("ALTER TABLE {t} DROP PARTITION FIELD region")
        self.run("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")

    def upsert_by_equality(self) -> None:
        """As a streaming writer does it: delete keys unseen, all over the table."""
        if self.kind.partition != "none":
            return
        keys = self.ids()
        table = self.warehouse.table(self.identifier)
        path = f"{table.location}/data/eq-{uuid.uuid4().hex}.parquet"
        field_ = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
        local = Path(urlparse(path).path)
        local.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table([pa.array(keys)], pa.schema([field_])), local)
        content = {"content": "equality-deletes", "spec-id": 0, "partition": [],
                   "file-path": path, "file-format": "parquet",
                   "file-size-in-bytes": local.stat().st_size, "record-count": len(keys),
                   "equality-ids": [1], "sort-order-id": 0}
        jvm = table.jvm
        parsed = jvm.iceberg.ContentFileParser.fromJson(
            jvm.json_tree(json.dumps(content)), table.java.specs())
        table.java.newRowDelta().addDeletes(parsed).commit()
        self.statements.append(f"equality delete of {keys}")

    def ids(self) -> list[int]:
        return sorted(self.random.sample(range(KEYS), self.random.randrange(1, 8)))

    def some(self) -> str:
        low = self.random.randrange(KEYS)
        return self.random.choice((f"id = {low}", f"id BETWEEN {low} AND {low + 5}",
                                   f"id % 5 = {low % 5}"))

    def names(self) -> str:
        return ", ".join(self.kind.columns)

    def values(self, ids: list[int]) -> str:
        return ", ".join(self.row(i) for i in ids)

    def row(self, key: int) -> str:
        values = [f"{key}L"]
        for name, type_ in self.kind.columns.items():
            if name != "id":
                values.append(f"CAST({self.random.choice(_VALUES[name])} AS {type_})")
        return f"({', '.join(values)})"
