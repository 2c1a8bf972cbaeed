"""What the shuffle brought to one task: in memory as long as it is little, then in a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO

from meltline.engine.rounds import Piece

HELD_BYTES = 256 << 20
TOGETHER_BYTES = 32 << 20

Tag = tuple[int, int]
"""Where a piece came from: the shuffle keeps no order of its own."""


class Arrivals:
    """Of all buckets that are one task's. Filled first, then read, once.

    `held` is how many bytes stay in memory, `together` how many are handed out at once, unless a
    single bucket has more."""

    def __init__(self, held: int = HELD_BYTES, together: int = TOGETHER_BYTES) -> None:
        self._held = held
        self._together = together
        self._pieces: dict[int, list[tuple[Tag, int, bytes | int]]] = defaultdict(list)
        self._file: IO[bytes] | None = None

    def add(self, bucket: int, tag: Tag, piece: bytes) -> None:
        size = len(piece)
        self._held -= size
        if self._held >= 0:
            self._pieces[bucket].append((tag, size, piece))
            return
        # without a name from the start: it is gone with this process, however that ends
        self._file = self._file or TemporaryFile()  # noqa: SIM115
        self._pieces[bucket].append((tag, size, self._file.tell()))
        self._file.write(piece)

    def groups(self) -> Iterator[list[Piece]]:
        """Whole buckets, small ones together, in their order and that of their pieces' tags."""
        waiting: list[int] = []
        size = 0
        for bucket in sorted(self._pieces):
            own = sum(piece[1] for piece in self._pieces[bucket])
            if waiting and size + own > self._together:
                yield self._take(waiting)
                waiting, size = [], 0
            waiting.append(bucket)
            size += own
        if waiting:
            yield self._take(waiting)
        if self._file is not None:
            self._file.close()

    def _take(self, buckets: list[int]) -> list[Piece]:
        """What was handed out is not kept."""
        return [(bucket, self._content(size, place)) for bucket in buckets
                for _, size, place in sorted(self._pieces.pop(bucket), key=lambda one: one[0])]

    def _content(self, size: int, place: bytes | int) -> bytes:
        if isinstance(place, bytes) or self._file is None:
            return bytes(place)
        self._file.seek(place)
        return self._file.read(size)
