"""A column of a table by its field id, also inside of structs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.types import StructType


def column_path(schema: Schema, field_id: int) -> list[str]:
    """The names that lead to a column, from the outermost struct. Empty when there is none, or
    when it is inside of a list or a map."""
    return _path(schema.as_struct(), field_id)


def _path(struct: StructType, field_id: int) -> list[str]:
    for field in struct.fields:
        if field.field_id == field_id:
            return [field.name]
        if isinstance(field.field_type, StructType):
            inside = _path(field.field_type, field_id)
            if inside:
                return [field.name, *inside]
    return []


def column_at(rows: pa.Table, path: Sequence[str]) -> pa.Array:
    """Its values in one array; an extension type by what it stores."""
    column = rows.column(path[0]).combine_chunks()
    array = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    for name in path[1:]:
        array = pc.struct_field(array, name)
    return array.storage if isinstance(array.type, pa.BaseExtensionType) else array
