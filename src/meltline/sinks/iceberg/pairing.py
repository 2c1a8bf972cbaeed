"""Which column of a copy stands for which one of its source. Pure.

Fields of the source are known by id, those of the copy by the path that was remembered for the id.
What else is in the copy belongs to others, and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pyiceberg.schema import Schema
from pyiceberg.types import StructType

from meltline.model.columns import Column, columns, join
from meltline.sinks.iceberg.source_fields import SourceFields


@dataclass(frozen=True)
class Pairing:
    """- mine: all columns of the copy, by path; theirs: all of the source, parents first
    - doomed: columns of the copy that will be gone, with all that is inside of them
    - aside: columns that should be gone too, but that a partition spec speaks of, with the names
      that they get instead. Iceberg loses the partitions of files, and so which deletes reach
      them, when such a column is dropped
    - places: from paths of the source to paths of the copy, of columns that both have
    - missing: what the copy lacks, without what is inside of it
    - hidden: fields that the source still has, but not in the schema that is followed
    """

    mine: Mapping[str, Column]
    theirs: tuple[Column, ...]
    doomed: frozenset[str]
    aside: Mapping[str, str]
    places: Mapping[str, str]
    missing: tuple[Column, ...]
    hidden: Mapping[int, str]

    def pairs(self) -> Iterator[tuple[Column, Column]]:
        """Columns of the source with those of the copy."""
        for column in self.theirs:
            if column.path in self.places:
                yield column, self.mine[self.places[column.path]]

    def after(self, path: str) -> str | None:
        """Where a column of the copy will be; None for one that will be gone."""
        if path in self.doomed:
            return None
        if path in self.aside:
            return self.aside[path]
        if path in self._sources:
            return self._sources[path]
        column = self.mine[path]
        return join(None if column.parent is None else self.after(column.parent), column.name)

    @cached_property
    def _sources(self) -> Mapping[str, str]:
        return {here: there for there, here in self.places.items()}

    def remembered(self) -> dict[int, str]:
        """What is to be remembered when the copy has followed."""
        hidden = {id_: after for id_, path in self.hidden.items() if (after := self.after(path))}
        return hidden | {column.id: column.path for column in self.theirs if not column.fixed}


def pair(
    known: SourceFields, have: Schema, want: Schema, living: Collection[int] = (),
    cut: Collection[int] = (),
) -> Pairing:
    """`have` is the copy's schema, `want` the source's. A field in neither `want` nor `living` was
    dropped. `cut` are the columns of the copy (ids) that any of its partition specs speaks of."""
    mine = {column.path: column for column in columns(have.as_struct())}
    theirs = tuple(columns(want.as_struct()))
    ids = {column.id for column in theirs}
    there = {id_: path for id_, path in known.fields.items() if path in mine}
    gone = {path for id_, path in there.items() if id_ not in ids and id_ not in living}
    held = [path for path in gone if mine[path].id in cut and mine[path].parent is None]
    aside = _aside(sorted(held), {*mine, *(column.path for column in theirs)})
    doomed = frozenset(path for path in mine
                       if (gone - set(held)).intersection(_line(mine, path)))
    kept = {id_: path for id_, path in there.items() if path not in doomed and path not in aside}
    places, missing = _match(theirs, mine, kept, {*doomed, *aside})
    hidden = {id_: path for id_, path in kept.items() if id_ not in ids}
    return Pairing(mine, theirs, doomed, aside, places, tuple(missing), hidden)


def _aside(paths: Collection[str], taken: set[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for path in paths:
        tries = (f"{path}_dropped{number}" for number in ("", *range(2, len(taken) + 3)))
        names[path] = next(name for name in tries if name not in taken)
        taken = taken | {names[path]}
    return names


def _match(
    theirs: Collection[Column], mine: Mapping[str, Column], kept: Mapping[int, str],
    going: Collection[str],
) -> tuple[dict[str, str], list[Column]]:
    places: dict[str, str] = {}
    missing: list[Column] = []
    taken = {*going, *kept.values()}
    for column in theirs:
        if column.parent is not None and column.parent not in places:
            continue  # comes with its parent, or has no place
        parent = None if column.parent is None else places[column.parent]
        named = join(parent, column.name)
        if column.id in kept:
            places[column.path] = kept[column.id]
        elif named in mine and named not in taken:
            # nobody else's: somebody was faster, or it was added by its name
            places[column.path] = named
        elif not column.fixed and (parent is None or isinstance(mine[parent].type, StructType)):
            missing.append(column)
    return places, missing


def _line(mine: Mapping[str, Column], path: str | None) -> Iterator[str]:
    """The path, and those of all that it is inside of."""
    while path is not None:
        yield path
        path = mine[path].parent
