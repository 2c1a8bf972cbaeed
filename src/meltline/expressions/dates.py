"""Java date patterns (`yyyy-MM-dd'T'HH:mm:ss.SSSXXX`) as DuckDB SQL, for writing and for reading.

Only letters that DuckDB can follow exactly are known; any other one is refused with its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from meltline.expressions.quoting import quote_literal
from meltline.expressions.zones import Zone

EPOCH_UNITS = {
    "epoch_second": 1,
    "epoch_milli": 1_000,
    "epoch_micro": 1_000_000,
    "epoch_nano": 1_000_000_000,
}
# letters -> (format of strftime and strptime, regex that Java's parser would accept)
FIELDS = {
    "yyyy": ("%Y", r"\d{4}"), "uuuu": ("%Y", r"\d{4}"),
    "MM": ("%m", r"\d{2}"), "M": ("%-m", r"\d{1,2}"),
    "MMM": ("%b", "[A-Za-z]{3}"), "MMMM": ("%B", "[A-Za-z]+"),
    "dd": ("%d", r"\d{2}"), "d": ("%-d", r"\d{1,2}"),
    "DDD": ("%j", r"\d{3}"),
    "HH": ("%H", r"\d{2}"), "H": ("%-H", r"\d{1,2}"),
    "hh": ("%I", r"\d{2}"), "h": ("%-I", r"\d{1,2}"),
    "mm": ("%M", r"\d{2}"), "m": ("%-M", r"\d{1,2}"),
    "ss": ("%S", r"\d{2}"), "s": ("%-S", r"\d{1,2}"),
    "a": ("%p", "[AaPp][Mm]"),
    "E": ("%a", "[A-Za-z]{3}"), "EE": ("%a", "[A-Za-z]{3}"), "EEE": ("%a", "[A-Za-z]{3}"),
    "EEEE": ("%A", "[A-Za-z]+"),
}  # fmt: skip
# letters -> (colon between hours and minutes, text of a zero offset, regex)
OFFSETS = {
    "X": ("", "Z", r"[+-]\d{2}(?:\d{2})?"),
    "XX": ("", "Z", r"[+-]\d{4}"),
    "XXX": (":", "Z", r"[+-]\d{2}:\d{2}"),
    "x": ("", "+00", r"[+-]\d{2}(?:\d{2})?"),
    "xx": ("", "+0000", r"[+-]\d{4}"),
    "xxx": (":", "+00:00", r"[+-]\d{2}:\d{2}"),
    "Z": ("", "+0000", r"[+-]\d{4}"),
    "ZZ": ("", "+0000", r"[+-]\d{4}"),
    "ZZZ": ("", "+0000", r"[+-]\d{4}"),
    "ZZZZZ": (":", "Z", r"[+-]\d{2}:\d{2}"),
}
NAMED_ZONES = ("z", "zz", "zzz", "VV")
_PIECE = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<run>([A-Za-z])\3*)|(?P<other>[^A-Za-z'])")


@dataclass(frozen=True)
class Piece:
    """`letters` of one field, or `literal` text between fields."""

    letters: str = ""
    literal: str = ""


def read_pattern(pattern: str) -> tuple[Piece, ...]:
    """The pieces of a pattern; raises ValueError for one that cannot be translated."""
    pieces, position = [], 0
    if not pattern.strip():
        raise ValueError("a date pattern cannot be empty")
    while position < len(pattern):
        match = _PIECE.match(pattern, position)
        if match is None:
            raise ValueError(f"date pattern {pattern!r}: a quote is not closed")
        if match.group("run"):
            pieces.append(_field(pattern, match.group("run")))
        elif match.group("quoted") is not None:
            pieces.append(Piece(literal=match.group("quoted").replace("''", "'") or "'"))
        elif match.group("other") in "[]{}#":
            raise ValueError(f'date pattern {pattern!r}: "{match.group()}" is not supported')
        else:
            pieces.append(Piece(literal=match.group("other")))
        position = match.end()
    return tuple(pieces)


def _field(pattern: str, letters: str) -> Piece:
    known = letters in FIELDS or letters in OFFSETS or letters in NAMED_ZONES
    if not known and not re.fullmatch("S{1,9}", letters):
        raise ValueError(f'date pattern {pattern!r}: "{letters}" is not supported')
    return Piece(letters=letters)


def check_output_pattern(pattern: str) -> None:
    """Raises ValueError when dates cannot be written with this pattern."""
    for piece in read_pattern(pattern):
        if piece.letters in NAMED_ZONES:
            raise ValueError(f'date pattern {pattern!r}: "{piece.letters}" can only be read')


def format_date(pattern: str, instant: str, zone: Zone) -> str:
    """SQL VARCHAR: an instant (SQL TIMESTAMP in UTC) written as the clock of `zone` shows it."""
    local = zone.local(instant)
    parts: list[str] = []
    run = ""
    for piece in read_pattern(pattern):
        if piece.letters in OFFSETS:
            parts += [_written(local, run)] if run else []
            parts.append(_written_offset(piece.letters, instant, local, zone))
            run = ""
        elif re.fullmatch("S+", piece.letters) and piece.letters not in ("SSS", "SSSSSS"):
            parts += [_written(local, run)] if run else []
            digits = f"rpad(strftime({local}, '%f'), 9, '0')"
            parts.append(f"left({digits}, {len(piece.letters)})")
            run = ""
        else:
            run += _strf(piece)
    parts += [_written(local, run)] if run else []
    return "(" + " || ".join(parts) + ")"


def _strf(piece: Piece) -> str:
    if piece.literal:
        return piece.literal.replace("%", "%%")
    return {"SSS": "%g", "SSSSSS": "%f"}.get(piece.letters) or FIELDS[piece.letters][0]


def _written(local: str, strf: str) -> str:
    if "%" not in strf:
        return quote_literal(strf)
    return f"strftime({local}, {quote_literal(strf)})"


def _written_offset(letters: str, instant: str, local: str, zone: Zone) -> str:
    colon, zero, _ = OFFSETS[letters]
    if zone.minutes is not None:
        sign, minutes = "-" if zone.minutes < 0 else "+", abs(zone.minutes)
        text = f"{sign}{minutes // 60:02}{colon}{minutes % 60:02}"
        if letters in ("X", "x") and not minutes % 60:
            text = text[:3]
        return quote_literal(text if minutes else zero)
    minutes_sql = f"date_diff('minute', {instant}, {local})"
    return (
        f"CASE {minutes_sql} WHEN 0 THEN {quote_literal(zero)} "
        f"ELSE CASE WHEN {minutes_sql} < 0 THEN '-' ELSE '+' END"
        f" || lpad(CAST(abs({minutes_sql}) // 60 AS VARCHAR), 2, '0') || "
        + _written_minutes(letters, colon, minutes_sql)
        + " END"
    )


def _written_minutes(letters: str, colon: str, minutes_sql: str) -> str:
    minutes = f"{quote_literal(colon)} || lpad(CAST(abs({minutes_sql}) % 60 AS VARCHAR), 2, '0')"
    if letters in ("X", "x"):
        return f"CASE abs({minutes_sql}) % 60 WHEN 0 THEN '' ELSE {minutes} END"
    return minutes
