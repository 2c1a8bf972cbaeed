"""The steps by which the columns of a copy follow those of its source. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.schema import Schema

from meltline.errors import UserError
from meltline.kernels.widen import Widening, wider
from meltline.lake.evolution import NewColumn, SchemaSteps
from meltline.model.columns import Column
from meltline.sinks.iceberg.pairing import Pairing
from meltline.sinks.iceberg.source_fields import SourceFields


def follow_fields(
    known: SourceFields, have: Schema, want: Schema, pairing: Pairing
) -> SchemaSteps:
    """None at all when the copy is as it should be. Raises UserError when it cannot follow."""
    _check(known, pairing)
    before = _names(have)
    identifiers = _identifiers(known, before, want, pairing)
    mine = pairing.mine
    return SchemaSteps(
        drops=tuple(path for path in mine
                    if path in pairing.doomed and mine[path].parent not in pairing.doomed),
        renames=(*((mine.path, theirs.name) for theirs, mine in pairing.pairs()
                   if mine.name != theirs.name), *pairing.aside.items()),
        widened=(*(step for theirs, mine in pairing.pairs()
                   if (step := _widened(theirs, mine, identifiers)) is not None),
                 *(Widening(path, optional=True) for path in pairing.aside
                   if mine[path].field.required)),
        adds=tuple(NewColumn(column.parent, column.field.model_dump_json())
                   for column in pairing.missing),
        moves=tuple(_moves(pairing)),
        identifiers=None if set(identifiers) == set(before) else identifiers)


def _check(known: SourceFields, pairing: Pairing) -> None:
    for column in pairing.missing:
        if column.id <= known.last and column.id not in known.fields:
            raise UserError(
                f'column "{column.path}" was dropped at the source and is there again, as after a '
                f"rollback: the copy no longer has its values",
                hint="copy the table anew, or remove the property meltline.source-fields of the "
                     "copy to go on with nulls in that column")


def _widened(theirs: Column, mine: Column, identifiers: tuple[str, ...]) -> Widening | None:
    type_ = wider(mine.type, str(theirs.type)) if theirs.type.is_primitive else None
    optional = (mine.field.required and theirs.field.optional
                and theirs.path not in identifiers)
    return Widening(mine.path, type_, optional) if type_ or optional else None


def _identifiers(
    known: SourceFields, before: tuple[str, ...], want: Schema, pairing: Pairing
) -> tuple[str, ...]:
    """The copy keeps its own until those of the source change. Iceberg wants them required."""
    if tuple(sorted(want.identifier_field_ids)) == known.identifiers:
        return tuple(after for name in before
                     if name not in pairing.aside and (after := pairing.after(name)) is not None)
    wanted = _names(want)
    required = {theirs.path for theirs, mine in pairing.pairs() if mine.field.required}
    return wanted if required.issuperset(wanted) else ()


def _names(schema: Schema) -> tuple[str, ...]:
    return tuple(str(schema.find_column_name(id_)) for id_ in schema.identifier_field_ids)


def _moves(pairing: Pairing) -> Iterator[tuple[str, str | None]]:
    """The source's columns in its order, struct by struct."""
    missing = {column.path for column in pairing.missing}
    wanted: dict[str | None, list[str]] = {}
    have: dict[str | None, list[str]] = {}
    for column in pairing.theirs:
        if not column.fixed and (column.path in pairing.places or column.path in missing):
            wanted.setdefault(column.parent, []).append(column.path)
    parents = {theirs.path: theirs.parent for theirs, _ in pairing.pairs()}
    for path in pairing.mine:
        if (after := pairing.after(path)) is not None and after in parents:
            have.setdefault(parents[after], []).append(after)
    for column in pairing.missing:
        have.setdefault(column.parent, []).append(column.path)
    for parent, order in wanted.items():
        yield from _sort(have[parent], order)


def _sort(have: list[str], wanted: list[str]) -> Iterator[tuple[str, str | None]]:
    for place, path in enumerate(wanted):
        if have[place] != path:
            have.remove(path)
            have.insert(place, path)
            yield path, wanted[place - 1] if place else None
