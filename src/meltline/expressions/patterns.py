"""Regular expressions as DuckDB knows them."""

from __future__ import annotations

from meltline.expressions.trial import refusal


def regex_refusal(pattern: str) -> str | None:
    """Why `pattern` is no regular expression; None when it is one."""
    return refusal("SELECT regexp_full_match('', ?)", [pattern])
