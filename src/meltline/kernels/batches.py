"""Things put together before anything is done with them: while they are small, each costs more
than what it holds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def batched(
    items: Iterable[Item], size: Callable[[Item], int], enough: int,
    kind: Callable[[Item], Any] = lambda _: None,
) -> Iterator[list[Item]]:
    """The items in their order. A batch is of one kind, and no longer than it takes to have
    `enough` of them by their size."""
    batch: list[Item] = []
    total = 0
    for item in items:
        if batch and kind(item) != kind(batch[0]):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
        if total >= enough:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
