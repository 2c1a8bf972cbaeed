"""Pieces of a reading source on their way through Spark's shuffle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark import RDD, SparkContext

from meltline import errors
from meltline.engine.rounds import Events, ExchangingReader, Piece, numbered
from meltline.engine.work import TaskWork
from meltline.model.event import Shape
from meltline.model.plan import Split
from meltline.spark.arrivals import Arrivals, Tag
from meltline.spark.error_text import is_error, raise_if_error, to_text
from meltline.spark.worker_path import forget_archives

Tagged = tuple[int, tuple[Tag, Piece]]
"""A piece with its bucket, as Spark wants it, and its tag."""


@dataclass
class Arrived:
    """A SplitReader over what one task received. Made and used inside of it."""

    reader: Any
    arrivals: Arrivals = field(repr=False)

    @property
    def skipped_files(self) -> int:
        return int(getattr(self.reader, "skipped_files", 0))

    @property
    def duplicate_keys(self) -> int:
        return int(getattr(self.reader, "duplicate_keys", 0))

    def shape(self) -> Shape:
        raise NotImplementedError("the shape is asked of the reader itself")

    def line_numbers(self, split: Split, ords: Sequence[int]) -> list[int]:
        numbers: list[int] = self.reader.line_numbers(split, ords)
        return numbers

    def open(self, split: Split) -> Events:
        return numbered(map(self._gather, self.arrivals.groups()), split.data["task"])

    def _gather(self, group: Sequence[Piece]) -> Events:
        for piece in group:
            raise_if_error(piece.content)
        yield from self.reader.gather(group)


def rounds_of(works: Sequence[TaskWork]) -> int:
    """How often the works' pieces change tasks. One split alone needs no exchange."""
    reader = works[0].reader
    if len(works) < 2 or not isinstance(reader, ExchangingReader):
        return 0
    return reader.rounds(works[0].split)


def task_count(works: Sequence[TaskWork]) -> int:
    """How many works there are after all rounds."""
    reader: Any = works[0].reader
    return reader.tasks(works[0].split) if rounds_of(works) else len(works)


def after_rounds(context: SparkContext, works: Sequence[TaskWork]) -> RDD[Any]:
    """The works themselves, or works that read what the last round sent to each task."""
    rounds = rounds_of(works)
    if not rounds:
        return context.parallelize(works, len(works))
    first = works[0]
    reader: Any = first.reader
    buckets = reader.buckets(first.split)
    tasks = task_count(works)
    sources = [(index, work.split) for index, work in enumerate(works)]
    pieces: RDD[Any] = context.parallelize(sources, len(sources)).flatMap(
        lambda source: _tagged(source[0], lambda: reader.scatter(source[1])))
    for _ in range(1, rounds):
        pieces = _met(pieces, tasks).flatMap(_scatter_again(reader, buckets))
    return _met(pieces, tasks).map(lambda met: _work(first, met[0], Arrived(reader, met[1])))


def meet(
    context: SparkContext, scatter: Callable[[Any], Iterator[Piece]],
    gather: Callable[[Sequence[Piece]], Any], items: Sequence[Any], tasks: int,
) -> RDD[Any]:
    """See engine.protocols.Meet. An outcome of type str is an error that travelled. What one item
    gives has no others to meet, and no shuffle to go through."""
    pieces: RDD[Any] = context.parallelize(list(enumerate(items)), len(items)).flatMap(
        lambda item: _tagged(item[0], lambda: scatter(item[1])))
    if len(items) == 1:
        return pieces.mapPartitionsWithIndex(_collect).flatMap(_gathered(gather))
    return _met(pieces, tasks).flatMap(_gathered(gather))


def _gathered(gather: Callable[[Sequence[Piece]], Any]) -> Callable[[Any], Iterator[Any]]:
    def gathered(arrivals: Arrivals) -> Iterator[Any]:
        forget_archives()
        try:
            for group in arrivals.groups():
                for piece in group:
                    raise_if_error(piece.content)
                yield gather(group)
        except errors.Retryable:
            raise
        except errors.MeltlineError as error:
            yield to_text(error)

    return lambda met: gathered(met[1])


def _work(first: TaskWork, task: int, arrived: Any) -> TaskWork:
    return replace(first, place=replace(first.place, shard=task), split=Split({"task": task}),
                   reader=arrived)


def _met(pieces: RDD[Any], tasks: int) -> RDD[Any]:
    """One element per task: its number and what arrived there."""

    moved = pieces.partitionBy(tasks, lambda bucket: bucket % tasks)
    return moved.mapPartitionsWithIndex(_collect)


def _collect(task: int, found: Iterable[Tagged]) -> Iterator[tuple[int, Arrivals]]:
    arrivals = Arrivals()
    for _, (tag, piece) in found:
        arrivals.add(tag, piece)
    yield task, arrivals


def _scatter_again(reader: Any, buckets: int) -> Callable[[Any], Iterator[Tagged]]:
    def scatter(arrivals: Arrivals) -> Iterator[Piece]:
        for group in arrivals.groups():
            failed = [piece for piece in group if is_error(piece.content)]
            yield from failed[:1] or reader.scatter_again(group, buckets)

    return lambda met: _tagged(met[0], lambda: scatter(met[1]))


def _tagged(origin: int, scatter: Callable[[], Iterator[Piece]]) -> Iterator[Tagged]:
    """An error that a retry cannot cure travels on as a piece."""
    forget_archives()
    try:
        for number, piece in enumerate(scatter()):
            yield piece.bucket, ((origin, number), piece)
    except errors.Retryable:
        raise
    except errors.MeltlineError as error:
        yield 0, ((origin, -1), Piece(0, to_text(error).encode(), 0))
