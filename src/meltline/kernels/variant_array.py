"""Variants of a file as arrays of their two parts, whichever way the file holds them.

A file may hold parts of variants as columns of their own ("shredded"). DuckDB puts such variants
together again, but takes them from Parquet alone: the column goes through a file of its own.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from meltline.expressions.quoting import quote_literal
from meltline.kernels.arrow_schema import VARIANT, variant_field
from meltline.kernels.connection import connect
from meltline.kernels.parquet_footer import mark_variants

NO_NAMES = b"\x01\x00\x00"
"""The metadata of a variant without objects."""
NULL = b"\x00"
"""The variant null, which is a value."""
_ID = 1


def variant_array(array: pa.Array) -> pa.Array:
    """An array of the type VARIANT. Null stays null, and the variant null a value."""
    nulls = array.is_null() if array.null_count else None
    if array.type.get_field_index("typed_value") >= 0:
        array = _whole(array)
    parts = [_part(array, "metadata", NO_NAMES), _part(array, "value", NULL)]
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=nulls)


def _part(array: pa.Array, name: str, missing: bytes) -> pa.Array:
    """Without nulls, also where the variant is null: Parquet's writer looks."""
    part = pc.struct_field(array, [name]).cast(pa.large_binary())
    return pc.fill_null(part, pa.scalar(missing, pa.large_binary()))


def _whole(array: pa.Array) -> pa.Array:
    column = variant_field("v", _told(array.type), _ID)
    table = pa.Table.from_arrays([array.cast(column.type)], schema=pa.schema([column]))
    written = io.BytesIO()
    pq.write_table(table, written, compression="none", store_decimal_as_integer=True,
                   store_schema=False)
    with tempfile.TemporaryDirectory(prefix="meltline-") as folder, connect() as connection:
        path = Path(folder) / "variants.parquet"
        path.write_bytes(mark_variants(written.getvalue(), [_ID]))
        read = connection.sql(f"SELECT v FROM read_parquet({quote_literal(str(path))})")
        found = read.to_arrow_table().column("v").combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _told(type_: pa.DataType) -> pa.DataType:
    """Of all that variants hold, only a UUID is 16 bytes; as such it must be written again."""
    if pa.types.is_fixed_size_binary(type_):
        return pa.uuid()
    if pa.types.is_struct(type_):
        return pa.struct([one.with_type(_told(one.type)) for one in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_told(type_.value_type)))
    return type_
