"""Positions of rows in one file as a bit each, packed: small on its way, fast where it is used.

Roaring bitmaps are smaller when there are few, but give and take Python's own numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def pack_positions(positions: NDArray[np.int64]) -> bytes:
    mask = np.zeros(int(positions.max(initial=-1)) + 1, np.bool_)
    mask[positions] = True
    return _compressed(np.packbits(mask))


def merge_positions(packed: Iterable[bytes]) -> bytes:
    """What any of them has."""
    merged = np.zeros(0, np.uint8)
    for one in packed:
        longer, shorter = sorted((merged, _bits(one)), key=len, reverse=True)
        merged = longer.copy()
        merged[:len(shorter)] |= shorter
    return _compressed(merged)


def unpack_positions(packed: bytes, count: int) -> NDArray[np.bool_]:
    """Of a file of so many rows: whether each is among them."""
    # NumPy itself fills up an empty array with whatever is there
    mask = np.zeros(count, np.bool_)
    bits = np.unpackbits(_bits(packed))[:count]
    mask[:len(bits)] = bits
    return mask


def _bits(packed: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.decompress(packed), np.uint8)


def _compressed(bits: NDArray[np.uint8]) -> bytes:
    return zlib.compress(bits.tobytes(), 1)
