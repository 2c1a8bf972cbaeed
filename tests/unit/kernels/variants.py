"""Variants as bytes, the way the specification has them; for tests."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

Bytes = Mapping[str, bytes]


def encode(value: Any, names: tuple[str, ...] = ()) -> Bytes:
    """`names` come first in the metadata, in this order; others follow as they are met."""
    known = list(names)
    data = _value(value, known)
    return {"metadata": _metadata(known), "value": data}


class Raw(bytes):
    """A value that is bytes already."""


def primitive(kind: int, form: str = "", *parts: Any) -> Raw:
    return Raw(bytes((kind << 2,)) + struct.pack("<" + form, *parts))


def sized(kind: int, content: bytes) -> Raw:
    return Raw(primitive(kind, "I", len(content)) + content)


def _metadata(names: list[str]) -> bytes:
    texts = [name.encode() for name in names]
    ends = [sum(map(len, texts[:i])) for i in range(len(texts) + 1)]
    return b"\x41" + struct.pack(f"<{len(ends) + 1}H", len(names), *ends) + b"".join(texts)


def _value(value: Any, names: list[str]) -> bytes:
    if isinstance(value, Raw):
        return bytes(value)
    if value is None or isinstance(value, bool):
        return bytes(({None: 0, True: 1, False: 2}[value] << 2,))
    if isinstance(value, int):
        return primitive(6, "q", value)
    if isinstance(value, float):
        return primitive(7, "d", value)
    if isinstance(value, str):
        return sized(16, value.encode())
    if isinstance(value, list):
        head = bytes((3 | 3 << 2 | 1 << 4,)) + struct.pack("<I", len(value))
        return head + _parts([_value(one, names) for one in value])
    keys = sorted(value)
    names += [key for key in keys if key not in names]
    head = bytes((2 | 3 << 2 | 3 << 4 | 1 << 6,)) + struct.pack("<I", len(keys))
    ids = struct.pack(f"<{len(keys)}I", *(names.index(key) for key in keys))
    return head + ids + _parts([_value(value[key], names) for key in keys])


def _parts(parts: list[bytes]) -> bytes:
    starts = [sum(map(len, parts[:i])) for i in range(len(parts) + 1)]
    return struct.pack(f"<{len(starts)}I", *starts) + b"".join(parts)


def nested(depth: int, inside: bytes = b"\0") -> bytes:
    """So many arrays of one item around a value; the shortest encoding of each."""
    heads = []
    size = len(inside)
    for _ in range(depth):
        width = (size.bit_length() + 7) // 8
        heads.append(bytes((3 | width - 1 << 2, 1)) + bytes(width) + size.to_bytes(width, "little"))
        size += len(heads[-1])
    return b"".join(reversed(heads)) + inside


def same_json(one: str | None, other: Any) -> bool:
    return one is not None and json.loads(one) == other
