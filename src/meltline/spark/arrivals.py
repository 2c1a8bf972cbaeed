"""What the shuffle brought to one task: in memory as long as it is little, then in a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO

from meltline.engine.rounds import Piece

HELD_BYTES = 256 << 20
TOGETHER_BYTES = 64 << 20

Tag = tuple[int, int]
"""Where a piece came from: the shuffle keeps no order of its own."""


@dataclass(frozen=True)
class _Waiting:
    tag: Tag
    weight: int
    size: int
    content: bytes | None
    place: int = 0
    """In the file, when the content is there."""


class Arrivals:
    """Of all buckets that are one task's. Filled first, then read, once.

    `held` is how many bytes stay in memory. `together` is what is handed out at once, by the weight
    of the pieces, unless a single bucket has more."""

    def __init__(self, held: int = HELD_BYTES, together: int = TOGETHER_BYTES) -> None:
        self._held = held
        self._together = together
        self._pieces: dict[int, list[_Waiting]] = defaultdict(list)
        self._file: IO[bytes] | None = None

    def add(self, tag: Tag, piece: Piece) -> None:
        size = len(piece.content)
        self._held -= size
        kept = _Waiting(tag, piece.weight, size, piece.content)
        if self._held < 0:
            # without a name from the start: it is gone with this process, however that ends
            self._file = self._file or TemporaryFile()  # noqa: SIM115
            kept = _Waiting(tag, piece.weight, size, None, self._file.tell())
            self._file.write(piece.content)
        self._pieces[piece.bucket].append(kept)

    def groups(self) -> Iterator[list[Piece]]:
        """Whole buckets, light ones together, in their order and that of their pieces' tags."""
        waiting: list[int] = []
        weight = 0
        for bucket in sorted(self._pieces):
            own = sum(one.weight for one in self._pieces[bucket])
            if waiting and weight + own > self._together:
                yield self._take(waiting)
                waiting, weight = [], 0
            waiting.append(bucket)
            weight += own
        if waiting:
            yield self._take(waiting)
        if self._file is not None:
            self._file.close()

    def _take(self, buckets: list[int]) -> list[Piece]:
        """What was handed out is not kept."""
        return [Piece(bucket, self._content(one), one.weight) for bucket in buckets
                for one in sorted(self._pieces.pop(bucket), key=lambda one: one.tag)]

    def _content(self, kept: _Waiting) -> bytes:
        if kept.content is not None or self._file is None:
            return kept.content or b""
        self._file.seek(kept.place)
        return self._file.read(kept.size)
