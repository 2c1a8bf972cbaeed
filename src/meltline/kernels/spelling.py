"""Names of fields whatever the letter case: which spellings of a column's name events use.

Most events spell names as the table does. Spellings are looked up chunk by chunk, and only a chunk
with other ones is converted by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from meltline.expressions.quoting import quote_literal
from meltline.kernels.infer import Guess, merge


@dataclass(frozen=True)
class Spellings:
    """By field id, how events spell a name, the spelling to prefer first. A field that is not here
    is spelled as in the table."""

    others: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def of(self, field_: NestedField) -> tuple[str, ...]:
        return self.others.get(field_.field_id, (field_.name,))


AS_IN_THE_TABLE = Spellings()


def match_spellings(
    schema: Schema, top: Iterable[str], inner: Iterable[str] = ()
) -> Spellings:
    """`top` are the names of the events' own fields, `inner` those of fields inside of them."""
    outside = _folded_names(top)
    inside = _folded_names(inner)
    found = dict(_matches(schema.fields, outside))
    for column in schema.fields:
        for struct in structs(column.field_type):
            found.update(_matches(struct.fields, inside))
    return Spellings(found)


def _matches(
    fields: Sequence[NestedField], names: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Of columns that differ in case only, the first takes the spellings that are nobody's own."""
    own = {field_.name for field_ in fields}
    taken: set[str] = set()
    for field_ in fields:
        folded = field_.name.lower()
        found = names.get(folded, ())
        others = [] if folded in taken else [name for name in found if name not in own]
        taken.add(folded)
        exact = [field_.name] if field_.name in found else []
        if others:
            yield field_.field_id, (*exact, *others)


def _folded_names(names: Iterable[str]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        result.setdefault(name.lower(), []).append(name)
    return result


def structs(type_: IcebergType) -> Iterator[StructType]:
    """Every struct in a type, itself included."""
    if isinstance(type_, StructType):
        yield type_
        for field_ in type_.fields:
            yield from structs(field_.field_type)
    elif isinstance(type_, ListType):
        yield from structs(type_.element_type)
    elif isinstance(type_, MapType):
        yield from structs(type_.key_type)
        yield from structs(type_.value_type)


def names_inside(structure: Any) -> Iterator[str]:
    """Every name in what json_structure says, at any depth."""
    if isinstance(structure, dict):
        for name, inner in structure.items():
            yield name
            yield from names_inside(inner)
    elif isinstance(structure, list):
        for inner in structure:
            yield from names_inside(inner)


def pick_sql(places: Sequence[str], names: Sequence[str], own: str, value: str) -> str:
    """SQL: what the JSON object `value` holds under any of the names. The column's `own` spelling
    wins over the others, also when it holds null."""
    if len(places) == 1:
        return places[0]
    if names[0] != own:
        return f"coalesce({', '.join(places)})"
    other = f"coalesce({', '.join(places[1:])}, NULL)"
    return (f"coalesce({places[0]}, CASE WHEN NOT list_contains(json_keys({value}), "
            f"{quote_literal(own)}) THEN {other} END)")


def absent_sql(names: Sequence[str], value: str) -> str:
    """SQL: whether the JSON object `value` has none of the names; a null is there."""
    listed = ", ".join(quote_literal(name) for name in names)
    return f"NOT list_has_any(json_keys({value}), [{listed}])"


def fold_guess(guess: Guess, type_: IcebergType | None) -> Guess:
    """The guess with names as the table spells them; new names that differ in case only are one,
    spelled as the first of them."""
    if not isinstance(guess, dict):
        return guess
    if "list" in guess:
        element = type_.element_type if isinstance(type_, ListType) else None
        return {"list": fold_guess(guess["list"], element)}
    known = type_.fields if isinstance(type_, StructType) else ()
    types = {field_.name: field_.field_type for field_ in known}
    result: dict[str, Guess] = {}
    for name, inner in guess["struct"].items():
        own = spell_as(name, [*types, *result])
        both = merge(result[own], inner) if own in result else inner
        result[own] = fold_guess(both, types.get(own))
    return {**guess, "struct": result}


def spell_as(name: str, names: Sequence[str]) -> str:
    """The name as one of the `names` is spelled; itself when none is like it."""
    if name in names:
        return name
    return next((one for one in names if one.lower() == name.lower()), name)
