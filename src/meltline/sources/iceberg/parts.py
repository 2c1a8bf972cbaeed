"""Takes a group of rewritten files apart, by what their statistics tell. Pure.

A guess: whoever reads a part finds out whether it was right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from meltline.model.content import DataFile, FileChange

Bounds = Callable[[DataFile], tuple[Any, Any] | None]
"""The lowest and highest key of a file, if known."""

TOO_MANY = 1_000_000
"""Comparisons of two files; beyond that planning would take longer than it saves."""


def no_bounds(_: DataFile) -> None:
    return None


def parts(group: Sequence[FileChange], bounds: Bounds) -> list[tuple[FileChange, ...]]:
    """Each added file with the removed ones whose rows it seems to hold: their keys lie between
    its own, and together they have as many rows. Every file alone when that is not so for all."""
    alone: list[tuple[FileChange, ...]] = [(change,) for change in group]
    removed = [change for change in group if not change.added]
    if len(removed) * (len(group) - len(removed)) > TOO_MANY:
        return alone
    found: list[tuple[FileChange, ...]] = []
    for change in group:
        if change.added:
            mine = [one for one in removed if _within(bounds(one.file), bounds(change.file))]
            if sum(one.file.records for one in mine) != change.file.records:
                return alone
            found.append((*mine, change))
    used = [id(change) for part in found for change in part]
    return found if len(used) == len(group) == len(set(used)) else alone


def _within(inner: tuple[Any, Any] | None, outer: tuple[Any, Any] | None) -> bool:
    return (inner is not None and outer is not None
            and bool(outer[0] <= inner[0] and inner[1] <= outer[1]))
