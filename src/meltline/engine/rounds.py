"""Reading in rounds: a source may send what it found to other tasks before it becomes events.

Pieces are bytes for a bucket. All pieces of one bucket meet in one task of the next round,
in the order of the splits they came from, however Spark moved them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from meltline.model.event import ORD, PLACE_BITS, Shape
from meltline.model.plan import Split


class Piece(NamedTuple):
    """What goes to a bucket. `weight`: about how many bytes it takes where it is unpacked."""

    bucket: int
    content: bytes
    weight: int


Events = Iterator[tuple[Shape, pa.Table]]
BUCKETS_PER_TASK = 8


@runtime_checkable
class ExchangingReader(Protocol):
    """What a SplitReader may do besides. All of it happens inside workers, and may be repeated."""

    def rounds(self, split: Split) -> int:
        """How often pieces change tasks; 0: `open` is all there is. The same for every split."""

    def buckets(self, split: Split) -> int:
        """Into how many buckets, the same for every split."""

    def tasks(self, split: Split) -> int:
        """How many tasks share the buckets, the same for every split: see `tasks_for`."""

    def scatter(self, split: Split) -> Iterator[Piece]:
        """The first round: what is found in a split of the plan."""

    def scatter_again(self, pieces: Sequence[Piece], buckets: int) -> Iterator[Piece]:
        """A later round: gets all that the round before sent to some of the buckets."""

    def gather(self, pieces: Sequence[Piece]) -> Events:
        """The events of some buckets, from all that the last round sent to them."""


def tasks_for(buckets: int, parallelism: int) -> int:
    """A task costs more than a bucket that holds little. `parallelism` is that of the plan: events
    are counted by task, and a replay must count them alike."""
    return min(buckets, max(parallelism, -(-buckets // BUCKETS_PER_TASK)))


def read_alone(reader: ExchangingReader, split: Split) -> Events:
    """All rounds in one task, for a plan of one split."""
    buckets = reader.buckets(split)
    found = _grouped(reader.scatter(split))
    for _ in range(1, reader.rounds(split)):
        found = _grouped(piece for bucket in sorted(found)
                         for piece in reader.scatter_again(found[bucket], buckets))
    return numbered(reader.gather(found[bucket]) for bucket in sorted(found))


def numbered(parts: Iterable[Events], task: int = 0) -> Events:
    """One after the other. Each counts its events from 0 on: here they are counted through."""
    first = task << PLACE_BITS
    for part in parts:
        count = 0
        for shape, chunk in part:
            count += chunk.num_rows
            if first:
                at = chunk.schema.get_field_index(ORD)
                shifted = pc.add(chunk.column(at), first)
                chunk = chunk.set_column(at, ORD, shifted)
            yield shape, chunk
        first += count


def _grouped(pieces: Iterator[Piece]) -> dict[int, list[Piece]]:
    buckets: dict[int, list[Piece]] = defaultdict(list)
    for piece in pieces:
        buckets[piece.bucket].append(piece)
    return buckets
