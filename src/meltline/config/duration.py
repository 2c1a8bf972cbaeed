"""Durations: ISO 8601 as Data Prepper reads it, and `500ms 30s 5m 1h 1d`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator

from meltline.config.refused import Refused, type_found
from meltline.config.scalars import InWords

_SIMPLE = re.compile(r"(\d{1,18})(ms|s|m|h|d)")
_ISO = re.compile(
    r"P(?:(?P<days>\d{1,18})D)?"
    r"(?:T(?:(?P<hours>\d{1,18})H)?(?:(?P<minutes>\d{1,18})M)?"
    r"(?:(?P<seconds>\d{1,18}(?:[.,]\d{1,9})?)S)?)?",
    re.IGNORECASE,
)
_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_HINT = "write 500ms, 30s, 5m, 1h, 1d, or ISO 8601 such as PT30S, PT5M, P1D"


def parse_duration(text: str) -> timedelta:
    """Raises Refused, with the forms that are understood."""
    compact = re.sub(r"\s", "", text)
    try:
        length = _simple(compact)
        if length is None:
            length = _iso(compact)
    except OverflowError:
        raise Refused(f'"{text}" is too long a duration', hint=_HINT) from None
    if length is None:
        reason = "has no unit" if compact.isdigit() else "is not a duration"
        raise Refused(f'"{text}" {reason}', hint=_HINT)
    return length


def _simple(text: str) -> timedelta | None:
    match = _SIMPLE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2]] if match else None


def _iso(text: str) -> timedelta | None:
    match = _ISO.fullmatch(text)
    # `P` and `P1DT` match the pattern: every part of it is optional
    if not match or not any(match.groups()) or text[-1] in "Tt":
        return None
    parts = {name: value for name, value in match.groupdict().items() if value}
    seconds, _, fraction = parts.pop("seconds", "0").replace(",", ".").partition(".")
    micros = int(fraction.ljust(9, "0")[:6]) if fraction else 0
    whole = {name: int(value) for name, value in parts.items()}
    return timedelta(**whole, seconds=int(seconds), microseconds=micros)


def format_duration(length: timedelta) -> str:
    """The shortest simple form that says the same."""
    for unit in ("d", "h", "m", "s"):
        if length and not length % _UNITS[unit]:
            return f"{length // _UNITS[unit]}{unit}"
    return f"{length // _UNITS['ms']}ms" if length else "0s"


def read_duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Refused(f'"{value}" has no unit', hint=_HINT)
    raise Refused(f"expected a duration, found {type_found(value)}", hint=_HINT)


Duration = Annotated[timedelta, BeforeValidator(read_duration), InWords("duration")]
