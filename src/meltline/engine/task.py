"""One task, inside a worker: read a split, process, route, convert, write, report."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.engine.chunks import LARGE_CHUNK, joined
from meltline.engine.exchange import Part
from meltline.engine.flow import Flow
from meltline.engine.letters import make_letters
from meltline.engine.report import SAMPLES, SinkReport, TaskReport
from meltline.engine.work import OpenSink, TaskWork
from meltline.kernels.connection import connect
from meltline.model.event import BAD, Shape


def run_task(work: TaskWork) -> Iterator[tuple[int, Part] | TaskReport]:
    """Yields what goes to the second stage with its bucket, and the task's report at the end.
    Nothing of what it wrote is visible to anybody yet."""
    return _Task(work).run()


def gather_task(work: TaskWork, parts: Iterable[Part]) -> TaskReport:
    """The second stage: write what the first stage handed to one bucket, sink by sink."""
    waiting: list[list[bytes]] = [[] for _ in work.sinks]
    for part in parts:
        waiting[part.sink].append(part.content)
    sinks = [sink.writer.gather(work.place, waiting[i]) if waiting[i] else SinkReport()
             for i, sink in enumerate(work.sinks)]
    return TaskReport(work.place.shard, sinks=tuple(sinks), peak_rss=_peak_rss())


class _Task:
    def __init__(self, work: TaskWork) -> None:
        self._work = work
        self._flows: dict[str, Flow] = {}
        self._sinks: list[OpenSink] = [part.writer.open(work.place) for part in work.sinks]
        self._letters = {key: writer.open(work.place) for key, writer in work.letters}
        self._rejected = [0] * len(work.sinks)
        self._samples: list[list[str]] = [[] for _ in work.sinks]
        self._bad_samples: list[str] = []
        self._counts = {"read": 0, "size": 0, "undecodable": 0, "unrouted": 0}

    def run(self) -> Iterator[tuple[int, Part] | TaskReport]:
        connection = connect()
        place = self._work.place
        seed = f"{place.pipeline}:{place.lane}:{place.epoch}".replace("'", "''")
        connection.execute(f"SET VARIABLE meltline_now_ms = {place.planned_at_ms}")
        connection.execute(f"SET VARIABLE meltline_epoch_seed = '{seed}'")
        try:
            for shape, chunk in self._chunks():
                self._chunk(connection, shape, chunk)
                yield from self._drain(last=False)
            yield from self._drain(last=True)
            yield self._report()
        except BaseException:
            for sink in self._sinks:
                sink.abandon()
            raise
        finally:
            connection.close()

    def _chunks(self) -> Iterator[tuple[Shape, pa.Table]]:
        chunks = self._work.reader.open(self._work.split)
        large = any(part.writer.large_chunks for part in self._work.sinks)
        return joined(chunks, LARGE_CHUNK) if large else chunks

    def _drain(self, last: bool) -> Iterator[tuple[int, Part]]:
        for i, sink in enumerate(self._sinks):
            for bucket, content in sink.drain(last):
                yield bucket, Part(i, content)

    def _chunk(
        self, connection: duckdb.DuckDBPyConnection, shape: Shape, chunk: pa.Table
    ) -> None:
        flow = self._flow(shape)
        try:
            chunk, events, converted = self._convert(connection, flow, chunk, checked=False)
        except duckdb.Error:
            # most chunks hold no broken event: only one that does pays for the check
            if shape.kind != "json":
                raise
            chunk, events, converted = self._convert(connection, flow, chunk, checked=True)
        for sink, rows in zip(self._sinks, converted, strict=True):
            sink.add(rows)
        self._reject(connection, shape, chunk, events, [rows.rejects for rows in converted])
        self._counts["read"] += chunk.num_rows
        self._counts["size"] += chunk.nbytes
        self._counts["unrouted"] += flow.unrouted(
            events, [(part.routes, part.match) for part in self._work.sinks])

    def _convert(
        self, connection: duckdb.DuckDBPyConnection, flow: Flow, chunk: pa.Table, checked: bool
    ) -> tuple[pa.Table, pa.Table, list[Any]]:
        chunk, events = flow.run(connection, chunk, checked)
        connection.register("ready", events)
        converted = [
            sink.convert(connection, flow.relation(events, "ready", part.routes, part.match),
                         flow.shape)
            for sink, part in zip(self._sinks, self._work.sinks, strict=True)]
        connection.unregister("ready")
        return chunk, events, converted

    def _reject(
        self, connection: duckdb.DuckDBPyConnection, shape: Shape, chunk: pa.Table,
        events: pa.Table, rejects: list[pa.Table],
    ) -> None:
        if events.column(BAD).null_count < events.num_rows:
            bad = events.filter(pc.is_valid(events.column(BAD)))
            reasons = pa.table({"ord": bad.column("ord"), "reason": bad.column(BAD)})
            self._counts["undecodable"] += reasons.num_rows
            self._bad_samples += reasons.column("reason").to_pylist()[:SAMPLES]
            self._send(connection, shape, chunk, reasons, "source", self._work.source_letters)
        for i, (part, reasons) in enumerate(zip(self._work.sinks, rejects, strict=True)):
            if reasons.num_rows:
                self._rejected[i] += reasons.num_rows
                self._samples[i] += reasons.column("reason").to_pylist()[:SAMPLES]
                self._send(connection, shape, chunk, reasons, part.name, part.letters)

    def _send(
        self, connection: duckdb.DuckDBPyConnection, shape: Shape, chunk: pa.Table,
        reasons: pa.Table, sink: str, target: str | None,
    ) -> None:
        if target is not None:
            letters = make_letters(
                connection, self._work, shape, chunk, reasons, sink)
            self._letters[target].add(letters)

    def _flow(self, shape: Shape) -> Flow:
        key = repr(shape)
        if key not in self._flows:
            self._flows[key] = Flow(shape, self._work.processors, self._work.routes,
                                    [part.match for part in self._work.sinks])
        return self._flows[key]

    def _report(self) -> TaskReport:
        sinks = []
        for i, sink in enumerate(self._sinks):
            done = sink.finish()
            sinks.append(replace(done, rejected=self._rejected[i],
                                 samples=tuple(self._samples[i][:SAMPLES])))
        letters = {key: tuple(files) for key, open_ in self._letters.items()
                   if (files := open_.finish())}
        return TaskReport(
            self._work.place.shard, sinks=tuple(sinks), letters=letters,
            samples=tuple(self._bad_samples[:SAMPLES]), skipped=self._work.reader.skipped_files,
            peak_rss=_peak_rss(), **self._counts)


def _peak_rss() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
