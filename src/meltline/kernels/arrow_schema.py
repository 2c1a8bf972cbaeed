"""A table's columns in Arrow, as they are read, compared and written.

A variant is a struct of its two parts, marked as Arrow's extension of that name: DuckDB takes such
a column for a VARIANT and gives one back.
"""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)

from meltline.model.columns import columns
from meltline.model.variant import VariantType

_ID_KEYS = (b"PARQUET:field_id", b"iceberg.id")
_NAME = b"ARROW:extension:name"
_MARK = {_NAME: b"arrow.parquet.variant", b"ARROW:extension:metadata": b""}
VARIANT = pa.struct([pa.field("metadata", pa.large_binary(), nullable=False),
                     pa.field("value", pa.large_binary(), nullable=False)])


def arrow_schema(schema: Schema) -> pa.Schema:
    """With field ids."""
    ids = variant_ids(schema)
    if not ids:
        return schema_to_pyarrow(schema, include_field_ids=True)
    plain = schema_to_pyarrow(Schema(*map(_stand_in, schema.fields)), include_field_ids=True)
    return pa.schema([_marked(field, ids) for field in plain])


def variant_ids(schema: Schema) -> frozenset[int]:
    """The ids of variants at every depth."""
    return frozenset(column.id for column in columns(schema.as_struct())
                     if isinstance(column.type, VariantType))


def is_variant(field: pa.Field) -> bool:
    return bool(field.metadata and field.metadata.get(_NAME) == _MARK[_NAME])


def variant_field(name: str, type_: pa.DataType = VARIANT, id_: int | None = None) -> pa.Field:
    ids = {} if id_ is None else {_ID_KEYS[0]: str(id_).encode()}
    return pa.field(name, type_, metadata={**ids, **_MARK})


def field_id(field: pa.Field) -> int | None:
    for key in _ID_KEYS:
        if field.metadata and key in field.metadata:
            return int(field.metadata[key])
    return None


def _stand_in(field: NestedField) -> NestedField:
    return NestedField(field.field_id, field.name, _plain(field.field_type), field.required)


def _plain(type_: IcebergType) -> IcebergType:
    """A type that Arrow knows, with the same ids."""
    if isinstance(type_, VariantType):
        return BinaryType()
    if isinstance(type_, StructType):
        return StructType(*map(_stand_in, type_.fields))
    if isinstance(type_, ListType):
        return ListType(type_.element_id, _plain(type_.element_type), type_.element_required)
    if isinstance(type_, MapType):
        return MapType(type_.key_id, _plain(type_.key_type), type_.value_id,
                       _plain(type_.value_type), type_.value_required)
    return type_


def _marked(field: pa.Field, ids: frozenset[int]) -> pa.Field:
    type_ = field.type
    if field_id(field) in ids:
        return pa.field(field.name, VARIANT, field.nullable, {**field.metadata, **_MARK})
    if pa.types.is_struct(type_):
        return field.with_type(pa.struct([_marked(one, ids) for one in type_]))
    if pa.types.is_large_list(type_):
        return field.with_type(pa.large_list(_marked(type_.value_field, ids)))
    if pa.types.is_map(type_):
        return field.with_type(pa.map_(_marked(type_.key_field, ids),
                                       _marked(type_.item_field, ids)))
    return field
