"""The columns of a schema at every depth, by path. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType


@dataclass(frozen=True)
class Column:
    """A field with Iceberg's dotted `path`, and that of its `parent`; None: a column of its own.
    `fixed`: the element, key or value of a container, which is there as long as the container."""

    path: str
    parent: str | None
    field: NestedField
    fixed: bool = False

    @property
    def id(self) -> int:
        return self.field.field_id

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def type(self) -> IcebergType:
        return self.field.field_type


def columns(type_: IcebergType, parent: str | None = None) -> Iterator[Column]:
    """Parents before their children, otherwise in the schema's order."""
    for field in children(type_):
        path = join(parent, field.name)
        yield Column(path, parent, field, not isinstance(type_, StructType))
        yield from columns(field.field_type, path)


def join(parent: str | None, name: str) -> str:
    return name if parent is None else f"{parent}.{name}"


def children(type_: IcebergType) -> tuple[NestedField, ...]:
    if isinstance(type_, StructType):
        return type_.fields
    if isinstance(type_, ListType):
        return (type_.element_field,)
    if isinstance(type_, MapType):
        return (type_.key_field, type_.value_field)
    return ()
