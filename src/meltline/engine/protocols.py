"""What a source and a ledger promise. A new connector implements one of these and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from meltline.engine.rounds import Piece
from meltline.model.event import Shape
from meltline.model.plan import Plan, Position, Split

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class MapItems(Protocol):
    """Calls a function for each item, wherever Spark likes, one task per item.

    Function, items and outcomes are picklable. The function's second argument is unique per driver
    run and task attempt. Raises Retryable, or what the function raised of ours."""

    def __call__(
        self, function: Callable[[Item, str], Outcome], items: Sequence[Item], description: str,
        pool: str,
    ) -> list[Outcome]: ...


class Meet(Protocol):
    """What is found in one place meets what is found in another, and something comes of it.

    `scatter` is called for each item, one task per item. All pieces of a bucket meet in one of
    `tasks` tasks, where `gather` is called for one bucket or several, in the order of the items
    they came from. Functions, items and outcomes are picklable. Raises as MapItems does."""

    def __call__(
        self, scatter: Callable[[Item], Iterator[Piece]],
        gather: Callable[[Sequence[Piece]], Outcome], items: Sequence[Item], tasks: int,
    ) -> list[Outcome]: ...


class Blobs(Protocol):
    """Side storage of the ledger for positions and plans that outgrow one entry."""

    def write(self, name: str, content: bytes) -> str:
        """Store once under a fresh, unique address and return the address. Never overwrites."""

    def read(self, address: str) -> bytes:
        """Raises PositionLost when it is gone."""


class SplitReader(Protocol):
    """The half of a source that travels to the workers: picklable, no driver state.

    `skipped_files` counts what was planned and left out by the user's choice.
    """

    skipped_files: int

    def shape(self) -> Shape:
        """The shape of the events, as far as it is known before reading (metadata always is)."""

    def open(self, split: Split) -> Iterator[tuple[Shape, pa.Table]]:
        """In a worker: the split's events in chunks, each with its shape (model/event.py).

        Same split, same rows in the same order, however often it is asked. Raises when what was
        planned is no longer what is there. A chunk holds some ten thousand events.
        """

    def line_numbers(self, split: Split, ords: Sequence[int]) -> list[int]:
        """The exact line of a few events whose metadata `line` was too costly to fill in."""


class Source(Protocol):
    """The half of a source that lives in the driver."""

    def plan(self, after: Position | None, blobs: Blobs) -> Plan | None:
        """Fix the next slice after a position, or None. Metadata only. Pure but for listing."""

    def splits(self, plan: Plan, parallelism: int, blobs: Blobs) -> Sequence[Split]:
        """Cut a plan into tasks. A small plan is one split; order is the order of the events.

        Raises PlanLost when it can never be read again and `plan` may find a way around that."""

    def reader(self) -> SplitReader:
        """What the workers get."""

    def forget(self, upto: Position) -> None:
        """Everything before is published. May be called again, or late."""

    def lag(self, after: Position | None, blobs: Blobs) -> int | None:
        """How much is waiting (files, offsets, ...), for people. None when unknown."""


@runtime_checkable
class Checked(Protocol):
    """A source that can say beforehand what will not work."""

    def check(self) -> None:
        """At start: raises UserError."""
