"""What travels to a worker for one task, and what sinks promise there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from meltline.config.processors import ProcessorBlock
from meltline.engine.protocols import SplitReader
from meltline.engine.report import SinkReport
from meltline.model.event import Shape
from meltline.model.plan import Split


@dataclass(frozen=True)
class TaskPlace:
    """Where a task stands. `attempt` is unique per driver run and task attempt: a path made with
    it never hits a file that may already be referenced.

    `buckets` is how many tasks of the next stage gather what this one scatters by key; 0 when
    there is no next stage."""

    pipeline: str
    lane: str
    epoch: int
    planned_at_ms: int
    shard: int
    attempt: str
    buckets: int = 0


class OpenSink(Protocol):
    """A sink inside one task. A chunk is converted first, and added only if all sinks converted."""

    def convert(self, connection: duckdb.DuckDBPyConnection, events: str, shape: Shape) -> Any:
        """Rows for `add`; its `rejects` attribute is a table (ord, reason)."""

    def add(self, converted: Any) -> None:
        """Write what `convert` returned."""

    def drain(self, last: bool) -> Iterator[tuple[int, bytes]]:
        """What has to go to another task: its bucket, and bytes for `SinkWriter.gather`. Called
        after each chunk, and a `last` time before `finish`."""

    def finish(self) -> SinkReport:
        """Close everything. Called once, at the end of a task that did not fail."""

    def abandon(self) -> None:
        """The task failed: let go of open files. Nothing written may become visible."""


class SinkWriter(Protocol):
    """The half of a sink that travels to the workers: picklable."""

    @property
    def keyed(self) -> bool:
        """Whether rows of one key must meet in one task."""

    @property
    def large_chunks(self) -> bool:
        """Whether the work per chunk is so large that there should be few."""

    def open(self, place: TaskPlace) -> OpenSink: ...

    def gather(self, place: TaskPlace, parts: Iterable[bytes]) -> SinkReport:
        """In the second stage: everything that was drained for one bucket, in any order."""


class OpenLetters(Protocol):
    def add(self, letters: pa.Table) -> None:
        """`letters` has the schema of model.dead_letter."""

    def finish(self) -> Sequence[str]:
        """Reports of the closed files, for `publish`."""


class LetterWriter(Protocol):
    """The half of a dead-letter target that travels to the workers."""

    def open(self, place: TaskPlace) -> OpenLetters: ...


@dataclass(frozen=True)
class Match:
    """The whole text of a field must match the pattern. An event without the field does not."""

    field: str
    pattern: str


@dataclass(frozen=True)
class SinkPart:
    """One sink of the pipeline, as a task needs it.

    `letters` names the dead-letter target of its rejects. Without one they are only counted:
    whether that is well is decided by the driver.
    `match` (field, regular expression) is one more condition on the events it takes.
    """

    name: str
    routes: tuple[str, ...]
    writer: SinkWriter
    letters: str | None = None
    match: Match | None = None


@dataclass(frozen=True)
class TaskWork:
    place: TaskPlace
    split: Split
    reader: SplitReader
    processors: tuple[ProcessorBlock, ...]
    routes: tuple[tuple[str, str], ...]
    sinks: tuple[SinkPart, ...]
    letters: tuple[tuple[str, LetterWriter], ...] = ()
    source_letters: str | None = None
