"""Events to rows of a table. One bad event never fails the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema

from meltline.expressions.quoting import quote_literal
from meltline.kernels.arrow_schema import arrow_schema
from meltline.kernels.retype import retype_table
from meltline.kernels.spelling import AS_IN_THE_TABLE, Spellings
from meltline.kernels.ways import Reading, json_exact, json_fast, typed_way
from meltline.model.event import Shape

NO_MATCH = "no field of the event matches a column of the table"
REJECTS = pa.schema([("ord", pa.int64()), ("reason", pa.string())])


@dataclass(frozen=True)
class Converted:
    """`rows` in the table's Arrow schema; `rejects` (ord, reason) for the events that are not.

    `carried` holds, row by row, the columns of the events that the converter was told to carry.
    """

    rows: pa.Table
    rejects: pa.Table
    carried: pa.Table | None = None


class Converter:
    """Compiled once per table schema and event shape, then used for every chunk."""

    def __init__(
        self, schema: Schema, shape: Shape, allows: Callable[[str], bool] = lambda _: True,
        carry: Sequence[str] = (), identifiers: Sequence[str] = (),
        spell: Spellings = AS_IN_THE_TABLE,
    ) -> None:
        """`allows` says which fields of an event count; the others are as if they were absent.

        `identifiers` are columns that must have a value, whether the table requires it or not."""
        self._fields = list(schema.fields)
        self._carry = list(carry)
        self._needed = {i: "identifier" if field.name in identifiers else "required"
                        for i, field in enumerate(self._fields)
                        if field.required or field.name in identifiers}
        reading = Reading(allows, spell, frozenset(identifiers))
        self.arrow_schema = arrow_schema(schema)
        if shape.kind == "json":
            self._fast = json_fast(self._fields, reading)
            self._exact = json_exact(self._fields, reading)
        else:
            self._fast = self._exact = typed_way(self._fields, shape, reading)

    def convert(self, connection: duckdb.DuckDBPyConnection, events: str) -> Converted:
        """`events` names a relation of decoded events (none of them bad)."""
        fast = connection.sql(self.fast_sql(events)).to_arrow_table()
        flags = fast.column("flag")
        if not pc.any(flags).as_py():
            return Converted(self._rows(fast), REJECTS.empty_table(), fast.select(self._carry))
        doubted = pc.unique(fast.filter(flags).column("ord"))
        connection.register("doubtful", pa.table({"ord": doubted}))
        doubtful = f"(SELECT * FROM {events} WHERE ord IN (SELECT ord FROM doubtful))"
        decided = connection.sql(self.exact_sql(doubtful)).to_arrow_table()
        connection.unregister("doubtful")
        good = decided.filter(pc.is_null(decided.column("reason")))
        bad = decided.filter(pc.is_valid(decided.column("reason")))
        # by `ord`, not by flag: a processor may have made several rows of one event
        sure = fast.filter(pc.invert(pc.is_in(fast.column("ord"), value_set=doubted)))
        rows = pa.concat_tables([self._rows(sure), self._rows(good)])
        carried = pa.concat_tables([part.select(self._carry) for part in (sure, good)])
        return Converted(rows, bad.select(["ord", "reason"]).cast(REJECTS), carried)

    def nothing(self) -> Converted:
        return Converted(self.arrow_schema.empty_table(), REJECTS.empty_table())

    @property
    def _kept(self) -> str:
        return ", ".join(["ord", *self._carry])

    def fast_sql(self, events: str) -> str:
        columns = self._fast.columns
        values = ", ".join(f"{c.value} AS c{i}" for i, c in enumerate(columns))
        doubts = [*(c.doubt for c in columns), self._fast.empty]
        doubt = " OR ".join(f"({doubt})" for doubt in doubts if doubt) or "false"
        inner = (f"SELECT {self._kept}, {values}, {doubt} AS doubt "
                 f"FROM (SELECT {self._kept}, {self._fast.extract} FROM {events})")
        return (f"SELECT *, coalesce(doubt, false) OR {self._incomplete()} AS flag "
                f"FROM ({inner})")

    def exact_sql(self, events: str) -> str:
        values = ", ".join(f"{c.value} AS c{i}" for i, c in enumerate(self._exact.columns))
        raws = "".join(f"{self._exact.raws[i]} AS r{i}, " for i in self._needed)
        inner = (f"SELECT {self._kept}, {values}, {raws}{self._exact.matches} AS matches "
                 f"FROM (SELECT *, {self._exact.extract} FROM {events})")
        return f"SELECT *, {self._reason()} AS reason FROM ({inner})"

    def _incomplete(self) -> str:
        """Rows that lack a required column, or have no column at all: the exact way says why."""
        if self._needed:
            return "(" + " OR ".join(f"c{i} IS NULL" for i in self._needed) + ")"
        return "(" + " AND ".join(f"c{i} IS NULL" for i in range(len(self._fields))) + ")"

    def _reason(self) -> str:
        cases = [f"WHEN NOT matches THEN {quote_literal(NO_MATCH)}"]
        for i, word in self._needed.items():
            field = self._fields[i]
            missing = quote_literal(f'{word} column "{field.name}" is missing or null')
            wrong = quote_literal(f'{word} column "{field.name}" ({field.field_type}) cannot take ')
            cases.append(f"WHEN c{i} IS NULL AND r{i} IS NULL THEN {missing}")
            cases.append(f"WHEN c{i} IS NULL THEN {wrong} || left(r{i}, 100)")
        return "CASE " + " ".join(cases) + " END"

    def _rows(self, table: pa.Table) -> pa.Table:
        columns = [table.column(f"c{i}") for i in range(len(self._fields))]
        return retype_table(columns, self.arrow_schema)
