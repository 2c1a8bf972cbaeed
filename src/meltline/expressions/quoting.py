"""The one place where names and values become SQL text."""

from __future__ import annotations

import json


def quote_identifier(name: str) -> str:
    """A column or field name, safe whatever it holds."""
    if "\0" in name:
        raise ValueError("a name cannot hold the character NUL")
    return '"' + name.replace('"', '""') + '"'


def quote_literal(value: bool | int | float | str | None) -> str:
    """A constant as SQL. Text keeps every character; NUL cannot be part of SQL text."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"CAST({value!r} AS DOUBLE)"
    if "\0" in value:
        raise ValueError("text cannot hold the character NUL")
    return "'" + value.replace("'", "''") + "'"


def quote_list(values: list[str] | tuple[str, ...]) -> str:
    return "[" + ", ".join(quote_literal(value) for value in values) + "]"


def quote_json(value: bool | int | float | str) -> str:
    """SQL for the JSON text of a constant, spelled exactly as DuckDB's JSON functions spell it."""
    control = isinstance(value, str) and any(character < " " for character in value)
    if control or isinstance(value, float):
        # DuckDB and Python write these differently: let DuckDB do it.
        return f"CAST(to_json({quote_literal(value)}) AS VARCHAR)"
    return quote_literal(json.dumps(value, ensure_ascii=False))
