"""Each file exactly once: which files have been read, in a form that stays small.

The position holds the last fingerprints itself (`recent`) and the others in `segments`, sorted
arrays that lie in blobs. Segments are merged by size, so there are only ever a few of them, and
every fingerprint is rewritten a logarithmic number of times. A file that changes after it was read
has another fingerprint: it is a new file, and read again as a whole.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meltline.engine.protocols import Blobs
from meltline.errors import PositionLost
from meltline.model.plan import Position
from meltline.sources.files.digests import (
    WIDTH,
    Digests,
    contains,
    contains_path,
    from_bytes,
    merge,
)

MAX_RECENT = 256
SEGMENT_NAME = "files-seen"


@dataclass(frozen=True)
class Segment:
    address: str
    count: int


@dataclass(frozen=True)
class Seen:
    """`recent` are fingerprints one after the other, in the order they came."""

    recent: bytes = b""
    segments: tuple[Segment, ...] = ()

    @classmethod
    def from_position(cls, position: Position | None) -> Seen:
        if position is None:
            return cls()
        try:
            return cls(
                base64.b64decode(position.data["recent"], validate=True),
                tuple(Segment(s["address"], int(s["count"])) for s in position.data["segments"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PositionLost("the recorded position is not one of a files source") from error

    def to_position(self) -> Position:
        return Position(
            {
                "recent": base64.b64encode(self.recent).decode(),
                "segments": [{"address": s.address, "count": s.count} for s in self.segments],
            }
        )

    @property
    def count(self) -> int:
        return len(self.recent) // WIDTH + sum(segment.count for segment in self.segments)


class SegmentStore:
    """Segments by address, each loaded once for as long as it is part of the position."""

    def __init__(self) -> None:
        self._loaded: dict[str, Digests] = {}

    def load(self, segment: Segment, blobs: Blobs) -> Digests:
        if segment.address not in self._loaded:
            digests = from_bytes(_whole(blobs.read(segment.address), segment))
            self._loaded[segment.address] = digests
        return self._loaded[segment.address]

    def store(self, digests: Digests, blobs: Blobs) -> Segment:
        segment = Segment(blobs.write(SEGMENT_NAME, digests.tobytes()), len(digests))
        self._loaded[segment.address] = digests
        return segment

    def keep_only(self, segments: Sequence[Segment]) -> None:
        addresses = {segment.address for segment in segments}
        self._loaded = {a: d for a, d in self._loaded.items() if a in addresses}


def find_unread(
    wanted: Digests, seen: Seen, store: SegmentStore, blobs: Blobs
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which files have not been read."""
    read = contains(np.sort(from_bytes(seen.recent)), wanted)
    for segment in seen.segments:
        read |= contains(store.load(segment, blobs), wanted)
    return ~read


def find_rewritten(
    wanted: Digests, seen: Seen, store: SegmentStore, blobs: Blobs
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which files have a path that was read before."""
    known = contains_path(np.sort(from_bytes(seen.recent)), wanted)
    for segment in seen.segments:
        known |= contains_path(store.load(segment, blobs), wanted)
    return known


def add(seen: Seen, digests: Iterable[bytes], store: SegmentStore, blobs: Blobs) -> Seen:
    """The position after some more files. Blobs of merged segments are left behind unused."""
    recent = seen.recent + b"".join(digests)
    if len(recent) <= MAX_RECENT * WIDTH:
        return Seen(recent, seen.segments)
    newest = np.unique(from_bytes(recent))
    segments = list(seen.segments)
    while segments and segments[-1].count < 2 * len(newest):
        newest = merge(store.load(segments.pop(), blobs), newest)
    segments.append(store.store(newest, blobs))
    return Seen(b"", tuple(segments))


def _whole(content: bytes, segment: Segment) -> bytes:
    if len(content) != segment.count * WIDTH:
        raise PositionLost(
            f"{segment.address} should hold {segment.count} fingerprints of files that were read, "
            f"but has {len(content)} bytes"
        )
    return content
