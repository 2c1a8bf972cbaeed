"""How deep variants are nested. DuckDB goes into them call by call, and its process dies of a
stack that is used up.
"""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

MAX_DEPTH = 1000
_OBJECT, _ARRAY = 2, 3
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
    todo = [(0, len(value), 0)]
    while todo:
        start, end, depth = todo.pop()
        if depth > MAX_DEPTH:
            return True
        for first, last in pairwise([*_places(value, start), end]):
            if last - first > (MAX_DEPTH - depth - 1) * _LEAST:
                todo.append((first, last, depth + 1))
    return False


def _places(value: bytes, at: int) -> list[int]:
    """Where the parts of an object or array begin, in order; none for other values."""
    kind, head = value[at] & 3, value[at] >> 2
    if kind not in (_OBJECT, _ARRAY):
        return []
    wide = 4 if head & (16 if kind == _OBJECT else 4) else 1
    ids, width = (head >> 2 & 3) + 1 if kind == _OBJECT else 0, (head & 3) + 1
    count = int.from_bytes(value[at + 1:at + 1 + wide], "little")
    first = at + 1 + wide + count * ids
    inside = first + (count + 1) * width
    if inside > len(value):
        return []  # damaged, which DuckDB says
    found = {inside + int.from_bytes(value[place:place + width], "little")
             for place in range(first, first + count * width, width)}
    return sorted(place for place in found if place < len(value))
