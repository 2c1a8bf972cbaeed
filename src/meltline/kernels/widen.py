"""Columns that must take more than they do, judged by the types of a source that carries types.

Types that follow from the values of JSON never widen a column: one event would decide for all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, NestedField, StructType

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.infer import NULLS, TYPED, Guess
from meltline.kernels.spelling import Spellings

_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
_LARGEST = 38
_WIDER = {("int", "long"), ("float", "double")}


@dataclass(frozen=True)
class Widening:
    """A column by its dotted path: its new `type`, and whether it becomes `optional`."""

    path: str
    type: str | None = None
    optional: bool = False


def widenings(schema: Schema, guess: Guess) -> list[Widening]:
    """How columns must change for events of these types. Empty for guesses from JSON."""
    if not isinstance(guess, dict) or not guess.get(TYPED):
        return []
    nulls = set(guess.get(NULLS, ()))
    return [Widening(path, type_, path in nulls and field.required)
            for path, field, seen in _pairs(schema.as_struct(), guess, "")
            if (type_ := wider(field.field_type, seen)) or (path in nulls and field.required)]


def wider(have: IcebergType, seen: Guess) -> str | None:
    """The type that a column has to be promoted to, if it has to and can be."""
    if not isinstance(seen, str):
        return None
    if (str(have), seen) in _WIDER:
        return seen
    one, other = _DECIMAL.fullmatch(str(have)), _DECIMAL.fullmatch(seen)
    if one and other and one[2] == other[2] and int(one[1]) < int(other[1]) <= _LARGEST:
        return seen
    return None


def _pairs(
    type_: IcebergType, guess: Guess, prefix: str
) -> Iterator[tuple[str, NestedField, Guess]]:
    """Every column, at any depth, of which the guess says something."""
    if not isinstance(guess, dict):
        return
    if isinstance(type_, StructType):
        for field in type_.fields:
            if field.name in guess.get("struct", {}):
                path, seen = prefix + field.name, guess["struct"][field.name]
                yield path, field, seen
                yield from _pairs(field.field_type, seen, f"{path}.")
    elif isinstance(type_, ListType) and "list" in guess:
        yield f"{prefix}element", type_.element_field, guess["list"]
        yield from _pairs(type_.element_type, guess["list"], f"{prefix}element.")


def required_places(
    schema: Schema, names: Collection[str], spell: Spellings, without: Collection[str]
) -> list[tuple[str, str]]:
    """The dotted path of each required column that typed events have, with the SQL of whether an
    event has null there. Columns `without` are left out, and what is inside of lists and maps."""
    found = []
    for field in schema.fields:
        name = next((one for one in spell.of(field) if one in names), None)
        if name is not None and field.name not in without:
            found += _required(field, field.name, f"row.{quote_identifier(name)}", "")
    return found


def _required(field: NestedField, path: str, place: str, present: str) -> list[tuple[str, str]]:
    found = [(path, f"{present}{place} IS NULL")] if field.required else []
    if isinstance(field.field_type, StructType):
        for inner in field.field_type.fields:
            found += _required(inner, f"{path}.{inner.name}",
                               f"{place}.{quote_identifier(inner.name)}",
                               f"{place} IS NOT NULL AND ")
    return found


def nulls_sql(events: str, places: Sequence[tuple[str, str]]) -> str:
    """One row: whether any event has null, place by place."""
    tests = ", ".join(f"coalesce(bool_or({test}), false)" for _, test in places)
    return f"SELECT {tests} FROM {events}"
