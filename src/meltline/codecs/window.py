"""A window that slides over a stream: one buffer, reused, that always begins at a record."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from meltline.codecs.records import Bytes, ByteStream

BLOCK = 2 << 20
"""Measured: larger blocks fall out of the processor's cache and halve the speed."""


class Window:
    """`origin` is the offset of the first byte held, `filled` how many bytes are held."""

    def __init__(self, stream: ByteStream, origin: int = 0, block_size: int = BLOCK) -> None:
        self._stream = stream
        self._block_size = block_size
        self._buffer = bytearray(2 * block_size)
        self._array: Bytes = np.frombuffer(self._buffer, np.uint8)
        self.origin = origin
        self.filled = 0

    @property
    def bytes_held(self) -> Bytes:
        """A view: what it shows changes with the next `fill` or `drop`."""
        return self._array[: self.filled]

    @property
    def arrow(self) -> pa.Buffer:
        return pa.py_buffer(self._buffer)

    def fill(self, at_most: int | None = None) -> bool:
        """Read about one more block. False at the end of the stream."""
        size = self._block_size if at_most is None else min(self._block_size, at_most)
        if self.filled + size > len(self._buffer):
            self._grow(self.filled + size)
        # memoryviews are let go at once: they would pin the buffer for good otherwise
        with memoryview(self._buffer) as whole, whole[self.filled : self.filled + size] as room:
            got = self._stream.readinto(room)
        self.filled += got or 0
        return bool(got)

    def drop(self, count: int) -> None:
        """Let go of the first bytes; the rest moves to the front."""
        rest = self.filled - count
        self._array[:rest] = self._array[count : self.filled].copy()
        self.origin += count
        self.filled = rest

    def copy(self, start: int, end: int) -> bytes:
        return self._array[start:end].tobytes()

    def find_newline(self, start: int = 0) -> int:
        return self._buffer.find(b"\n", start, self.filled)

    def _grow(self, size: int) -> None:
        larger = bytearray(max(size, 2 * len(self._buffer)))
        larger[: self.filled] = self._array[: self.filled].data
        self._buffer = larger
        self._array = np.frombuffer(larger, np.uint8)
