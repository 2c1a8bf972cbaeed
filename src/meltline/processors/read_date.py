"""Java date patterns for reading: text to a TIMESTAMP in UTC.

DuckDB's strptime takes `1` for a two-digit day and the like; a regex sees to it that only text
is read that Java's parser would take.
"""

from __future__ import annotations

import re

from meltline.expressions import NOW_VARIABLE, quote_literal
from meltline.expressions.dates import (
    EPOCH_UNITS,
    FIELDS,
    NAMED_ZONES,
    OFFSETS,
    Piece,
    read_pattern,
)
from meltline.expressions.zones import Zone

NOW = f"epoch_ms(CAST(getvariable('{NOW_VARIABLE}') AS BIGINT))"


def read_date(pattern: str, text: str, zone: Zone) -> str:
    """SQL TIMESTAMP (UTC) of a text (SQL), NULL when it does not fit the pattern.

    A time without a zone is one of `zone`. A year, month or day that the pattern lacks is that
    of the epoch.
    """
    if pattern in EPOCH_UNITS:
        return _read_epoch(pattern, text)
    pieces = read_pattern(pattern)
    choices = [_read(pieces, text, zone)]
    if any(piece.letters in OFFSETS and OFFSETS[piece.letters][1] == "Z" for piece in pieces):
        # strptime does not know the letter Z.
        literal = tuple(Piece(literal="Z") if p.letters in OFFSETS else p for p in pieces)
        choices.append(_read(literal, text, Zone("UTC", 0)))
    return choices[0] if len(choices) == 1 else f"COALESCE({', '.join(choices)})"


def _read(pieces: tuple[Piece, ...], text: str, zone: Zone) -> str:
    regex = "".join(_regex(piece) for piece in pieces)
    form = "".join(_form(piece) for piece in pieces)
    prefix, prefix_form = _missing_date(pieces, zone)
    source = f"{prefix} || {text}" if prefix else text
    parsed = f"try_strptime({source}, {quote_literal(prefix_form + form)})"
    if any(piece.letters in OFFSETS or piece.letters in NAMED_ZONES for piece in pieces):
        instant = f"timezone('UTC', {parsed})"
    else:
        instant = zone.instant(f"CAST({parsed} AS TIMESTAMP)")
    return f"CASE WHEN regexp_full_match({text}, {quote_literal(regex)}) THEN {instant} END"


def _regex(piece: Piece) -> str:
    if piece.literal:
        return re.escape(piece.literal)
    if piece.letters in OFFSETS:
        return OFFSETS[piece.letters][2]
    if piece.letters in NAMED_ZONES:
        return "[A-Za-z][A-Za-z0-9_/+-]*"
    if piece.letters.startswith("S"):
        return rf"\d{{{len(piece.letters)}}}"
    return FIELDS[piece.letters][1]


def _form(piece: Piece) -> str:
    if piece.literal:
        return piece.literal.replace("%", "%%")
    if piece.letters in OFFSETS:
        return "%z"
    if piece.letters in NAMED_ZONES:
        return "%Z"
    if piece.letters.startswith("S"):
        return "%f" if len(piece.letters) <= 6 else "%n"
    return FIELDS[piece.letters][0].replace("%-", "%")


def _missing_date(pieces: tuple[Piece, ...], zone: Zone) -> tuple[str, str]:
    """SQL of text to put in front, and its form."""
    letters = "".join(piece.letters for piece in pieces)
    wanted = [] if re.search("[yu]", letters) else ["%Y"]
    if "D" not in letters:
        wanted += [] if "M" in letters else ["%m"]
        wanted += [] if "d" in letters else ["%d"]
    if not wanted:
        return "", ""
    form = "-".join(wanted) + " "
    return f"strftime({zone.local(NOW)}, {quote_literal(form)})", form


def _read_epoch(pattern: str, text: str) -> str:
    number = (
        f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]+') THEN TRY_CAST({text} AS BIGINT) END"
    )
    micros = {
        "epoch_second": f"{number} * CAST(1000000 AS HUGEINT)",
        "epoch_milli": f"{number} * CAST(1000 AS HUGEINT)",
        "epoch_micro": number,
        # Rounds toward the past, as the other way would give times not yet reached.
        "epoch_nano": f"CAST(floor(CAST({number} AS HUGEINT) / 1000) AS HUGEINT)",
    }[pattern]
    return f"TRY(make_timestamp(TRY_CAST({micros} AS BIGINT)))"
