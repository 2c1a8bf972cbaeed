"""How rows compare, as SQL: a 128-bit hash of a whole row, equal for equal rows everywhere.

Two 64-bit hashes that share no collision: the second one sees every value in another disguise.
Null equals null and nothing else, NaN equals NaN, -0.0 differs from 0.0, and a map is the set of
its entries: as Iceberg compares. Variants are equal when the JSON they stand for is.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.variant_text import variant_text_sql
from meltline.model.columns import children
from meltline.model.variant import VariantType

_NARROW = (BooleanType, IntegerType, LongType, FloatType, DoubleType, DateType, TimeType,
           TimestampType, TimestamptzType)
"""Hashed one to one: two values never share a hash, so no disguise is needed."""


def row_hash_sql(fields: Sequence[NestedField], prefix: str = "") -> tuple[str, str]:
    """The two halves over columns of these names. `prefix` is `row.` for columns of a struct."""
    first: list[str] = ["1"]
    second: list[str] = ["2"]
    for field in fields:
        source = prefix + quote_identifier(field.name)
        value = comparable(source, field.field_type)
        first.append(value)
        second.append(_disguised(value, field.field_type))
        if isinstance(field.field_type, FloatType | DoubleType):
            # zeros of both signs hash alike
            first.append(f"({source} = 0 AND signbit({source}))")
    return f"hash({', '.join(first)})", f"hash({', '.join(second)})"


def key_hashes_sql(keys: Sequence[NestedField], fields: Sequence[NestedField]) -> str:
    """Columns: k1 and k2 over the key columns, h1 and h2 over all."""
    (k1, k2), (h1, h2) = row_hash_sql(keys), row_hash_sql(fields)
    return f"{k1} AS k1, {k2} AS k2, {h1} AS h1, {h2} AS h2"


def differs_sql(old: str, new: str, field: NestedField) -> str:
    """Whether two single values (of no nested type) are different, by the same rules."""
    if isinstance(field.field_type, FloatType | DoubleType):
        return (f"{old} IS DISTINCT FROM {new} OR "
                f"({old} = 0 AND signbit({old}) IS DISTINCT FROM signbit({new}))")
    return f"{old} IS DISTINCT FROM {new}"


def _disguised(value: str, type_: IcebergType) -> str:
    if isinstance(type_, _NARROW):
        return value
    if isinstance(type_, StringType):
        return f"('~' || {value})"
    return f"('~' || {value}::VARCHAR)"


def comparable(source: str, type_: IcebergType, depth: int = 0) -> str:
    """SQL: a value whose hash does not depend on the order of a map's entries, nor on the bytes
    of a variant."""
    if not _holds_any(type_, MapType, VariantType):
        return source
    if isinstance(type_, VariantType):
        return variant_text_sql(source)
    name = f"v{depth}"
    if isinstance(type_, MapType):
        entry = (f"struct_pack(k := {comparable(f'{name}.key', type_.key_type, depth + 1)}, "
                 f"v := {comparable(f'{name}.value', type_.value_type, depth + 1)})")
        return f"list_sort(list_transform(map_entries({source}), lambda {name}: {entry}))"
    if isinstance(type_, ListType):
        item = comparable(name, type_.element_type, depth + 1)
        return f"list_transform({source}, lambda {name}: {item})"
    if isinstance(type_, StructType):
        parts = ", ".join(
            f"f{i} := {comparable(f'{source}.{quote_identifier(f.name)}', f.field_type, depth)}"
            for i, f in enumerate(type_.fields))
        return f"CASE WHEN {source} IS NOT NULL THEN struct_pack({parts}) END"
    return source


def _holds_any(type_: IcebergType, *kinds: type[IcebergType]) -> bool:
    return isinstance(type_, kinds) or any(
        _holds_any(field.field_type, *kinds) for field in children(type_))
