"""The JSON that a variant stands for, out of its bytes, by the rules of kernels/document_json.py.

Scalars are spelled as DuckDB does, letter by letter: texts made by both are compared
(kernels/scalar_text.py). Numbers keep all their digits, decimals too: a decimal in a variant mostly
was a number in JSON.
"""

from __future__ import annotations

import struct
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from meltline.kernels.scalar_text import (
    MICROS,
    NANOS,
    date_text,
    json_float,
    json_string,
    time_text,
    timestamp_text,
)
from meltline.kernels.variant_layout import ARRAY, OBJECT, SHORT_TEXT, container, number
from meltline.kernels.variant_names import names_of


def variant_json(metadata: bytes, value: bytes) -> str:
    """No limit to nesting: what is left to do waits in a list, not on the stack."""
    names = names_of(metadata)
    made: list[str] = []
    waiting: list[int | str] = [0]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            made.append(part)
        elif (kind := value[part] & 3) == OBJECT:
            waiting += reversed(_object(names, value, part))
        elif kind == ARRAY:
            waiting += reversed(_array(value, part))
        else:
            made.append(_scalar(value, part, kind))
    return "".join(made)


def _scalar(data: bytes, at: int, kind: int) -> str:
    head = data[at] >> 2
    if kind == SHORT_TEXT:
        return _text(data[at + 1:at + 1 + head])
    if head not in _PRIMITIVES:
        raise ValueError(f"a variant with a value of the unknown type {head}")
    return _PRIMITIVES[head](data, at + 1)


def _object(names: Sequence[str], data: bytes, at: int) -> list[int | str]:
    """Texts, and between them the places of values."""
    found = container(data, at)
    parts: list[int | str] = []
    for i in range(found.count):
        name = names[found.name(data, i)]
        parts += (f"{',' if i else '{'}{_text(name)}:", found.place(data, i))
    return [*parts, "}"] if parts else ["{}"]


def _array(data: bytes, at: int) -> list[int | str]:
    """Texts, and between them the places of values."""
    found = container(data, at)
    parts: list[int | str] = []
    for i in range(found.count):
        parts += ("," if i else "[", found.place(data, i))
    return [*parts, "]"] if parts else ["[]"]


def _signed(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at:at + width], "little", signed=True)


def _text(text: bytes | str) -> str:
    return json_string(text.decode() if isinstance(text, bytes) else text)


def _float(form: str) -> Callable[[bytes, int], str]:
    return lambda data, at: json_float(*struct.unpack_from(form, data, at))


def _int(width: int) -> Callable[[bytes, int], str]:
    return lambda data, at: str(_signed(data, at, width))


def _decimal(width: int) -> Callable[[bytes, int], str]:
    def spell(data: bytes, at: int) -> str:
        number = _signed(data, at + 1, width)
        digits = tuple(map(int, str(abs(number))))
        return format(Decimal((number < 0, digits, -data[at])), "f")

    return spell


def _moment(unit: int, zone: str = "") -> Callable[[bytes, int], str]:
    return lambda data, at: f'"{timestamp_text(_signed(data, at, 8), unit, zone)}"'


def _sized(data: bytes, at: int) -> bytes:
    return data[at + 4:at + 4 + number(data, at, 4)]


_PRIMITIVES: Mapping[int, Callable[[bytes, int], str]] = {
    0: lambda *_: "null", 1: lambda *_: "true", 2: lambda *_: "false",
    3: _int(1), 4: _int(2), 5: _int(4), 6: _int(8), 7: _float("<d"),
    8: _decimal(4), 9: _decimal(8), 10: _decimal(16),
    11: lambda data, at: f'"{date_text(_signed(data, at, 4))}"',
    12: _moment(MICROS, "Z"), 13: _moment(MICROS), 14: _float("<f"),
    15: lambda data, at: f'"{b64encode(_sized(data, at)).decode()}"',
    16: lambda data, at: _text(_sized(data, at)),
    17: lambda data, at: f'"{time_text(_signed(data, at, 8), MICROS)}"',
    18: _moment(NANOS, "Z"), 19: _moment(NANOS),
    20: lambda data, at: f'"{uuid.UUID(bytes=data[at:at + 16])}"',
}
