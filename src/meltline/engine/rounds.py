"""Reading in rounds: a source may send what it found to other tasks before it becomes events.

Pieces are bytes with a bucket number. All pieces of one bucket meet in one task of the next round,
in the order of the splits they came from, however Spark moved them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import pyarrow as pa

from meltline.model.event import Shape
from meltline.model.plan import Split

Piece = tuple[int, bytes]
"""A bucket, and what goes there."""
Events = Iterator[tuple[Shape, pa.Table]]


@runtime_checkable
class ExchangingReader(Protocol):
    """What a SplitReader may do besides. All of it happens inside workers, and may be repeated."""

    def rounds(self, split: Split) -> int:
        """How often pieces change tasks; 0: `open` is all there is. The same for every split."""

    def buckets(self, split: Split) -> int:
        """Into how many buckets, the same for every split."""

    def scatter(self, round_: int, split: Split, pieces: Sequence[bytes]) -> Iterator[Piece]:
        """Round 0 gets a split of the plan. Later rounds get what the round before sent to one
        bucket, and a split whose data is that `bucket` and how many `buckets` there are."""

    def gather(self, pieces: Sequence[bytes]) -> Events:
        """The events of one bucket, from what the last round sent to it."""


def read_alone(reader: ExchangingReader, split: Split) -> Events:
    """All rounds in one task, for a plan of one split."""
    buckets = reader.buckets(split)
    found = _grouped(reader.scatter(0, split, ()))
    for round_ in range(1, reader.rounds(split)):
        found = _grouped(piece for bucket in sorted(found) for piece in reader.scatter(
            round_, bucket_split(bucket, buckets), found[bucket]))
    for bucket in sorted(found):
        yield from reader.gather(found[bucket])


def bucket_split(bucket: int, buckets: int) -> Split:
    return Split({"bucket": bucket, "buckets": buckets})


def _grouped(pieces: Iterator[Piece]) -> dict[int, list[bytes]]:
    buckets: dict[int, list[bytes]] = defaultdict(list)
    for bucket, piece in pieces:
        buckets[bucket].append(piece)
    return buckets


@dataclass
class Gathered:
    """A SplitReader over what one bucket received. Made and used inside one task."""

    reader: ExchangingReader
    pieces: Sequence[bytes] = field(repr=False)

    @property
    def skipped_files(self) -> int:
        return int(getattr(self.reader, "skipped_files", 0))

    def shape(self) -> Shape:
        raise NotImplementedError("the shape is asked of the reader itself")

    def open(self, split: Split) -> Events:  # noqa: ARG002
        return self.reader.gather(self.pieces)

    def line_numbers(self, split: Split, ords: Sequence[int]) -> list[int]:  # noqa: ARG002
        return list(ords)
