"""Which fields of the events count, and which of them have no column in the table yet."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
from pyiceberg.schema import Schema

from meltline.expressions.quoting import quote_literal
from meltline.kernels.infer import (
    NULL,
    Guess,
    additions,
    guess_arrow,
    guess_structures,
    keys_sql,
    merge,
)
from meltline.kernels.structures import find_structures
from meltline.model.event import ROW, Shape


@dataclass(frozen=True)
class KeyFilter:
    """`include_keys` / `exclude_keys`: which top-level fields of an event count at all."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        return (not self.include or name in self.include) and name not in self.exclude


class FieldWatch:
    """Looks for fields without a column. Once one turns up, nothing more needs to be written: the
    table gets the column first and the epoch is written again."""

    def __init__(self, schema: Schema, keys: KeyFilter, evolve: bool) -> None:
        self._schema = schema
        self._keys = keys
        self._evolve = evolve
        self._guess: Guess = NULL

    @property
    def guess(self) -> Guess | None:
        """The guess of the events that hold new fields, for the report."""
        return None if self._guess == NULL else self._guess

    def found(self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape) -> bool:
        """Whether these events, or any before them, hold a field that the table lacks."""
        if self._evolve:
            self._guess = merge(self._guess, self._lacking(connection, events, shape))
        return self.guess is not None

    def _lacking(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Guess:
        schema = self._schema
        if shape.kind == "json":
            nested = any(not f.field_type.is_primitive for f in schema.fields)
            known = {f.name for f in schema.fields}
            found = {name for (name,) in connection.sql(keys_sql(events)).fetchall()}
            new = {name for name in found - known if self._keys.allows(name)}
            if not new and not nested:
                return NULL
            if not nested:
                names = ", ".join(quote_literal(name) for name in sorted(new))
                events = (f"(SELECT * FROM {events} "
                          f"WHERE list_has_any(json_keys(body), [{names}]))")
        guess = guess_fields(connection, events, shape, self._keys)
        return guess if additions(schema, guess) else NULL


def guess_fields(
    connection: duckdb.DuckDBPyConnection, events: str, shape: Shape, keys: KeyFilter
) -> Guess:
    """What the events look like, or NULL when no table can be made of them."""
    if shape.kind == "json":
        guess = guess_structures(find_structures(connection, events))
    else:
        types = connection.sql(f"SELECT {ROW} FROM {events} LIMIT 0").to_arrow_table()
        guess = guess_arrow(types.schema.field(ROW).type)
        if not connection.sql(f"SELECT 1 FROM {events} LIMIT 1").fetchall():
            return NULL
    if not isinstance(guess, dict) or "struct" not in guess:
        return NULL
    fields = {name: inner for name, inner in guess["struct"].items() if name and keys.allows(name)}
    return {"struct": fields} if fields else NULL
