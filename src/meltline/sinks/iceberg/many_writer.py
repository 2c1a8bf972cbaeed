"""Events to the tables that they name themselves, inside a worker, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import duckdb
import numpy as np
import pyarrow as pa

from meltline.engine.report import SinkReport
from meltline.engine.work import OpenSink, TaskPlace
from meltline.expressions import compile_format
from meltline.kernels.convert import REJECTS
from meltline.kernels.write import WriteLimits
from meltline.model.event import Shape
from meltline.sinks.iceberg.fields import KeyFilter
from meltline.sinks.iceberg.writer import IcebergWriter, OpenGuess, OpenIceberg

_TARGET = "target"
_END_OF_NAME = b"\0"
UNKNOWN = "string"
"""The guess for a table that the driver must look for; nothing can be made of it."""


@dataclass(frozen=True)
class ManyWriter:
    """Picklable. `name` is a format string. `tables` are those that exist, as far as the driver
    knows; `refused` maps the names that no event may go to to the reason."""

    name: str
    lower: bool
    tables: Mapping[str, IcebergWriter]
    refused: Mapping[str, str]
    keyed: bool
    auto_create: bool
    keys: KeyFilter = field(default_factory=KeyFilter)
    limits: WriteLimits = field(default_factory=WriteLimits)
    large_chunks: bool = True

    def open(self, place: TaskPlace) -> OpenMany:
        return OpenMany(self, place)

    def gather(self, place: TaskPlace, parts: Iterable[bytes]) -> SinkReport:
        waiting: dict[str, list[bytes]] = {}
        for part in parts:
            name, _, content = part.partition(_END_OF_NAME)
            waiting.setdefault(name.decode(), []).append(content)
        reports = [self.tables[name].gather(place, contents)
                   for name, contents in sorted(waiting.items())]
        return _joined(reports, None)


@dataclass(frozen=True)
class Sorted:
    """What each table's own sink converted."""

    parts: tuple[tuple[str, Any], ...]
    rejects: pa.Table


class OpenMany:
    """See engine.work.OpenSink. Once a table is wanting, nothing more is written: the driver makes
    or finds it first, and the epoch is written again."""

    def __init__(self, settings: ManyWriter, place: TaskPlace) -> None:
        self._settings = settings
        self._buckets = place.buckets
        # many small tables: a few buckets for each, so that each is written by few tasks
        width = max(place.buckets // max(len(settings.tables), 1), 1)
        self._place = replace(place, buckets=width if place.buckets else 0)
        self._open: dict[str, OpenSink] = {}
        self._wanting: dict[str, OpenGuess | None] = {}

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape
    ) -> Sorted:
        name = compile_format(self._settings.name, shape)
        sql = f"lower({name})" if self._settings.lower else name
        named = connection.sql(f"SELECT *, {sql} AS {_TARGET} FROM {events}").to_arrow_table()
        parts, rejects = [], [REJECTS.empty_table()]
        for target, rows in _by_target(named):
            reason = self._reason(target)
            if target is None or reason is not None:
                rejects.append(_refuse(rows, reason or ""))
            elif (sink := self._sink(target)) is not None:
                connection.register("named", rows)
                converted = sink.convert(connection, "named", shape)
                connection.unregister("named")
                rejects.append(converted.rejects)
                parts.append((target, converted))
        return Sorted(tuple(parts), pa.concat_tables(rejects))

    def add(self, converted: Sorted) -> None:
        for name, part in converted.parts:
            if name in self._open and not self._wanting:
                sink = self._open[name]
                sink.add(part)
                if isinstance(sink, OpenIceberg) and sink.writer.open_files:
                    # before the next table opens its files: a chunk may hold events of them all
                    self._make_room()
        self._make_room()

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:
        for name, sink in self._open.items():
            first = crc32(name.encode())
            for bucket, content in sink.drain(last):
                yield (first + bucket) % self._buckets, name.encode() + _END_OF_NAME + content

    def finish(self) -> SinkReport:
        fields = {name: UNKNOWN if guessing is None else guessing.finish().guess or UNKNOWN
                  for name, guessing in self._wanting.items()}
        reports = {name: sink.finish() for name, sink in self._open.items()}
        fields |= {name: report.guess for name, report in reports.items() if report.guess}
        return _joined(list(reports.values()), {"struct": fields} if fields else None)

    def abandon(self) -> None:
        for sink in self._open.values():
            sink.abandon()

    def _reason(self, target: str | None) -> str | None:
        if target is None or len(levels := target.split(".")) < 2 or not all(levels):
            return f'the event names no table: "{target or ""}" is not namespace.table'
        return self._settings.refused.get(target)

    def _sink(self, target: str) -> OpenSink | None:
        """What converts the table's events; None when that would be for nothing."""
        if target not in self._settings.tables:
            guessing = OpenGuess(self._settings.keys) if self._settings.auto_create else None
            return self._wanting.setdefault(target, guessing)
        if self._wanting:
            return None
        if target not in self._open:
            self._open[target] = self._settings.tables[target].open(self._place)
        return self._open[target]

    def _make_room(self) -> None:
        """All tables together keep within the limits of one: the largest, or the one that was idle
        longest, closes its files and begins new ones when it must."""
        limits = self._settings.limits
        writing = {name: sink.writer for name, sink in self._open.items()
                   if isinstance(sink, OpenIceberg)}
        while writing and sum(w.buffered for w in writing.values()) > limits.buffered:
            writing.pop(max(writing, key=lambda name: writing[name].buffered)).roll()
        while writing and sum(w.open_files for w in writing.values()) > limits.open_files:
            writing.pop(next(name for name in writing if writing[name].open_files)).roll()


def _by_target(named: pa.Table) -> Iterator[tuple[str | None, pa.Table]]:
    """The events of each table, in their order."""
    codes = named.column(_TARGET).combine_chunks().dictionary_encode(null_encoding="encode")
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    names, rows = codes.dictionary.to_pylist(), named.drop_columns([_TARGET])
    if len(names) == 1:
        yield names[0], rows
        return
    numbers = codes.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    rows = rows.take(pa.array(order))
    ends = np.searchsorted(numbers[order], np.arange(len(names)), side="right").tolist()
    for name, start, end in zip(names, [0, *ends], ends, strict=False):
        yield name, rows.slice(start, end - start)


def _refuse(rows: pa.Table, reason: str) -> pa.Table:
    reasons = pa.array([reason]).take(pa.array([0] * rows.num_rows, pa.int64()))
    return pa.table({"ord": rows.column("ord"), "reason": reasons}).cast(REJECTS)


def _joined(reports: list[SinkReport], guess: Any) -> SinkReport:
    files = () if guess is not None else tuple(f for report in reports for f in report.files)
    return SinkReport(sum(r.rows for r in reports), files=files, guess=guess,
                      deleted=sum(r.deleted for r in reports))
