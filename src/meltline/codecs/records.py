"""What every decoder takes and hands over: bytes of a file, and its events in order."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Places = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]


class ByteStream(Protocol):
    """The decompressed bytes of a file, front to back. `readinto` gives 0 at the end only."""

    def readinto(self, buffer: Any, /) -> int | None: ...

    def read(self, size: int = -1, /) -> bytes: ...


class Stream(io.RawIOBase):
    """A ByteStream for those who only want to write `readinto`."""

    def readable(self) -> bool:
        return True

    def readall(self) -> bytes:
        # the inherited one asks for 8 KiB at a time
        parts = []
        while part := self.read(1 << 20):
            parts.append(part)
        return b"".join(parts)


class Unreadable(Exception):
    """The bytes of a file are not what its name or its codec says (cut off, corrupt)."""


@dataclass(frozen=True)
class Records:
    """Consecutive events of one file.

    `content` is the event itself: text (large_string), or a struct of columns.
    `place` says where in the file each event is: byte offset of its line, or record number from 0.
    `line` counts from 1; None when nobody counted.
    `bad` names the events that could not be decoded, by index into `content`, and says why.
    """

    content: pa.Array
    place: Places
    line: Places | None
    bad: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.place)

    def pieces(self, rows: int) -> Iterator[Records]:
        """The same events, at most so many at a time."""
        if len(self) <= rows:
            yield self
            return
        for start in range(0, len(self), rows):
            part = slice(start, start + rows)
            line = None if self.line is None else self.line[part]
            bad = {i - start: why for i, why in self.bad.items() if start <= i < start + rows}
            yield Records(self.content.slice(start, rows), self.place[part], line, bad)


def one_bad(body: str, reason: str, *, place: int, line: int | None) -> Records:
    """A single event that could not be decoded."""
    return Records(
        pa.array([body], pa.large_string()),
        np.array([place], np.int64),
        None if line is None else np.array([line], np.int64),
        {0: reason},
    )
