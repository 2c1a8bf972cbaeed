"""The Iceberg sink inside a worker: events to Parquet files of one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from meltline.engine.report import SinkReport
from meltline.engine.work import TaskPlace
from meltline.expressions.quoting import quote_literal
from meltline.kernels.convert import NO_MATCH, REJECTS, Converted, Converter
from meltline.kernels.infer import NULL, Guess, merge
from meltline.kernels.spelling import Spellings
from meltline.kernels.write import TableWriter, WriteLimits
from meltline.model.event import Shape
from meltline.model.target import TableTarget
from meltline.sinks.iceberg.changes import ChangeSettings, ChangeWriter
from meltline.sinks.iceberg.fields import FieldWatch, KeyFilter, guess_fields
from meltline.sinks.iceberg.keyed import OpenKeyed
from meltline.sinks.iceberg.reports import file_reports, path_prefix


@dataclass(frozen=True)
class IcebergWriter:
    """Picklable. `target` None: only look at the events and guess the table's schema.

    `changes` None: every event is one more row.
    """

    target: TableTarget | None
    batch_id: str
    evolve: bool = False
    keys: KeyFilter = field(default_factory=KeyFilter)
    limits: WriteLimits = field(default_factory=WriteLimits)
    changes: ChangeSettings | None = None
    large_chunks: bool = False

    @property
    def keyed(self) -> bool:
        return self.changes is not None

    def open(self, place: TaskPlace) -> OpenIceberg | OpenKeyed | OpenGuess:
        if self.target is None:
            return OpenGuess(self.keys)
        if self.changes is not None:
            watch = FieldWatch(self.target.schema, self.keys, self.evolve,
                               self.changes.identifiers)
            return OpenKeyed(self._change_writer(place), watch, self.keys)
        return OpenIceberg(self, self.target, place)

    def gather(self, place: TaskPlace, parts: Iterable[bytes]) -> SinkReport:
        return self._change_writer(place).gather(parts)

    def _change_writer(self, place: TaskPlace) -> ChangeWriter:
        if self.target is None or self.changes is None:
            raise TypeError("this sink only adds rows, or has no table yet")
        return ChangeWriter(self.changes, self.target, place, self.batch_id, self.limits)


class OpenIceberg:
    """See engine.work.OpenSink. Only adds rows."""

    def __init__(self, settings: IcebergWriter, target: TableTarget, place: TaskPlace) -> None:
        self._settings = settings
        self._target = target
        self._place = place
        self.writer = TableWriter(target, path_prefix(target, place), settings.limits)
        self._watch = FieldWatch(target.schema, settings.keys, settings.evolve)
        self._converters: dict[str, Converter] = {}
        self._rows = 0

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Converted:
        spell = self._settings.keys.spellings(connection, events, shape, self._target.schema)
        converter = self._converter(shape, spell)
        if self._watch.found(connection, events, shape):
            return converter.nothing()
        return converter.convert(connection, events)

    def add(self, converted: Converted) -> None:
        self._rows += converted.rows.num_rows
        self.writer.add(converted.rows)

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002
        return iter(())

    def finish(self) -> SinkReport:
        files = file_reports(self._target, self._place, self._settings.batch_id,
                             self.writer.finish())
        return SinkReport(self._rows, files=files, guess=self._watch.guess)

    def abandon(self) -> None:
        self.writer.abandon()

    def _converter(self, shape: Shape, spell: Spellings) -> Converter:
        key = repr((shape, spell))
        if key not in self._converters:
            self._converters[key] = Converter(self._target.schema, shape,
                                              self._settings.keys.allows, spell=spell)
        return self._converters[key]


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
        guess = guess_fields(connection, events, shape, self._keys)
        if guess == NULL:
            refused = f"SELECT ord, {quote_literal(NO_MATCH)} AS reason FROM {events}"
            return Nothing(connection.sql(refused).to_arrow_table().cast(REJECTS))
        self._guess = merge(self._guess, guess)
        return Nothing(REJECTS.empty_table())

    def add(self, converted: Nothing) -> None:
        pass

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002
        return iter(())

    def finish(self) -> SinkReport:
        return SinkReport(guess=None if self._guess == NULL else self._guess)

    def abandon(self) -> None:
        pass
