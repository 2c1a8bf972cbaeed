"""Scalars as the text that DuckDB makes of them, in JSON and of dates and times."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

MICROS, NANOS = 10**6, 10**9
"""Units in a second."""
_DAY = 24 * 60 * 60
_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(plain): "\\" + letter
    for plain, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}


def json_string(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def json_float(value: float) -> str:
    """The fewest digits that tell the number; an exponent where JavaScript has one. NaN and the
    infinities are texts."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    number = Decimal(repr(value))
    exponent = number.adjusted()
    if -7 < exponent < 21:
        text = format(number, "f")
        return text if "." in text else f"{text}.0"
    return f"{number.scaleb(-exponent).normalize()}e{exponent}"


def date_text(days: int) -> str:
    return _infinite(days, 31) or _date(days)


def timestamp_text(units: int, second: int, zone: str) -> str:
    """`units` since 1970, so many to the second. As documents have it: no blanks."""
    if infinite := _infinite(units, 63):
        return infinite
    days, rest = divmod(units, _DAY * second)
    return f"{_date(days)} {time_text(rest, second)}".replace(" ", "T") + zone


def time_text(units: int, second: int) -> str:
    """No more digits of a second than there are."""
    seconds, part = divmod(units, second)
    whole = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = f"{second + part}"[1:].rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _date(days: int) -> str:
    year, month, day = str(np.datetime64(days, "D")).rsplit("-", 2)
    era = int(year)
    return f"{era:04}-{month}-{day}" if era > 0 else f"{1 - era:04}-{month}-{day} (BC)"


def _infinite(number: int, bits: int) -> str | None:
    """DuckDB takes the largest number, and its negative, for no time at all."""
    largest = 2**bits - 1
    return "infinity" if number == largest else "-infinity" if number == -largest else None
