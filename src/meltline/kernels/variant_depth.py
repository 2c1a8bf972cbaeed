"""How deep variants are nested. DuckDB goes into them call by call, and its process dies of a
stack that is used up.
"""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from meltline.kernels.variant_layout import ARRAY, OBJECT, container

MAX_DEPTH = 1000
_LEAST = 4
"""Bytes of an array around something: its header, how many items it has, where two of them are."""


class TooDeep(ValueError):
    """A variant is nested deeper than MAX_DEPTH."""


def check_depth(values: pa.Array) -> None:
    """Raises TooDeep for one of these values (binary). Only those that are long enough are looked
    at, and in them what is."""
    long = values.filter(pc.greater(pc.binary_length(values), MAX_DEPTH * _LEAST))
    if any(_is_too_deep(one.as_py()) for one in long):
        raise TooDeep(f"objects and lists in it are nested more than {MAX_DEPTH} deep")


def _is_too_deep(value: bytes) -> bool:
    """Parts lie one behind the other, the way that encoders write them."""
    waiting = [(0, len(value), 0)]
    while waiting:
        start, end, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return True
        for first, last in pairwise([*_places(value, start), end]):
            if last - first > (MAX_DEPTH - depth - 1) * _LEAST:
                waiting.append((first, last, depth + 1))
    return False


def _places(value: bytes, at: int) -> list[int]:
    """Where the parts of an object or array begin, in order; none for other values."""
    if value[at] & 3 not in (OBJECT, ARRAY):
        return []
    parts = container(value, at)
    if parts.inside > len(value):
        return []  # damaged, which DuckDB says
    found = {parts.place(value, index) for index in range(parts.count)}
    return sorted(place for place in found if place < len(value))
