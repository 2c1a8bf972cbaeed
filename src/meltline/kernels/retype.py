"""Arrow arrays as DuckDB hands them over, in the exact types of a table's Parquet files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def retype_table(columns: list[pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    """Columns by position; names, field ids and nullability come from `schema`."""
    pairs = zip(columns, schema, strict=True)
    arrays = [retype(_one(column), field.type) for column, field in pairs]
    return pa.Table.from_arrays(arrays, schema=schema)


def retype(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Nested children by position, leaves by cast. The values do not change."""
    if array.type == target:
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(target):
        parts = (array.field(i) if pa.types.is_struct(array.type) else array
                 for i in range(target.num_fields))
        children = [_for_parent(retype(part, field.type), field, mask)
                    for part, field in zip(parts, target, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)
    if array.null_count == len(array):
        return pa.nulls(len(array), target)
    if pa.types.is_map(target):
        keys = retype(array.keys, target.key_type)
        items = retype(array.items, target.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=target, mask=mask)
    if pa.types.is_large_list(target):
        values = retype(array.values, target.value_type)
        return pa.LargeListArray.from_arrays(
            array.offsets.cast(pa.int64()), values, type=target, mask=mask)
    if isinstance(target, pa.BaseExtensionType):
        storage = array.storage if isinstance(array.type, pa.BaseExtensionType) else array
        return pa.ExtensionArray.from_storage(target, storage.cast(target.storage_type))
    if pa.types.is_timestamp(target) and array.type.tz is None and target.tz:
        return array.cast(pa.timestamp(target.unit)).cast(target)
    return array.cast(target)


def _for_parent(child: pa.Array, field: pa.Field, mask: pa.Array | None) -> pa.Array:
    """A required child has no null even where its struct is null: Parquet's writer looks."""
    if mask is None or field.nullable or not child.null_count:
        return child
    # nothing is read from there: any value will do, and it is put behind the others to be taken
    places = pc.if_else(child.is_null(), len(child), pa.array(np.arange(len(child))))
    return pa.concat_arrays([child, _any_value(child.type)]).take(places)


def _any_value(type_: pa.DataType) -> pa.Array:
    """One value, not null."""
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, _any_value(type_.storage_type))
    if pa.types.is_struct(type_):
        children = [pa.nulls(1, f.type) if f.nullable else _any_value(f.type) for f in type_]
        return pa.StructArray.from_arrays(children, fields=list(type_))
    if pa.types.is_nested(type_):
        return pa.array([[]], type_)
    if pa.types.is_fixed_size_binary(type_):
        return pa.array([bytes(type_.byte_width)], type_)
    if pa.types.is_large_string(type_) or pa.types.is_large_binary(type_):
        return pa.array([b""], type_)
    return pa.array([False if pa.types.is_boolean(type_) else 0], type_)


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
