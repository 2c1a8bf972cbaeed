"""The Iceberg sink inside a worker: events to Parquet files of one table."""

from __future__ import annotations

from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from meltline.engine.report import SinkReport
from meltline.engine.work import TaskPlace
from meltline.expressions.quoting import quote_literal
from meltline.kernels.convert import NO_MATCH, REJECTS, Converted, Converter
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
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.model.event import ROW, Shape
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.reports import file_reports, path_prefix


@dataclass(frozen=True)
class KeyFilter:
    """`include_keys` / `exclude_keys`: which top-level fields of an event count at all."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        return (not self.include or name in self.include) and name not in self.exclude


@dataclass(frozen=True)
class IcebergWriter:
    """Picklable. `target` None: only look at the events and guess the table's schema."""

    target: TableTarget | None
    batch_id: str
    evolve: bool = False
    keys: KeyFilter = field(default_factory=KeyFilter)
    limits: WriteLimits = field(default_factory=WriteLimits)

    def open(self, place: TaskPlace) -> OpenIceberg | OpenGuess:
        if self.target is None:
            return OpenGuess(self.keys)
        return OpenIceberg(self, self.target, place)


class OpenIceberg:
    """See engine.work.OpenSink. Once a field without a column turns up, nothing more is written:
    the table gets the column first and the epoch is written again."""

    def __init__(self, settings: IcebergWriter, target: TableTarget, place: TaskPlace) -> None:
        self._settings = settings
        self._target = target
        self._place = place
        self._writer = TableWriter(target, path_prefix(target, place), settings.limits)
        self._converters: dict[str, Converter] = {}
        self._rows = 0
        self._guess: Guess = NULL

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Converted:
        if self._settings.evolve:
            self._guess = merge(self._guess, self._lacking(connection, events, shape))
        if self._guess != NULL:
            return self._converter(shape).nothing()
        return self._converter(shape).convert(connection, events)

    def add(self, converted: Converted) -> None:
        self._rows += converted.rows.num_rows
        self._writer.add(converted.rows)

    def finish(self) -> SinkReport:
        files = file_reports(self._target, self._place, self._settings.batch_id,
                             self._writer.finish())
        return SinkReport(self._rows, files=files,
                          guess=None if self._guess == NULL else self._guess)

    def abandon(self) -> None:
        self._writer.abandon()

    def _converter(self, shape: Shape) -> Converter:
        key = repr(shape)
        if key not in self._converters:
            self._converters[key] = Converter(self._target.schema, shape,
                                              self._settings.keys.allows)
        return self._converters[key]

    def _lacking(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Guess:
        """The guess for these events when it holds a field that the table lacks, else NULL."""
        schema = self._target.schema
        if shape.kind == "json":
            nested = any(not f.field_type.is_primitive for f in schema.fields)
            known = {f.name for f in schema.fields}
            found = {name for (name,) in connection.sql(keys_sql(events)).fetchall()}
            new = {name for name in found - known if self._settings.keys.allows(name)}
            if not new and not nested:
                return NULL
            if not nested:
                names = ", ".join(quote_literal(name) for name in sorted(new))
                events = (f"(SELECT * FROM {events} "
                          f"WHERE list_has_any(json_keys(body), [{names}]))")
        guess = _guess(connection, events, shape, self._settings.keys)
        return guess if additions(schema, guess) else NULL


@dataclass(frozen=True)
class Nothing:
    rejects: pa.Table


class OpenGuess:
    """Looks at the events of a table that does not exist yet. Writes nothing.

    Once anything is guessed, the epoch is written again, to the new table. Events from which no
    table can be made are refused as that table would refuse them.
    """

    def __init__(self, keys: KeyFilter) -> None:
        self._keys = keys
        self._guess: Guess = NULL

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Nothing:
        guess = _guess(connection, events, shape, self._keys)
        if guess == NULL:
            refused = f"SELECT ord, {quote_literal(NO_MATCH)} AS reason FROM {events}"
            return Nothing(connection.sql(refused).to_arrow_table().cast(REJECTS))
        self._guess = merge(self._guess, guess)
        return Nothing(REJECTS.empty_table())

    def add(self, converted: Nothing) -> None:
        pass

    def finish(self) -> SinkReport:
        return SinkReport(guess=None if self._guess == NULL else self._guess)

    def abandon(self) -> None:
        pass


def _guess(
    connection: duckdb.DuckDBPyConnection, events: str, shape: Shape, keys: KeyFilter
) -> Guess:
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
