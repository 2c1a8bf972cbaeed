"""Variants as the text of the JSON they stand for: in SQL, `meltline_variant_text(...)`.

DuckDB's own cast is right for what JSON itself has, and for dates, times and UUIDs. The few values
that it spells in another way than documents do are read byte by byte (kernels/variant_json.py).
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.expressions.variants import VARIANT_TEXT, variant_text_sql
from meltline.kernels.variant_json import variant_json

__all__ = ["register_variant_text", "variant_text_sql"]

_BINARY = bytes((15 << 2,))
"""How binary begins. Its text may look like any other."""
_DOUBT = r"NaN|Infinity|[\d)] \d\d:\d\d:\d\d"
"""Floats that JSON has not, and timestamps, which may be `(BC)`."""


def register_variant_text(connection: duckdb.DuckDBPyConnection) -> None:
    connection.create_function(  # type: ignore[call-overload]
        VARIANT_TEXT, _texts, ["VARIANT", "VARCHAR"], "VARCHAR", type="arrow",
        null_handling="special")


def _texts(variants: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    metadata, values = (pc.struct_field(variants, [name]) for name in ("metadata", "value"))
    doubt = pc.and_(pc.is_valid(variants), pc.or_(
        pc.match_substring(values, _BINARY),
        pc.fill_null(pc.match_substring_regex(texts, _DOUBT), fill_value=True)))
    if not pc.any(doubt).as_py():
        return texts
    pairs = zip(metadata.filter(doubt).to_pylist(), values.filter(doubt).to_pylist(), strict=True)
    exact = pa.array([variant_json(*pair) for pair in pairs], texts.type)
    return pc.replace_with_mask(texts, doubt.combine_chunks(), exact)
