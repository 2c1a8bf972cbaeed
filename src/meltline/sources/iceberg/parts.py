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
    """Each added file with the removed ones whose rows it seems to hold: together they have as
    many rows, and its lowest and highest key. Every file alone when that is not so for all."""
    alone: list[tuple[FileChange, ...]] = [(change,) for change in group]
    removed = [change for change in group if not change.added]
    if len(removed) * (len(group) - len(removed)) > TOO_MANY:
        return alone
    known = {id(change): bounds(change.file) for change in group}
    if not all(known.values()):
        return alone
    found: list[tuple[FileChange, ...]] = []
    for change in group:
        if change.added:
            low, high = known[id(change)] or (None, None)
            inside = [one for one in removed if (span := known[id(one)])
                      and low <= span[0] and span[1] <= high]
            ends = [one for one in inside if (span := known[id(one)])
                    and (span[0] == low or span[1] == high)]
            mine = next((some for some in (ends, inside) if _rows(some) == _rows([change])), None)
            if mine is None:
                return alone
            found.append((*mine, change))
    used = [id(change) for part in found for change in part]
    return found if len(used) == len(group) == len(set(used)) else alone


def _rows(changes: Sequence[FileChange]) -> int:
    return sum(change.file.records for change in changes)
