"""Single Iceberg values as text, as SQL: ISO 8601, full precision, base64 for bytes."""

from __future__ import annotations

from pyiceberg.types import (
    BinaryType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
)


def value_text(source: str, type_: IcebergType) -> str:
    """SQL: a primitive value as text, NULL for null."""
    if isinstance(type_, BinaryType | FixedType):
        return f"to_base64({source})"
    if isinstance(type_, TimestampType | TimestampNanoType):
        return f"replace({source}::VARCHAR, ' ', 'T')"
    if isinstance(type_, TimestamptzType | TimestamptzNanoType):
        # the session is in UTC
        return f"regexp_replace(replace({source}::VARCHAR, ' ', 'T'), '\\+00(:00)?$', 'Z')"
    if isinstance(type_, FloatType | DoubleType):
        # there are many NaNs, and some would be spelled with a sign
        return f"CASE WHEN isnan({source}) THEN 'nan' ELSE {source}::VARCHAR END"
    return f"{source}::VARCHAR"
