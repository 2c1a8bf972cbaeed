"""The ways from an event to the columns of a table: what to extract, and the columns over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.types import NestedField

from meltline.expressions.quoting import quote_identifier, quote_literal
from meltline.kernels.columns import Column, fast_column, typed_column, typed_name
from meltline.kernels.extraction import RAW, extract_sql, places
from meltline.kernels.json_exact import exact
from meltline.kernels.spelling import AS_IN_THE_TABLE, Spellings, absent_sql, pick_sql
from meltline.kernels.sql_types import write_default_sql
from meltline.model.event import Shape


@dataclass(frozen=True)
class Reading:
    """Which fields of events count (the others are as if they were absent), how they are spelled,
    and which columns `identify` a row: those never get a default value."""

    allows: Callable[[str], bool] = lambda _: True
    spell: Spellings = AS_IN_THE_TABLE
    identify: frozenset[str] = field(default_factory=frozenset)

    def default(self, column: NestedField) -> str | None:
        return None if column.name in self.identify else write_default_sql(column)


@dataclass(frozen=True)
class Way:
    """What to extract, the columns over it, their raw texts for reasons, and whether any field of
    the event is a column at all. `empty` is true where no column has a value of the event's own;
    None when the columns tell, because none has a default."""

    extract: str
    columns: list[Column]
    raws: list[str]
    matches: str = "true"
    empty: str | None = None


def json_fast(fields: Sequence[NestedField], reading: Reading) -> Way:
    spelled = [reading.spell.of(f) for f in fields]
    found = places([names[0] for names in spelled], "j")
    columns = [fast_column(place, f.field_type, reading.spell)
               for place, f in zip(found, fields, strict=True)]
    kinds = [(names[0], c.kind) for names, c in zip(spelled, columns, strict=True)]
    others = [(i, name) for i, names in enumerate(spelled) for name in names[1:]]
    more = places([name for name, _ in kinds] + [name for _, name in others], "j")[len(kinds):]
    for (i, _), place in zip(others, more, strict=True):
        # which of two spellings counts is left to the exact way
        doubt = f"{place} IS NOT NULL"
        columns[i] = replace(columns[i], doubt=f"{columns[i].doubt or 'false'} OR {doubt}")
    extract = _named(extract_sql("body", [*kinds, *((name, RAW) for _, name in others)]))
    return _with_defaults(Way(extract, columns, found), fields, reading, [*found, *more])


def json_exact(fields: Sequence[NestedField], reading: Reading) -> Way:
    names = [name for f in fields for name in reading.spell.of(f)]
    found = places(names, "j")
    picked = []
    for f in fields:
        spelled = reading.spell.of(f)
        own, found = found[:len(spelled)], found[len(spelled):]
        picked.append(pick_sql(own, spelled, f.name, "body"))
    columns = [Column(exact(place, f.field_type, spell=reading.spell))
               for place, f in zip(picked, fields, strict=True)]
    known = ", ".join(quote_literal(name) for f in fields if reading.allows(f.name)
                      for name in reading.spell.of(f))
    matches = f"coalesce(list_has_any(json_keys(body), [{known}]), false)" if known else "false"
    way = Way(_named(extract_sql("body", [(name, RAW) for name in names])), columns,
              [f"{place}::VARCHAR" for place in picked], matches)
    return _with_defaults(way, fields, reading, [])


def typed_way(fields: Sequence[NestedField], shape: Shape, reading: Reading) -> Way:
    columns, raws, known, defaults = [], [], False, False
    for f in fields:
        name = typed_name(shape, f, reading.spell) if reading.allows(f.name) else None
        made = None if name is None else typed_column(shape, f, reading.spell)
        known = known or made is not None
        default = reading.default(f)
        defaults = defaults or default is not None
        columns.append(made or Column(default or "NULL"))
        raws.append("NULL" if name is None else f"row.{quote_identifier(name)}::VARCHAR")
    return Way("row", columns, raws, "true" if known else "false",
               "true" if defaults and not known else None)


def _with_defaults(
    way: Way, fields: Sequence[NestedField], reading: Reading, own: Sequence[str]
) -> Way:
    """What is not allowed counts as absent, and what is absent gets the column's default. `own`
    are the places that tell whether the event has any value; without them nobody asks."""
    columns, raws, defaults = list(way.columns), list(way.raws), False
    for i, f in enumerate(fields):
        default = reading.default(f)
        defaults = defaults or default is not None
        if not reading.allows(f.name):
            columns[i], raws[i] = Column(default or "NULL"), "NULL"
        elif default is not None:
            absent = absent_sql(reading.spell.of(f), "body")
            value = f"CASE WHEN {raws[i]} IS NULL AND {absent} THEN {default} " \
                    f"ELSE {columns[i].value} END"
            columns[i] = replace(columns[i], value=value)
    if not defaults or not own:
        return replace(way, columns=columns, raws=raws)
    empty = " AND ".join(f"{place} IS NULL" for place in own)
    return replace(way, extract=f"{way.extract}, body", columns=columns, raws=raws, empty=empty)


def _named(structs: Sequence[str]) -> str:
    return ", ".join(f"{struct} AS j{i}" for i, struct in enumerate(structs))
