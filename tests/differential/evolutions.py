"""Random histories of a table whose columns and partition spec keep changing."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.warehouse import Warehouse

KEYS = 12
_NAMES = ("a", "b", "c", "d", "e")
_INNER = ("p", "q", "r")
_TYPES = ("INT", "FLOAT", "DECIMAL(9,2)", "STRING", "DATE")
_WIDER = {"INT": "BIGINT", "FLOAT": "DOUBLE", "DECIMAL(9,2)": "DECIMAL(12,2)"}
_VALUES = {
    "INT": ("null", "1", "-2147483648"), "BIGINT": ("null", "2", "9223372036854775807"),
    "FLOAT": ("null", "1.5", "'NaN'"), "DOUBLE": ("null", "2.25", "-0.0D"),
    "DECIMAL(9,2)": ("null", "1.50"), "DECIMAL(12,2)": ("null", "9999999999.99"),
    "STRING": ("null", "'x'", "'yy'", "''"), "DATE": ("null", "DATE '2024-02-29'")}
Fields = dict[str, str]


@dataclass
class Evolving:
    """One table on its way. The same seed gives the same statements.

    `fields` are the columns of single values, `nests` the fields of the structs inside of a
    struct `s`, a list `l` and a map `m`, whatever those columns are called by now."""

    warehouse: Warehouse
    identifier: str
    seed: int
    version: int
    mode: str
    random: random.Random = field(init=False)
    statements: list[str] = field(default_factory=list)
    key: str = "id"
    fields: Fields = field(default_factory=lambda: {"a": "INT", "b": "STRING", "c": "FLOAT"})
    nests: dict[str, Fields] = field(default_factory=lambda: {
        kind: {"p": "INT", "q": "STRING"} for kind in "slm"})
    names: dict[str, str] = field(default_factory=lambda: {kind: kind for kind in "slm"})

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        modes = {f"write.{kind}.mode": self.mode for kind in ("delete", "update", "merge")}
        listed = ", ".join(f"'{key}'='{value}'" for key, value in {
            "format-version": str(self.version), **modes}.items())
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.columns().items())
        by = self.random.choice(("", "PARTITIONED BY (b)", "PARTITIONED BY (bucket(2, id))"))
        self.run(f"CREATE TABLE {{t}} (id BIGINT NOT NULL, {columns}) USING iceberg {by} "
                 f"TBLPROPERTIES ({listed})")
        self.insert()

    def run(self, statement: str) -> None:
        self.statements.append(statement)
        self.warehouse.sql(statement.replace("{t}", f"{{c}}.{self.identifier}"))

    def columns(self) -> Fields:
        return {**self.fields, **{self.names[kind]: _type(kind, inner)
                                  for kind, inner in self.nests.items()}}

    def step(self) -> None:
        """A few changes of the table, or of its rows."""
        if self.random.random() < 0.45:
            for _ in range(self.random.randrange(1, 4)):
                self.random.choice((
                    self.rename, self.rename, self.swap, self.drop, self.drop, self.add, self.add,
                    self.widen, self.move, self.inner, self.inner, self.inner, self.respec,
                    self.respec))()
        else:
            self.random.choice((self.insert, self.update, self.update, self.delete, self.merge,
                                self.compact))()

    def insert(self) -> None:
        known = {row[self.key] for row in self.warehouse.rows(self.identifier)}
        new = [key for key in self.ids() if key not in known]
        if new:
            names = ", ".join((self.key, *self.columns()))
            self.run(f"INSERT INTO {{t}} ({names}) VALUES {', '.join(map(self.row, new))}")

    def insert_one(self) -> None:
        """A row whose key is new whatever came before."""
        names = ", ".join((self.key, *self.columns()))
        self.run(f"INSERT INTO {{t}} ({names}) VALUES {self.row(KEYS)}")

    def update(self) -> None:
        name, type_ = self.random.choice(sorted(self.columns().items()))
        self.run(f"UPDATE {{t}} SET {name} = {self.value(name, type_)} WHERE {self.some()}")

    def delete(self) -> None:
        self.run(f"DELETE FROM {{t}} WHERE {self.some()}")

    def merge(self) -> None:
        names = (self.key, *self.columns())
        rows = ", ".join(map(self.row, self.ids()))
        sets = ", ".join(f"t.{name} = s.{name}" for name in names)
        self.run(f"MERGE INTO {{t}} t USING (SELECT * FROM VALUES {rows} AS s({', '.join(names)})) "
                 f"s ON t.{self.key} = s.{self.key} WHEN MATCHED AND s.{self.key} % 3 = 0 THEN "
                 f"DELETE WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT *")

    def compact(self) -> None:
        self.run(f"CALL {{c}}.system.rewrite_data_files(table => '{self.identifier}', "
                 f"options => map('rewrite-all', 'true'))")

    def alter(self, change: str) -> bool:
        """False for what Iceberg does not allow, such as a name that a partition has."""
        try:
            self.run(f"ALTER TABLE {{t}} {change}")
        except (PySparkException, Py4JJavaError):
            self.statements[-1] += " -- refused"
            return False
        return True

    def rename(self) -> None:
        new = self.free()
        if new is None or self.random.random() < 0.15:
            kind = self.random.choice("slmk")
            old = self.key if kind == "k" else self.names[kind]
            new = f"{kind}{len(self.statements)}"
            if self.alter(f"RENAME COLUMN {old} TO {new}"):
                self.names |= {} if kind == "k" else {kind: new}
                self.key = new if kind == "k" else self.key
            return
        old = self.random.choice(sorted(self.fields))
        if self.alter(f"RENAME COLUMN {old} TO {new}"):
            self.fields[new] = self.fields.pop(old)

    def swap(self) -> None:
        if len(self.fields) > 1:
            one, other = self.random.sample(sorted(self.fields), 2)
            ways = [(one, "spare"), (other, one), ("spare", other)]
            for number, (old, new) in enumerate(ways):
                if not self.alter(f"RENAME COLUMN {old} TO {new}"):
                    for back, was in reversed(ways[:number]):
                        self.alter(f"RENAME COLUMN {was} TO {back}")
                    return
            self.fields[one], self.fields[other] = self.fields[other], self.fields[one]

    def drop(self) -> None:
        name = self.random.choice(sorted(self.fields))
        if len(self.fields) > 1 and name not in self.cut() and self.alter(f"DROP COLUMN {name}"):
            del self.fields[name]
            if self.random.random() < 0.4:
                self.add(name)

    def add(self, name: str | None = None) -> None:
        name = name or self.free()
        type_ = self.random.choice(_TYPES)
        place = self.random.choice(("", " FIRST", f" AFTER {self.key}"))
        if name is not None and self.alter(f"ADD COLUMN {name} {type_}{place}"):
            self.fields[name] = type_

    def widen(self) -> None:
        able = sorted(name for name, type_ in self.fields.items() if type_ in _WIDER)
        if able:
            name = self.random.choice(able)
            wider = _WIDER[self.fields[name]]
            if self.alter(f"ALTER COLUMN {name} TYPE {wider}"):
                self.fields[name] = wider

    def move(self) -> None:
        name = self.random.choice(sorted(self.columns()))
        self.alter(f"ALTER COLUMN {name} {self.random.choice(('FIRST', f'AFTER {self.key}'))}")

    def inner(self) -> None:
        """A change inside of a struct, of the elements of a list, or of the values of a map."""
        kind = self.random.choice("slm")
        fields = self.nests[kind]
        path = self.names[kind] + {"s": "", "l": ".element", "m": ".value"}[kind]
        name, free = self.random.choice(sorted(fields)), sorted(set(_INNER) - set(fields))
        way = self.random.choice(("rename", "drop", "add", "widen"))
        if way == "rename" and free and self.alter(f"RENAME COLUMN {path}.{name} TO {free[0]}"):
            self.nests[kind] = {free[0] if one == name else one: type_
                                for one, type_ in fields.items()}
        elif way == "drop" and len(fields) > 1 and self.alter(f"DROP COLUMN {path}.{name}"):
            del fields[name]
        elif way == "add" and free and self.alter(f"ADD COLUMN {path}.{free[-1]} INT"):
            fields[free[-1]] = "INT"
        elif way == "widen" and fields[name] == "INT" and self.alter(
                f"ALTER COLUMN {path}.{name} TYPE BIGINT"):
            fields[name] = "BIGINT"

    def respec(self) -> None:
        spec = self.warehouse.table(self.identifier).target().spec
        if spec.fields and self.random.random() < 0.6:
            self.alter(f"DROP PARTITION FIELD {self.random.choice(spec.fields).name}")
            return
        name, type_ = self.random.choice(sorted(self.fields.items()))
        way = {"STRING": f"truncate(1, {name})", "DATE": f"months({name})",
               "INT": name}.get(type_, f"bucket(3, {self.key})")
        self.alter(f"ADD PARTITION FIELD {way}")

    def cut(self) -> set[str]:
        """Columns of the current partition spec: they cannot be dropped."""
        target = self.warehouse.table(self.identifier).target()
        return {str(target.schema.find_column_name(one.source_id)) for one in target.spec.fields}

    def free(self) -> str | None:
        free = sorted(set(_NAMES) - set(self.fields))
        return self.random.choice(free) if free else None

    def ids(self) -> list[int]:
        return sorted(self.random.sample(range(KEYS), self.random.randrange(1, 6)))

    def some(self) -> str:
        low = self.random.randrange(KEYS)
        return self.random.choice((f"{self.key} = {low}", f"{self.key} % 3 = {low % 3}",
                                   f"{self.key} BETWEEN {low} AND {low + 3}"))

    def row(self, key: int) -> str:
        values = [self.value(name, type_) for name, type_ in self.columns().items()]
        return f"({', '.join((f'{key}L', *values))})"

    def value(self, name: str, type_: str) -> str:
        kind = next((kind for kind, now in self.names.items() if now == name), None)
        if kind is None or self.random.random() < 0.2:
            made = "null" if kind else self.random.choice(_VALUES[type_])
            return f"CAST({made} AS {type_})"
        inner = ", ".join(f"'{one}', {self.value('', inner)}"
                          for one, inner in self.nests[kind].items())
        struct = f"named_struct({inner})"
        return {"s": struct, "l": f"array({struct})", "m": f"map('k', {struct})"}[kind]


def _type(kind: str, inner: Fields) -> str:
    struct = f"STRUCT<{', '.join(f'{name}: {type_}' for name, type_ in inner.items())}>"
    return {"s": struct, "l": f"ARRAY<{struct}>", "m": f"MAP<STRING, {struct}>"}[kind]


