"""Columns of a file of any age as the table has them now: by field id, promoted, with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping, parse_mapping_from_json
from pyiceberg.types import NestedField

from meltline.kernels.arrow_schema import arrow_schema, field_id, is_variant
from meltline.kernels.variant_array import variant_array

NAME_MAPPING = "schema.name-mapping.default"


class Projection:
    """Projects what was read of a file to `schema`, whose Arrow form is `arrow`."""

    def __init__(self, schema: Schema, properties: Mapping[str, str]) -> None:
        self.arrow: pa.Schema = arrow_schema(schema)
        text = properties.get(NAME_MAPPING)
        self._mapping = parse_mapping_from_json(text) if text else None
        self._fields: dict[int, NestedField] = dict(schema._lazy_id_to_field)  # noqa: SLF001

    def columns(self, file: pa.Schema) -> list[str]:
        """Which top-level columns of the file are needed."""
        wanted = {field_id(field) for field in self.arrow}
        return [field.name for field in self._with_ids(file) if field_id(field) in wanted]

    def project(self, read: pa.Table, constants: Mapping[int, Any] | None = None) -> pa.Table:
        """`constants` are values of top-level columns that the file may lack, by id."""
        sources = {field_id(field): (field, place)
                   for place, field in enumerate(self._with_ids(read.schema))}
        columns = []
        for target in self.arrow:
            id_ = field_id(target)
            if id_ in sources:
                source, place = sources[id_]
                chunks = [self._array(chunk, source, target)
                          for chunk in read.column(place).chunks]
                columns.append(pa.chunked_array(chunks, target.type))
            else:
                value = (constants or {}).get(id_ or 0, self._default(id_))
                columns.append(_constant(value, target.type, read.num_rows))
        return pa.Table.from_arrays(columns, schema=self.arrow)

    def _array(self, array: pa.Array, source: pa.Field, target: pa.Field) -> pa.Array:
        if is_variant(target):
            return variant_array(array, target.name)
        if _alike(source, target):
            return array
        if isinstance(array.type, pa.BaseExtensionType) and not isinstance(
                target.type, pa.BaseExtensionType):
            array = array.storage
        if pa.types.is_struct(target.type):
            return self._struct(array, source, target)
        if pa.types.is_large_list(target.type) or pa.types.is_list(target.type):
            values = self._array(array.values, array.type.value_field, target.type.value_field)
            return type(pa.nulls(0, target.type)).from_arrays(
                array.offsets.cast(_offsets(target.type)), values, target.type,
                mask=array.is_null() if array.null_count else None)
        if pa.types.is_map(target.type):
            keys = self._array(array.keys, array.type.key_field, target.type.key_field)
            items = self._array(array.items, array.type.item_field, target.type.item_field)
            return pa.MapArray.from_arrays(array.offsets, keys, items, target.type,
                                           mask=array.is_null() if array.null_count else None)
        if isinstance(target.type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(
                target.type, array.cast(target.type.storage_type))
        # unsafe: a file may hold nanoseconds where the table has microseconds
        return array.cast(target.type, safe=not pa.types.is_timestamp(target.type))

    def _struct(self, array: pa.Array, source: pa.Field, target: pa.Field) -> pa.Array:
        places = {field_id(field): place for place, field in enumerate(source.type)}
        children = []
        for child in target.type:
            id_ = field_id(child)
            if id_ in places:
                children.append(self._array(array.field(places[id_]), source.type[places[id_]],
                                            child))
            else:
                children.append(_constant(self._default(id_), child.type, len(array)))
        return pa.StructArray.from_arrays(children, fields=list(target.type),
                                          mask=array.is_null() if array.null_count else None)

    def _default(self, id_: int | None) -> Any:
        field = self._fields.get(id_ or 0)
        return None if field is None else field.initial_default

    def _with_ids(self, file: pa.Schema) -> list[pa.Field]:
        """A file that another engine wrote may have no ids: by name, else by place."""
        if any(field_id(field) is not None for field in file):
            return list(file)
        if self._mapping is None:
            return [_named(field, place + 1) for place, field in enumerate(file)]
        return [_mapped(field, self._mapping) for field in file]


def _named(field: pa.Field, id_: int) -> pa.Field:
    return field.with_metadata({b"PARQUET:field_id": str(id_).encode()})


def _mapped(field: pa.Field, mapping: NameMapping) -> pa.Field:
    """With the ids of the name mapping, also inside of structs."""
    by_name = {name: one for one in mapping.root for name in one.names}
    found = by_name.get(field.name)
    if found is None:
        return field
    if pa.types.is_struct(field.type) and found.fields:
        inner = NameMapping(found.fields)
        field = field.with_type(pa.struct([_mapped(child, inner) for child in field.type]))
    return field if found.field_id is None else _named(field, found.field_id)


def _alike(source: pa.Field, target: pa.Field) -> bool:
    """Whether an array of one is an array of the other as it is."""
    if not source.type.equals(target.type):
        return False
    places = range(source.type.num_fields)
    return all(field_id(source.type.field(i)) == field_id(target.type.field(i))
               and _alike(source.type.field(i), target.type.field(i)) for i in places)


def _offsets(type_: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_large_list(type_) else pa.int32()


def _constant(value: Any, type_: pa.DataType, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, type_)
    if isinstance(type_, pa.BaseExtensionType):
        bare = value.bytes if hasattr(value, "bytes") else value
        return pa.ExtensionArray.from_storage(type_, _constant(bare, type_.storage_type, rows))
    return pa.repeat(pa.scalar(value, type_), rows)
