"""Pieces of a reading source on their way through Spark's shuffle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark import RDD, SparkContext

from meltline import errors
from meltline.engine.rounds import ExchangingReader, Gathered, bucket_split
from meltline.engine.work import TaskWork
from meltline.model.plan import Split
from meltline.spark.worker_path import forget_archives

Tagged = tuple[tuple[int, int], bytes]
"""Where a piece came from, and the piece: the shuffle keeps no order of its own."""
_ERROR = b"meltline-error:"


def rounds_of(works: Sequence[TaskWork]) -> int:
    """How often the works' pieces change tasks. One split alone needs no exchange."""
    reader = works[0].reader
    if len(works) < 2 or not isinstance(reader, ExchangingReader):
        return 0
    return reader.rounds(works[0].split)


def task_count(works: Sequence[TaskWork]) -> int:
    """How many works there are after all rounds."""
    reader: Any = works[0].reader
    return reader.buckets(works[0].split) if rounds_of(works) else len(works)


def after_rounds(context: SparkContext, works: Sequence[TaskWork]) -> RDD[Any]:
    """The works themselves, or works that read what the last round sent to each bucket."""
    rounds = rounds_of(works)
    if not rounds:
        return context.parallelize(works, len(works))
    first = works[0]
    reader: Any = first.reader
    buckets = reader.buckets(first.split)
    sources = [(index, work.split) for index, work in enumerate(works)]
    pieces: RDD[Any] = context.parallelize(sources, len(sources)).flatMap(
        lambda source: _tagged(source[0], lambda: reader.scatter(0, source[1], ())))
    for round_ in range(1, rounds):
        pieces = _met(pieces, buckets).flatMap(
            _scatter_again(reader, round_, buckets))
    return _met(pieces, buckets).map(lambda met: _work(first, reader, met))


def _met(pieces: RDD[Any], buckets: int) -> RDD[Any]:
    """One element per bucket: its number and its pieces, in order."""

    def collect(bucket: int, found: Iterable[tuple[int, Tagged]]) -> Iterator[Any]:
        yield bucket, [piece for _, piece in sorted(tagged for _, tagged in found)]

    return pieces.partitionBy(buckets, int).mapPartitionsWithIndex(collect)


def _scatter_again(
    reader: Any, round_: int, buckets: int
) -> Callable[[Any], Iterator[tuple[int, Tagged]]]:
    def scatter(met: tuple[int, list[bytes]]) -> Iterator[tuple[int, Tagged]]:
        bucket, pieces = met
        failed = [piece for piece in pieces if piece.startswith(_ERROR)]
        if failed:
            yield 0, ((bucket, 0), failed[0])
        else:
            split = bucket_split(bucket, buckets)
            yield from _tagged(bucket, lambda: reader.scatter(round_, split, pieces))

    return scatter


def _tagged(origin: int, scatter: Callable[[], Iterator[tuple[int, bytes]]]
            ) -> Iterator[tuple[int, Tagged]]:
    """An error that a retry cannot cure travels on as a piece: Spark would only try again."""
    forget_archives()
    try:
        for number, (bucket, piece) in enumerate(scatter()):
            yield bucket, ((origin, number), piece)
    except errors.Retryable:
        raise
    except errors.MeltlineError as error:
        body = {"kind": type(error).__name__, "what": error.what, "at": error.at,
                "hint": error.hint}
        yield 0, ((origin, -1), _ERROR + json.dumps(body).encode())


def _work(first: TaskWork, reader: Any, met: tuple[int, list[bytes]]) -> TaskWork:
    bucket, pieces = met
    failed = next((piece for piece in pieces if piece.startswith(_ERROR)), None)
    source: Any = Failed(failed) if failed is not None else Gathered(reader, pieces)
    return replace(first, place=replace(first.place, shard=bucket),
                   split=Split({"bucket": bucket}), reader=source)


class Failed(Gathered):
    """Stands for a round that failed: raises what it died of when it is read."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    @property
    def skipped_files(self) -> int:
        return 0

    def open(self, split: Split) -> Any:  # noqa: ARG002
        body = json.loads(self.piece.removeprefix(_ERROR))
        kind = getattr(errors, body["kind"], errors.RunError)
        raise kind(body["what"], at=body["at"], hint=body["hint"])
