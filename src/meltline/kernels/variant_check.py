"""Variants that DuckDB cannot take, found when they are read.

Later on they would fail somewhere inside of a query, where nobody knows the file any more, with an
error that looks as if another try might help.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.errors import RunError
from meltline.kernels.arrow_schema import is_variant, variant_field
from meltline.kernels.connection import connect
from meltline.kernels.variant_depth import TooDeep, check_depth

_HINT = ("write the value in another way: the limits in docs/iceberg-source.md say which are not "
         "read")
_NANOS_WITH_ZONE = bytes((18 << 2,))
"""How such a timestamp begins. DuckDB takes it and cannot give it back."""


def check_variants(table: pa.Table) -> None:
    """Raises RunError for a column with a variant, at any depth, that cannot be read."""
    for field, column in zip(table.schema, table.columns, strict=True):
        for chunk in column.chunks:
            for variants in _variants(field, chunk):
                with variant_errors(field.name):
                    _try(variants)


@contextmanager
def variant_errors(column: str, hint: str = _HINT) -> Iterator[None]:
    """Around work on variants alone, by DuckDB or for it: the same ones fail at every try."""
    try:
        yield
    except (duckdb.Error, TooDeep) as error:
        reason = str(error).partition("\n")[0].rpartition("Error: ")[2]
        raise RunError(f"column {column} has a variant that cannot be read: {reason}",
                       hint=hint) from error


def _variants(field: pa.Field, array: pa.Array) -> Iterator[pa.Array]:
    if is_variant(field):
        yield array
    elif pa.types.is_struct(field.type):
        # flattened, because what a null struct holds is not looked at
        for child, inner in zip(field.type, array.flatten(), strict=True):
            yield from _variants(child, inner)
    elif pa.types.is_large_list(field.type) or pa.types.is_list(field.type):
        yield from _variants(field.type.value_field, array.values)
    elif pa.types.is_map(field.type):
        yield from _variants(field.type.item_field, array.items)


def _try(variants: pa.Array) -> None:
    if variants.null_count == len(variants):
        return
    check_depth(variants.field("value"))
    doubt = variants.filter(pc.match_substring(variants.field("value"), _NANOS_WITH_ZONE))
    with closing(connect()) as connection:
        for name, array, tried in (("v", variants, "count(v)"), ("doubt", doubt, "v")):
            connection.register(name, pa.Table.from_arrays(
                [array], schema=pa.schema([variant_field("v")])))
            connection.sql(f"SELECT {tried} FROM {name}").to_arrow_table()
