"""Events to inserts, updates and deletes of one table, inside a worker.

A change of a key may meet changes of the same key in other tasks: unless the epoch is one small
task, changes travel by key to the task that collapses them (`drain`, then `ChangeWriter.gather`).
What is written is the same either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meltline.engine.report import SinkReport
from meltline.expressions import compile_format
from meltline.kernels.collapse import OP
from meltline.kernels.connection import connect
from meltline.kernels.convert import REJECTS, Converted, Converter
from meltline.kernels.operation import DELETE, INSERT, operation_sql, unknown_sql
from meltline.kernels.scatter import pack, scatter
from meltline.kernels.spelling import Spellings
from meltline.model.event import ORD, Shape
from meltline.sinks.iceberg.changes import ChangeWriter, change_schema, key_schema
from meltline.sinks.iceberg.fields import FieldWatch, KeyFilter

SCATTERED_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Changes:
    """`rows` in the form of `change_schema`, in the source's order."""

    rows: pa.Table
    rejects: pa.Table


@dataclass(frozen=True)
class _Way:
    """Compiled for one shape: whole rows, keys alone, and the SQL of the operation's word."""

    rows: Converter
    keys: Converter
    word: str | None


class OpenKeyed:
    """See engine.work.OpenSink."""

    def __init__(self, writer: ChangeWriter, watch: FieldWatch, keys: KeyFilter) -> None:
        self._writer = writer
        self._watch = watch
        self._keys = keys
        self._ways: dict[str, _Way] = {}
        self._held: list[pa.Table] = []
        self._packed = 0

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Changes:
        way = self._way(shape, self._keys.spellings(connection, events, shape,
                                                    self._writer.target.schema))
        connection.register("marked", _marked(connection, events, way.word))
        try:
            if self._watch.found(connection, "marked", shape, _where(f"op <> {DELETE}")):
                return Changes(self._schema.empty_table(), REJECTS.empty_table())
            return self._changes(connection, way)
        finally:
            connection.unregister("marked")

    def _changes(self, connection: duckdb.DuckDBPyConnection, way: _Way) -> Changes:
        if way.word is None:
            parts = [way.rows.convert(connection, "marked")]
            return Changes(self._ordered(parts), parts[0].rejects)
        parts = [way.rows.convert(connection, _where(f"op <> {DELETE}")),
                 way.keys.convert(connection, _where(f"op = {DELETE}"))]
        unknown = connection.sql(f"SELECT ord, {unknown_sql('word')} AS reason "
                                 f"FROM marked WHERE op IS NULL").to_arrow_table().cast(REJECTS)
        return Changes(self._ordered(parts),
                       pa.concat_tables([*(part.rejects for part in parts), unknown]))

    def add(self, converted: Changes) -> None:
        if converted.rows.num_rows:
            self._held.append(converted.rows)

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:
        place = self._writer.place
        waiting = sum(rows.num_rows for rows in self._held)
        if not place.buckets or not waiting or (waiting < SCATTERED_AT_ONCE and not last):
            return
        rows, self._held = pa.concat_tables(self._held), []
        with connect() as connection:
            for bucket, part in scatter(connection, rows, self._writer.settings.identifiers,
                                        place.buckets):
                notes = {"shard": str(place.shard), "number": str(self._packed)}
                yield bucket, pack(part, notes)
                self._packed += 1

    def finish(self) -> SinkReport:
        return replace(self._writer.write(self._held), guess=self._watch.guess)

    def abandon(self) -> None:
        self._held = []

    @cached_property
    def _schema(self) -> pa.Schema:
        return change_schema(self._writer.target.schema)

    def _ordered(self, parts: Sequence[Converted]) -> pa.Table:
        rows = pa.concat_tables([self._padded(part) for part in parts])
        numbers = pa.chunked_array([chunk for part in parts if part.carried is not None
                                    for chunk in part.carried.column("n").chunks], pa.int64())
        if bool(pc.all(pc.equal(pc.sort_indices(numbers), np.arange(len(numbers)))).as_py()):
            return rows
        return rows.take(pc.sort_indices(numbers))

    def _padded(self, part: Converted) -> pa.Table:
        """Rows of every column; a key alone has nulls in the others."""
        names, count = part.rows.schema.names, part.rows.num_rows
        op = part.carried.column("op") if part.carried is not None else pa.nulls(count, pa.int8())
        columns = [op if f.name == OP else
                   part.rows.column(f.name) if f.name in names else pa.nulls(count, f.type)
                   for f in self._schema]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _way(self, shape: Shape, spell: Spellings) -> _Way:
        key = repr((shape, spell))
        if key not in self._ways:
            settings, schema = self._writer.settings, self._writer.target.schema
            names, allows = settings.identifiers, self._keys.allows
            carry = ("op", "n")
            self._ways[key] = _Way(
                Converter(schema, shape, allows, carry, names, spell),
                Converter(key_schema(schema, names), shape, allows, carry, names, spell),
                None if settings.operation is None else compile_format(settings.operation, shape))
        return self._ways[key]


def _marked(connection: duckdb.DuckDBPyConnection, events: str, word: str | None) -> pa.Table:
    """The events with `word` and `op`, and `n`, their order: one event may be several rows."""
    columns = (f"{word} AS word, {operation_sql('word')} AS op" if word is not None
               else f"{INSERT}::TINYINT AS op")
    marked = connection.sql(f"SELECT *, {columns} FROM {events}").to_arrow_table()
    places = marked.column(ORD).to_numpy()
    if np.any(places[1:] < places[:-1]):
        # a join gives up the order of its input, and DuckDB makes one of every long IN: of the
        # words of the operation as of a set in the pipeline's own expressions
        marked = marked.take(pc.sort_indices(marked.column(ORD)))
    return marked.append_column("n", pa.array(np.arange(marked.num_rows, dtype=np.int64)))


def _where(condition: str) -> str:
    return f"(SELECT * FROM marked WHERE {condition})"
