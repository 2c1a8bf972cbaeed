"""Sizes in bytes: `64mb`, `1.5gb`, `10b`, or a plain number of bytes. 1 kb is 1024 bytes."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator

from meltline.config.refused import Refused, type_found
from meltline.config.scalars import InWords

_SIZE = re.compile(r"(\d{1,18}(?:\.\d{0,18})?)(b|kb|mb|gb)?")
_UNITS = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_LOOSE = re.compile(r"(\d+(?:\.\d*)?)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_HINT = "write 10b, 512kb, 64mb, 1.5gb, or a plain number of bytes"


def parse_size(text: str) -> int:
    """Bytes; a fraction of a byte is cut off. Raises Refused, with the forms understood."""
    match = _SIZE.fullmatch(re.sub(r"\s", "", text))
    if not match:
        raise Refused(f'"{text}" is not a size', hint=_likely(text))
    number, unit = match[1], match[2] or "b"
    if unit == "b" and "." in number:
        raise Refused(f'"{text}" is not a whole number of bytes', hint=_HINT)
    return int(Decimal(number) * _UNITS[unit])


def _likely(text: str) -> str:
    match = _LOOSE.fullmatch(text.strip())
    return f'did you mean "{match[1]}{match[2].lower()}b"? {_HINT}' if match else _HINT


def format_size(count: int) -> str:
    """The shortest form that says the same."""
    for unit in ("gb", "mb", "kb"):
        if count and count % _UNITS[unit] == 0:
            return f"{count // _UNITS[unit]}{unit}"
    return f"{count}b"


def read_size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise Refused(f'"{value}" is not a size', hint=_HINT)
        return value
    if isinstance(value, str):
        return parse_size(value)
    raise Refused(f"expected a size, found {type_found(value)}", hint=_HINT)


ByteSize = Annotated[int, BeforeValidator(read_size), InWords("size")]
