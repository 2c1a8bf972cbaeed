"""Snappy in the four ways it is found in files.

- framed: the official stream format (`.sz`); its checksums are not verified
- snappy-java: blocks behind the header `\\x82SNAPPY\\0`
- Hadoop: blocks behind two big-endian lengths
- raw: the whole file is one block
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from meltline.codecs.records import ByteStream, Stream, Unreadable

_FRAMED = b"\xff\x06\x00\x00sNaPpY"
_JAVA = b"\x82SNAPPY\x00"
_JAVA_HEADER = 16
_MAX_RATIO = 64
"""No Snappy block grows more than this: a longer one is not Snappy, and would only cost memory."""


class SnappyStream(Stream):
    """The decompressed bytes of a Snappy file."""

    def __init__(self, raw: ByteStream) -> None:
        self._blocks = _blocks(raw)
        self._held = memoryview(b"")

    def readinto(self, buffer: Any, /) -> int:
        while not self._held:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._held = memoryview(block)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


def _blocks(raw: ByteStream) -> Iterator[pa.Buffer]:
    head = raw.read(_JAVA_HEADER)
    if not head:
        return iter(())
    if head.startswith(_FRAMED):
        return _framed(_Front(head, raw))
    if head.startswith(_JAVA):
        return _java(_Front(head[_JAVA_HEADER:], raw))
    if _looks_like_hadoop(head):
        return _hadoop(_Front(head, raw))
    return iter([_decompress(head + raw.read())])


class _Front:
    """A stream with some bytes put back; reads are complete or raise."""

    def __init__(self, head: bytes, raw: ByteStream) -> None:
        self._head = head
        self._raw = raw

    def at_end(self) -> bool:
        if not self._head:
            self._head = self._raw.read(1)
        return not self._head

    def exactly(self, size: int) -> bytes:
        parts = [self._head[:size]]
        self._head = self._head[size:]
        missing = size - len(parts[0])
        while missing:
            part = self._raw.read(missing)
            if not part:
                raise Unreadable("the Snappy data is cut off")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def number(self, size: int) -> int:
        return int.from_bytes(self.exactly(size), "big")


def _framed(front: _Front) -> Iterator[pa.Buffer]:
    while not front.at_end():
        kind = front.exactly(1)[0]
        content = front.exactly(int.from_bytes(front.exactly(3), "little"))
        if kind == 0x00:
            yield _decompress(content[4:])
        elif kind == 0x01:
            yield pa.py_buffer(content[4:])
        elif kind < 0x80:
            raise Unreadable(f"the Snappy data has a chunk of the unknown type {kind}")


def _java(front: _Front) -> Iterator[pa.Buffer]:
    while not front.at_end():
        yield _decompress(front.exactly(front.number(4)))


def _hadoop(front: _Front) -> Iterator[pa.Buffer]:
    while not front.at_end():
        left = front.number(4)
        while left > 0:
            block = _decompress(front.exactly(front.number(4)))
            if not len(block):
                raise Unreadable("the Snappy data has an empty block")
            left -= len(block)
            yield block


def _looks_like_hadoop(head: bytes) -> bool:
    """Two lengths, then a block that says the first length, or less when there are several."""
    if len(head) < 9:
        return False
    whole, packed = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    size, _ = _varint(head[8:])
    return 0 < size <= whole and 0 < packed <= size + size // 6 + 32


def _decompress(block: bytes) -> pa.Buffer:
    size, _ = _varint(block)
    if size > _MAX_RATIO * len(block):
        raise Unreadable("the Snappy data is corrupt")
    try:
        return pa.decompress(block, decompressed_size=size, codec="snappy")
    except OSError as error:
        raise Unreadable("the Snappy data is corrupt") from error


def _varint(data: bytes) -> tuple[int, int]:
    """The length that a block begins with, and how many bytes it takes."""
    value = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, index + 1
    raise Unreadable("the Snappy data is corrupt")
