"""The footer of a Parquet file, byte by byte.

It is Thrift's compact protocol: https://github.com/apache/thrift/blob/master/doc/specs
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

MAGIC = b"PAR1"
MOST = 1 << 14
"""Most footers are no larger, and are read in one go."""
_STOP = 0
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _, _STRUCT = range(1, 13)
_SCHEMA, _FIELD_ID, _LOGICAL_TYPE = 2, 9, 10
_VARIANT = bytes((_STRUCT, 16 << 1, 1 << 4 | _BYTE, 1, _STOP, _STOP))
"""LogicalType, a union: field 16 is VariantType, whose field 1 is the version of the encoding."""


def read_footer(path: str) -> bytes:
    """Of a local file. Raises ValueError when it has none, or an encrypted one."""
    with Path(path).open("rb", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - MOST, 0))
        tail = file.read()
        size = int.from_bytes(tail[-8:-4], "little")
        if tail[-4:] != MAGIC or size + 8 > end:
            raise ValueError(f"{path} does not end as a Parquet file does")
        if size + 8 > len(tail):
            file.seek(end - 8 - size)
            tail = file.read()
        return tail[-8 - size:-8]


def schema_part(footer: bytes) -> bytes:
    """The footer up to the end of the schema, which stands at its front: files that begin alike
    have the same columns, types and field ids."""
    cursor = _Cursor(footer)
    for number, kind in cursor.fields():
        cursor.skip(kind)
        if number == _SCHEMA:
            return footer[:cursor.at]
    raise ValueError("a Parquet footer without a schema")


def mark_variants(end: bytes, ids: Collection[int]) -> bytes:
    """The last bytes of a file, from anywhere before its footer on, with the mark of variants on
    the groups that have these field ids. Arrow writes the parts of a variant but not the mark, and
    without it other readers see a struct. Nothing in a file points behind its footer, so it may
    grow."""
    size = int.from_bytes(end[-8:-4], "little")
    start = len(end) - 8 - size
    if end[-4:] != MAGIC or start < 0:
        raise ValueError("not the end of a Parquet file")
    footer = end[start:-8]
    for place, last in reversed(_groups(footer, ids)):
        header = bytes(((_LOGICAL_TYPE - last) << 4 | _STRUCT,))
        footer = footer[:place] + header + _VARIANT + footer[place:]
    return end[:start] + footer + len(footer).to_bytes(4, "little") + MAGIC


def _groups(footer: bytes, ids: Collection[int]) -> list[tuple[int, int]]:
    """Where the elements of the schema with these ids end, and the number of their last field."""
    cursor = _Cursor(footer)
    for number, kind in cursor.fields():
        if number == _SCHEMA:
            found = [cursor.element() for _ in range(cursor.items()[0])]
            return [(end, last) for id_, end, last in found if id_ in ids and last < _LOGICAL_TYPE]
        cursor.skip(kind)
    raise ValueError("a Parquet footer without a schema")


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def element(self) -> tuple[int | None, int, int]:
        """The field id of one element of the schema, where its end is, and its last field."""
        id_, last = None, 0
        for number, kind in self.fields():
            if number == _FIELD_ID:
                id_ = _signed(self.number())
            else:
                self.skip(kind)
            last = number
        return id_, self.at - 1, last

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of each field of a struct; the caller reads or skips its value."""
        last = 0
        while (head := self.byte()) != _STOP:
            step, kind = head >> 4, head & 15
            last = last + step if step else _signed(self.number())
            yield last, kind

    def items(self) -> tuple[int, int]:
        """How many items a list has, and of which kind."""
        head = self.byte()
        return (self.number() if head >> 4 == 15 else head >> 4), head & 15

    def byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def skip(self, kind: int, inside: bool = False) -> None:
        """`inside` a list a boolean has a byte of its own; as a field it is its kind."""
        if kind in (_TRUE, _FALSE):
            self.at += inside
        elif kind == _BYTE:
            self.at += 1
        elif kind in (_I16, _I32, _I64):
            self.number()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            size = self.number()
            self.at += size
        elif kind in (_LIST, _SET):
            count, item = self.items()
            for _ in range(count):
                self.skip(item, inside=True)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        else:
            raise ValueError(f"a Parquet footer with a field of the kind {kind}")


def _signed(zigzag: int) -> int:
    return zigzag >> 1 ^ -(zigzag & 1)
