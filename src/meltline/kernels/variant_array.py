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
from meltline.kernels.variant_check import variant_errors
from meltline.kernels.variant_names import restored, unused_suffix
from meltline.kernels.variant_shredded import regular

NO_NAMES = b"\x01\x00\x00"
"""The metadata of a variant without objects."""
NULL = b"\x00"
"""The variant null, which is a value."""
_ID = 1
_HINT = "rewrite the file without write.parquet.shred-variants"


def variant_array(array: pa.Array, column: str = "") -> pa.Array:
    """An array of the type VARIANT. Null stays null, and the variant null a value.

    Raises RunError, which names the column, for shredded variants that DuckDB cannot read."""
    nulls = array.is_null() if array.null_count else None
    if array.type.get_field_index("typed_value") >= 0:
        with variant_errors(column, _HINT):
            array = _whole(array)
    parts = [_part(array, "metadata", NO_NAMES), _part(array, "value", NULL)]
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=nulls)


def _part(array: pa.Array, name: str, missing: bytes) -> pa.Array:
    """Without nulls, also where the variant is null: Parquet's writer looks."""
    part = pc.struct_field(array, [name]).cast(pa.large_binary())
    return pc.fill_null(part, pa.scalar(missing, pa.large_binary()))


def _whole(array: pa.Array) -> pa.Array:
    suffix = unused_suffix(array)
    whole = _through_duckdb(regular(array, suffix))
    parts = [restored(whole.field("metadata"), suffix), whole.field("value")]
    return pa.StructArray.from_arrays(parts, fields=list(whole.type),
                                      mask=whole.is_null() if whole.null_count else None)


def _through_duckdb(array: pa.Array) -> pa.Array:
    schema = pa.schema([variant_field("v", array.type, _ID)])
    written = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([array], schema=schema), written, compression="none",
                   store_decimal_as_integer=True, store_schema=False)
    with tempfile.TemporaryDirectory(prefix="meltline-") as folder, connect() as connection:
        path = Path(folder) / "variants.parquet"
        path.write_bytes(mark_variants(written.getvalue(), [_ID]))
        read = connection.sql(f"SELECT v FROM read_parquet({quote_literal(str(path))})")
        found = read.to_arrow_table().column("v").combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
