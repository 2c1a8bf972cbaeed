"""Which fields of the events count, and which of them have no column in the table yet."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
from pyiceberg.schema import Schema

from meltline.expressions.quoting import quote_literal
from meltline.kernels.extraction import RAW, extract_sql, places
from meltline.kernels.infer import (
    NULL,
    NULLS,
    TYPED,
    Guess,
    additions,
    guess_arrow,
    guess_structures,
    keys_sql,
    merge,
)
from meltline.kernels.spelling import (
    AS_IN_THE_TABLE,
    Spellings,
    fold_guess,
    match_spellings,
    names_inside,
    structs,
)
from meltline.kernels.structures import find_structures
from meltline.kernels.typed import names_of_types
from meltline.kernels.widen import nulls_sql, required_places, widenings
from meltline.model.event import ROW, Shape


@dataclass(frozen=True)
class KeyFilter:
    """`include_keys` / `exclude_keys`: which top-level fields of an event count at all. And
    whether their names match whatever the letter case (`case_insensitive`)."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    any_case: bool = False

    def allows(self, name: str) -> bool:
        name = self.folded(name)
        return ((not self.include or name in map(self.folded, self.include))
                and name not in map(self.folded, self.exclude))

    def folded(self, name: str) -> str:
        return name.lower() if self.any_case else name

    def of_table(self, guess: Guess, schema: Schema | None = None) -> Guess:
        """The guess in the spelling of the table's columns, where these match."""
        if not self.any_case:
            return guess
        return fold_guess(guess, None if schema is None else schema.as_struct())

    def spellings(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape, schema: Schema
    ) -> Spellings:
        """How these events spell the names of the table's fields."""
        if not self.any_case:
            return AS_IN_THE_TABLE
        if shape.kind != "json":
            return match_spellings(schema, shape.fields, names_of_types(shape.fields.values()))
        top = {name for (name,) in connection.sql(keys_sql(events)).fetchall()}
        nested = [f.name for f in schema.fields if any(structs(f.field_type))]
        known = {name.lower() for name in nested}
        spelled = sorted(name for name in top if name.lower() in known)
        inner = (name for part in nested_sql(events, spelled)
                 for text in find_structures(connection, part)
                 for name in names_inside(json.loads(text)))
        return match_spellings(schema, top, inner)


class FieldWatch:
    """Looks for fields without a column. Once one turns up, nothing more needs to be written: the
    table gets the column first and the epoch is written again."""

    def __init__(
        self, schema: Schema, keys: KeyFilter, evolve: bool, identifiers: Collection[str] = ()
    ) -> None:
        """`identifiers` must have values, whatever the source says."""
        self._schema = schema
        fields = (schema.find_column_name(id_) for id_ in schema.identifier_field_ids)
        self._identifiers = {*identifiers, *(name for name in fields if name)}
        self._keys = keys
        self._evolve = evolve
        self._guess: Guess = NULL

    @property
    def guess(self) -> Guess | None:
        """The guess of the events that hold new fields, for the report."""
        return None if self._guess == NULL else self._guess

    def found(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape,
        rows: str | None = None,
    ) -> bool:
        """Whether these events, or any before them, hold a field that the table lacks, or of typed
        events one that does not fit. `rows` are those that become rows, without deletes."""
        if self._evolve:
            self._guess = merge(self._guess, self._lacking(connection, events, shape, rows))
        return self.guess is not None

    def _lacking(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape, rows: str | None
    ) -> Guess:
        schema = self._schema
        if shape.kind == "json":
            nested = any(not f.field_type.is_primitive for f in schema.fields)
            known = {self._keys.folded(f.name) for f in schema.fields}
            found = {name for (name,) in connection.sql(keys_sql(events)).fetchall()}
            new = {name for name in found
                   if self._keys.folded(name) not in known and self._keys.allows(name)}
            if not new and not nested:
                return NULL
            if not nested:
                names = ", ".join(quote_literal(name) for name in sorted(new))
                events = (f"(SELECT * FROM {events} "
                          f"WHERE list_has_any(json_keys(body), [{names}]))")
        guess = guess_fields(connection, events, shape, self._keys)
        guess = self._keys.of_table(guess, schema)
        if shape.kind == "typed" and isinstance(guess, dict):
            guess = {**guess, **self._nulls(connection, rows or events, shape)}
        return guess if additions(schema, guess) or widenings(schema, guess) else NULL

    def _nulls(
        self, connection: duckdb.DuckDBPyConnection, rows: str, shape: Shape
    ) -> Mapping[str, Any]:
        spell = self._keys.spellings(connection, rows, shape, self._schema)
        names = [name for name in shape.fields if self._keys.allows(name)]
        places = required_places(self._schema, names, spell, self._identifiers)
        if not places:
            return {}
        [found] = connection.sql(nulls_sql(rows, places)).fetchall()
        nulls = [path for (path, _), null in zip(places, found, strict=True) if null]
        return {NULLS: nulls} if nulls else {}


def nested_sql(events: str, names: Sequence[str]) -> list[str]:
    """SQL: for each name, the values that events hold under it, as events of their own."""
    found = []
    for name in names:
        [struct] = extract_sql("body", [(name, RAW)])
        [place] = places([name], "j")
        found.append(f"(SELECT ord, '{{\"x\":' || {place}::VARCHAR || '}}' AS body "
                     f"FROM (SELECT ord, {struct} AS j0 FROM {events}) WHERE {place} IS NOT NULL)")
    return found


def guess_fields(
    connection: duckdb.DuckDBPyConnection, events: str, shape: Shape, keys: KeyFilter
) -> Guess:
    """What the events look like, or NULL when no table can be made of them."""
    if shape.kind == "json":
        guess = guess_structures(find_structures(connection, events))
    else:
        types = connection.sql(f"SELECT {ROW} FROM {events} LIMIT 0").to_arrow_table()
        guess = {**guess_arrow(types.schema.field(ROW).type), TYPED: True}
        if not connection.sql(f"SELECT 1 FROM {events} LIMIT 1").fetchall():
            return NULL
    if not isinstance(guess, dict) or "struct" not in guess:
        return NULL
    fields = {name: inner for name, inner in guess["struct"].items() if name and keys.allows(name)}
    return {**guess, "struct": fields} if fields else NULL
