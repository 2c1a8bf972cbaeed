"""One chunk of events through processors and routes, as SQL compiled once per shape."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.codecs.json import mark_invalid
from meltline.config.processors import ProcessorBlock
from meltline.config.routes import DEFAULT_ROUTE
from meltline.engine.work import Match
from meltline.expressions import compile_condition, compile_format, quote_literal
from meltline.model.event import BAD, Shape
from meltline.processors.chain import compile_processors


class Flow:
    """Compiled for one shape of events. `run` leaves the relation that the sinks select from."""

    def __init__(
        self, shape: Shape, processors: Sequence[ProcessorBlock],
        routes: Sequence[tuple[str, str]], matches: Sequence[Match | None] = (),
    ) -> None:
        """`matches` are the further conditions of the sinks, sink by sink."""
        self._steps = compile_processors(processors, shape)
        self.shape = self._steps[-1].shape if self._steps else shape
        self._json = shape.kind == "json"
        self._routes = {name: f"r{i}" for i, (name, _) in enumerate(routes)}
        conditions = [(f"r{i}", compile_condition(text, self.shape))
                      for i, (_, text) in enumerate(routes)]
        self._matches = {match: f"m{i}" for i, match in enumerate(dict.fromkeys(matches)) if match}
        conditions += [(column, match_sql(match, self.shape))
                       for match, column in self._matches.items()]
        self._conditions = conditions

    @property
    def plain(self) -> bool:
        """Nothing looks into the events but the sinks: they need not be checked beforehand."""
        return not self._steps and not self._conditions

    def run(
        self, connection: duckdb.DuckDBPyConnection, chunk: pa.Table, checked: bool
    ) -> tuple[pa.Table, pa.Table]:
        """The chunk with bad events marked, and the events after processors and routes."""
        if self._json and (checked or not self.plain):
            chunk = mark_invalid(connection, chunk)
        events = chunk
        for step in self._steps:
            connection.register("events", events)
            events = connection.sql(step.sql).to_arrow_table()
            connection.unregister("events")
        return chunk, self._routed(connection, events)

    def relation(
        self, events: pa.Table, name: str, routes: Sequence[str], match: Match | None = None
    ) -> str:
        """SQL for the good events of a sink, over the events registered as `name`."""
        tests = [self._test(route) for route in routes]
        where = []
        if events.column(BAD).null_count < events.num_rows:
            where.append(f"{BAD} IS NULL")
        if tests:
            where.append("(" + " OR ".join(tests) + ")")
        if match is not None:
            where.append(self._matches[match])
        return f"(SELECT * FROM {name} WHERE {' AND '.join(where)})" if where else name

    def unrouted(
        self, events: pa.Table, sinks: Sequence[tuple[Sequence[str], Match | None]]
    ) -> int:
        """How many good events no sink takes."""
        if any(not routes and match is None for routes, match in sinks):
            return 0
        taken = _everywhere(events, False)
        for routes, match in sinks:
            mine = _everywhere(events, not routes)
            for route in routes:
                mine = pc.or_(mine, self._column(events, route))
            if match is not None:
                mine = pc.and_(mine, events.column(self._matches[match]))
            taken = pc.or_(taken, mine)
        left = pc.and_(pc.invert(taken), pc.is_null(events.column(BAD)))
        return int(pc.sum(left).as_py() or 0)

    def _routed(self, connection: duckdb.DuckDBPyConnection, events: pa.Table) -> pa.Table:
        if not self._conditions:
            return events
        connection.register("events", events)
        columns = ", ".join(
            f"CASE WHEN {BAD} IS NULL THEN {condition} ELSE false END AS {column}"
            for column, condition in self._conditions)
        routed = connection.sql(f"SELECT *, {columns} FROM events").to_arrow_table()
        connection.unregister("events")
        return routed

    def _test(self, route: str) -> str:
        if route != DEFAULT_ROUTE:
            return self._routes[route]
        return "NOT (" + (" OR ".join(self._routes.values()) or "false") + ")"

    def _column(self, events: pa.Table, route: str) -> pa.ChunkedArray:
        if route != DEFAULT_ROUTE:
            return events.column(self._routes[route])
        matched = _everywhere(events, False)
        for name in self._routes.values():
            matched = pc.or_(matched, events.column(name))
        return pc.invert(matched)


def match_sql(match: Match, shape: Shape) -> str:
    """SQL: whether the event's field matches. A field that is missing or empty does not."""
    value = compile_format(f"${{/{match.field.strip('/')}}}", shape)
    return (f"coalesce(regexp_full_match(nullif({value}, ''), {quote_literal(match.pattern)}), "
            f"false)")


def _everywhere(events: pa.Table, value: bool) -> pa.Array:
    return pa.nulls(events.num_rows, pa.bool_()).fill_null(value)
