"""Iceberg's types by the names that DuckDB has for them, and values of them as SQL."""

from __future__ import annotations

from pyiceberg.conversions import to_json
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    FixedType,
    IcebergType,
    NestedField,
    PrimitiveType,
    UUIDType,
)

from meltline.errors import UserError
from meltline.expressions.quoting import quote_literal

_NAMES = {
    "boolean": "BOOLEAN", "int": "INTEGER", "long": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "VARCHAR", "date": "DATE", "time": "TIME",
    "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "binary": "BLOB", "timestamp_ns": "TIMESTAMP_NS",
    "variant": "VARIANT",
}  # fmt: skip


def sql_type(type_: IcebergType) -> str | None:
    """The type that holds the same values, if there is one."""
    if isinstance(type_, DecimalType):
        return f"DECIMAL({type_.precision},{type_.scale})"
    return _NAMES.get(str(type_))


def write_default_sql(field: NestedField) -> str | None:
    """SQL: what the column holds in a row whose event says nothing of it; None for null."""
    value, type_ = field.write_default, field.field_type
    if value is None:
        return None
    if isinstance(type_, UUIDType):
        return f"unhex({quote_literal(str(value).replace('-', ''))})"
    if isinstance(type_, BinaryType | FixedType) and isinstance(value, bytes):
        return f"unhex({quote_literal(value.hex())})"
    name = sql_type(type_)
    if name is None or not isinstance(type_, PrimitiveType):
        raise UserError(f'column "{field.name}" ({type_}) has a default value, which is not '
                        f"supported for its type",
                        hint="remove the column's default, or put the column into every event")
    return f"CAST({quote_literal(str(to_json(type_, value)))} AS {name})"
