"""A sink that keeps what is published, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from meltline.engine.epoch import Epoch
from meltline.engine.report import SinkReport
from meltline.engine.sink import Published
from meltline.engine.token import Token, already_published
from meltline.engine.work import TaskPlace
from meltline.expressions.quoting import quote_literal
from meltline.kernels.convert import REJECTS
from meltline.kernels.infer import keys_sql
from meltline.model.event import BODY, Shape


@dataclass
class MemorySink:
    """See engine.sink.Sink. Takes JSON events as they are.

    `refuses` names a text that no event may hold. With `columns`, an event with another field has
    to wait for `settle`. `failures` are raised by the next publishes, one each; `lost_answers` as
    well, but after the publish has happened. `journal` notes what was published, in order.
    """

    name: str = "memory"
    refuses: str | None = None
    columns: set[str] | None = None
    failures: list[Exception] = field(default_factory=list)
    lost_answers: list[Exception] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)
    published: dict[int, list[str]] = field(default_factory=dict)
    tokens: dict[tuple[str, str], Token] = field(default_factory=dict)

    @property
    def rows(self) -> list[str]:
        """The bodies of all published events, epoch after epoch."""
        return [body for _, bodies in sorted(self.published.items()) for body in bodies]

    def check(self) -> None:
        """Always fine."""

    def token(self, pipeline: str, lane: str) -> Token | None:
        return self.tokens.get((pipeline, lane))

    def find(self, epoch: Epoch) -> Published | None:
        token = self.token(epoch.pipeline, epoch.lane)
        if not already_published(token, epoch, self.name):
            return None
        return Published(self.name, epoch.number, repeated=True)

    def writer(self, epoch: Epoch) -> MemoryWriter:  # noqa: ARG002
        columns = None if self.columns is None else frozenset(self.columns)
        return MemoryWriter(self.refuses, columns)

    def settle(self, guess: Any) -> bool:
        known = set(self.columns or ())
        self.columns = known | set(guess["struct"])
        return self.columns != known

    def publish(self, epoch: Epoch, reports: Sequence[str], owner: str) -> Sequence[Published]:  # noqa: ARG002
        if self.failures:
            raise self.failures.pop(0)
        if (found := self.find(epoch)) is not None:
            return [found]
        bodies = [body for report in reports for body in json.loads(report)]
        self.published[epoch.number] = bodies
        self.tokens[epoch.pipeline, epoch.lane] = Token.of(epoch, self.name)
        self.journal.append(self.name)
        if self.lost_answers:
            raise self.lost_answers.pop(0)
        return [Published(self.name, epoch.number, files=len(reports), rows=len(bodies))]


@dataclass(frozen=True)
class MemoryWriter:
    refuses: str | None
    columns: frozenset[str] | None
    keyed: bool = False
    large_chunks: bool = False

    def open(self, place: TaskPlace) -> OpenMemory:  # noqa: ARG002
        return OpenMemory(self.refuses, self.columns)

    def gather(self, place: TaskPlace, parts: Iterable[bytes]) -> SinkReport:
        raise NotImplementedError(f"{place}: {len(list(parts))} parts for a sink without keys")


@dataclass(frozen=True)
class Sorted:
    bodies: list[str]
    rejects: pa.Table


@dataclass
class OpenMemory:
    """See engine.work.OpenSink. Its one report holds the events themselves."""

    refuses: str | None
    columns: frozenset[str] | None
    bodies: list[str] = field(default_factory=list)
    new: set[str] = field(default_factory=set)

    def convert(
        self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape  # noqa: ARG002
    ) -> Sorted:
        if self.columns is not None:
            names = {name for (name,) in connection.sql(keys_sql(events)).fetchall()}
            self.new |= names - self.columns
        bad = f"contains({BODY}, {quote_literal(self.refuses)})" if self.refuses else "false"
        good = connection.sql(f"SELECT {BODY} FROM {events} WHERE NOT {bad} ORDER BY ord")
        refused = connection.sql(
            f"SELECT ord, {quote_literal(f'holds {self.refuses}')} AS reason "
            f"FROM {events} WHERE {bad}")
        return Sorted([body for (body,) in good.fetchall()],
                      refused.to_arrow_table().cast(REJECTS))

    def add(self, converted: Sorted) -> None:
        self.bodies += converted.bodies

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:  # noqa: ARG002
        return iter(())

    def finish(self) -> SinkReport:
        if self.new:
            return SinkReport(guess={"struct": dict.fromkeys(sorted(self.new), "string")})
        files = (json.dumps(self.bodies),) if self.bodies else ()
        return SinkReport(len(self.bodies), files=files)

    def abandon(self) -> None:
        self.bodies.clear()
