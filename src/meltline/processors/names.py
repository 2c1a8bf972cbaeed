"""Names that match a regular expression, as DuckDB matches them."""

from __future__ import annotations

from collections.abc import Sequence

from meltline.expressions import quote_literal
from meltline.expressions.trial import trial_connection


def matching_names(regex: str, names: Sequence[str]) -> list[str]:
    """Those names of which the whole matches, in order."""
    query = "SELECT list_filter(CAST(? AS VARCHAR[]), lambda n: regexp_full_match(n, ?))"
    row = trial_connection().execute(query, [list(names), regex]).fetchone()
    return list(row[0]) if row else []


def matches_any(key: str, regexes: Sequence[str]) -> str:
    """SQL: the key (SQL) matches one of the expressions as a whole."""
    return "(" + " OR ".join(f"regexp_full_match({key}, {quote_literal(r)})" for r in regexes) + ")"
