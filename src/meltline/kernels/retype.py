"""Arrow arrays as DuckDB hands them over, in the exact types of a table's Parquet files."""

from __future__ import annotations

import pyarrow as pa


def retype_table(columns: list[pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    """Columns by position; names, field ids and nullability come from `schema`."""
    pairs = zip(columns, schema, strict=True)
    arrays = [retype(_one(column), field.type) for column, field in pairs]
    return pa.Table.from_arrays(arrays, schema=schema)


def retype(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Nested children by position, leaves by cast. The values do not change."""
    if array.type == target:
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), target)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(target):
        children = [retype(array.field(i), target.field(i).type) for i in range(target.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)
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


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
