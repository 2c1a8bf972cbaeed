"""Texts with a grammar of their own, checked when the pipeline file is loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator

from meltline.config.refused import Refused
from meltline.expressions import check_condition, check_expression, check_format
from meltline.expressions.dates import EPOCH_UNITS, check_output_pattern, read_pattern
from meltline.expressions.errors import ExpressionError
from meltline.expressions.trial import refusal, trial_connection
from meltline.expressions.zones import parse_zone

_T = TypeVar("_T")


def _checked(check: Callable[[str], object]) -> Any:
    """A validator out of a check that raises ExpressionError or ValueError."""

    def validate(text: str) -> str:
        try:
            check(text)
        except ExpressionError as error:
            raise Refused(error.what, hint=error.hint) from None
        return text

    return AfterValidator(validate)


def _not_empty(values: tuple[_T, ...]) -> tuple[_T, ...]:
    if not values:
        raise ValueError("expected at least one")
    return values


def _just_one(values: tuple[_T, ...]) -> tuple[_T, ...]:
    if len(values) != 1:
        raise ValueError(f"expected exactly one, found {len(values)}")
    return values


def _check_key(key: str) -> None:
    if not key.strip("/"):
        raise ValueError("a key cannot be empty")
    if "${" in key or "%{" in key:
        raise ValueError("a key is fixed text: ${...} and %{...} are not supported here")


def _check_regex(pattern: str) -> None:
    problem = refusal("SELECT regexp_full_match('', ?)", [pattern])
    if problem:
        raise ValueError(f"not a regular expression: {problem}")


def _check_read_pattern(pattern: str) -> None:
    if pattern.startswith("epoch_"):
        if pattern not in EPOCH_UNITS:
            raise ValueError(f"unknown epoch pattern; known: {', '.join(EPOCH_UNITS)}")
        return
    read_pattern(pattern)


def _check_written_pattern(pattern: str) -> None:
    if pattern not in EPOCH_UNITS:
        check_output_pattern(pattern)


def _check_locale(locale: str) -> None:
    if locale.upper() != "ROOT" and locale.replace("_", "-").split("-")[0].lower() != "en":
        raise ValueError("only English names of months and days are known: use en-US or ROOT")


def _check_query(query: str) -> None:
    row = trial_connection().execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    outcome = json.loads(row[0]) if row else {}
    if outcome.get("error"):
        raise ValueError(f"not a SELECT that DuckDB understands: {outcome['error_message']}")
    if len(outcome.get("statements", [])) != 1:
        raise ValueError("write exactly one SELECT statement")


Condition = Annotated[str, _checked(check_condition)]
Expression = Annotated[str, _checked(check_expression)]
Format = Annotated[str, _checked(check_format)]
Key = Annotated[str, _checked(_check_key)]
Regex = Annotated[str, _checked(_check_regex)]
ReadPattern = Annotated[str, _checked(_check_read_pattern)]
WrittenPattern = Annotated[str, _checked(_check_written_pattern)]
TimeZone = Annotated[str, _checked(parse_zone)]
Locale = Annotated[str, _checked(_check_locale)]
Query = Annotated[str, _checked(_check_query)]
Some = Annotated[tuple[_T, ...], AfterValidator(_not_empty)]
"""A list that is not empty; the check comes after those of its members."""
One = Annotated[tuple[_T, ...], AfterValidator(_just_one)]
"""A list of one member."""
