"""Fingerprints of files, and sorted arrays of them.

A fingerprint has 12 bytes: 6 for the path, then 6 for path, size and time together. Sorted, the
fingerprints of one path stand side by side, which is how a rewritten file is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

WIDTH = 12
_HALF = WIDTH // 2

# fixed width: numpy compares such strings as if padded with zeros, so zeros at the end are safe
# as long as single elements are never turned into bytes
Digests: TypeAlias = "np.ndarray[Any, np.dtype[np.bytes_]]"


def digest(path: str, size: int, mtime_ns: int) -> bytes:
    """Who a file is: the same path with another size or time is another file."""
    state = blake2b(path.encode(), digest_size=_HALF)
    of_path = state.digest()
    state.update(b"\0%d\0%d" % (size, mtime_ns))
    return of_path + state.digest()


def join(digests: Iterable[bytes]) -> Digests:
    return from_bytes(b"".join(digests))


def from_bytes(content: bytes) -> Digests:
    return np.frombuffer(content, f"S{WIDTH}")


def merge(one: Digests, other: Digests) -> Digests:
    """Sorted, without repetition."""
    return np.unique(np.concatenate([one, other]))


def contains(ordered: Digests, wanted: Digests) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of the wanted fingerprints are among the ordered ones."""
    if not len(ordered):
        return np.zeros(len(wanted), bool)
    # ascending needles keep the search in the processor's cache: three times as fast
    order = np.argsort(wanted, kind="stable")
    at = np.empty(len(wanted), np.int64)
    at[order] = np.searchsorted(ordered, wanted[order])
    found: np.ndarray[Any, np.dtype[np.bool_]] = ordered[np.minimum(at, len(ordered) - 1)] == wanted
    return found


def contains_path(ordered: Digests, wanted: Digests) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of the wanted have a fingerprint of the same path among the ordered ones."""
    if not len(ordered):
        return np.zeros(len(wanted), bool)
    paths = _path_half(wanted)
    at = np.searchsorted(ordered, paths.astype(f"S{WIDTH}"))
    nearest = _path_half(ordered[np.minimum(at, len(ordered) - 1)])
    found: np.ndarray[Any, np.dtype[np.bool_]] = (nearest == paths) & (at < len(ordered))
    return found


def _path_half(digests: Digests) -> Digests:
    return digests.astype(f"S{_HALF}")
