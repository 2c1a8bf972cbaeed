"""Which columns of a wide table have metrics: the first hundred, and those that are searched by."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, StructType

DEFAULT = "write.metadata.metrics.default"
COLUMN = "write.metadata.metrics.column."
LIMIT = "write.metadata.metrics.max-inferred-column-defaults"
FIRST = 100


def metrics_properties(
    schema: Schema, properties: Mapping[str, str], searched: Collection[int] = ()
) -> dict[str, str]:
    """The properties with a mode for each column that goes without one by default. `searched` are
    ids of columns that have metrics however many come before them."""
    found = dict(properties)
    limit = int(properties.get(LIMIT) or FIRST)
    if DEFAULT in properties:
        return found
    for place, id_ in enumerate(_leaves(schema.as_struct())):
        if place >= limit and id_ not in searched:
            found.setdefault(f"{COLUMN}{schema.find_column_name(id_)}", "none")
    return found


def _leaves(type_: IcebergType, id_: int = 0) -> Iterator[int]:
    if isinstance(type_, StructType):
        for field in type_.fields:
            yield from _leaves(field.field_type, field.field_id)
    elif isinstance(type_, ListType):
        yield from _leaves(type_.element_type, type_.element_id)
    elif isinstance(type_, MapType):
        yield from _leaves(type_.key_type, type_.key_id)
        yield from _leaves(type_.value_type, type_.value_id)
    else:
        yield id_
