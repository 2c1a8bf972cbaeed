"""Where the parts of an object or an array lie in the bytes of a variant:
https://github.com/apache/parquet-format/blob/master/VariantEncoding.md
"""

from __future__ import annotations

from dataclasses import dataclass

SHORT_TEXT, OBJECT, ARRAY = 1, 2, 3
"""What the two lowest bits of a value's first byte say; 0 is any other scalar."""


@dataclass(frozen=True)
class Container:
    """`names` and `places` are where its lists begin, `inside` where its values do."""

    count: int
    names: int
    name_width: int
    places: int
    place_width: int
    inside: int

    def name(self, value: bytes, index: int) -> int:
        """The number of a name in the metadata."""
        return number(value, self.names + index * self.name_width, self.name_width)

    def place(self, value: bytes, index: int) -> int:
        start = self.places + index * self.place_width
        return self.inside + number(value, start, self.place_width)


def container(value: bytes, at: int) -> Container:
    """Of an object or array that begins there."""
    kind, head = value[at] & 3, value[at] >> 2
    wide = 4 if head & (16 if kind == OBJECT else 4) else 1
    count = number(value, at + 1, wide)
    names, name_width = at + 1 + wide, (head >> 2 & 3) + 1 if kind == OBJECT else 0
    places, place_width = names + count * name_width, (head & 3) + 1
    return Container(count, names, name_width, places, place_width,
                     places + (count + 1) * place_width)


def number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at:at + width], "little")
