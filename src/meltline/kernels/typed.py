"""One value of a typed event to one Iceberg value, as SQL: as it is where the types agree.

What disagrees is converted as if the event had been JSON (kernels/json_exact.py), so that a file
of Parquet and the same file as NDJSON give the same rows. Bytes stay bytes: they are no base64.
"""

from __future__ import annotations

from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType
from pyiceberg.types import (
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    UUIDType,
)

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.json_exact import exact, uuid_bytes
from meltline.kernels.nested import list_of, map_of, struct_of

_SQL_NAMES = {
    "boolean": "BOOLEAN", "int": "INTEGER", "long": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "VARCHAR", "date": "DATE", "time": "TIME",
    "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "binary": "BLOB", "timestamp_ns": "TIMESTAMP_NS",
}  # fmt: skip
_WIDENS = {("INTEGER", "long"), ("SMALLINT", "long"), ("TINYINT", "long"), ("SMALLINT", "int"),
           ("TINYINT", "int"), ("FLOAT", "double")}


def typed(source: str, have: str, want: IcebergType) -> str:
    """SQL: `source` of the DuckDB type `have` as `want`, or NULL when it cannot be converted."""
    return _value(source, duckdb.sqltype(have), want, 0)


def _value(source: str, have: DuckDBPyType, want: IcebergType, depth: int) -> str:
    if isinstance(want, StructType) and have.id == "struct":
        return _struct(source, have, want, depth)
    if isinstance(want, ListType) and have.id in ("list", "array"):
        return _list(source, have, want, depth)
    if isinstance(want, MapType) and have.id == "map":
        return _map(source, have, want, depth)
    return _scalar(source, str(have), want, depth)


def _scalar(source: str, have: str, want: IcebergType, depth: int) -> str:
    if isinstance(want, UUIDType) and have == "UUID":
        return uuid_bytes(source)
    if _SQL_NAMES.get(str(want)) == have or _decimal_name(want) == have:
        return source
    if (have, str(want)) in _WIDENS:
        return f"{source}::{_SQL_NAMES[str(want)]}"
    if have == "BLOB" and isinstance(want, FixedType):
        return f"CASE WHEN octet_length({source}) = {len(want)} THEN {source} END"
    return exact(f"to_json({source})", want, depth)


def _struct(source: str, have: DuckDBPyType, want: StructType, depth: int) -> str:
    known = _children(have)
    values = [_value(f"{source}.{quote_identifier(f.name)}", known[f.name], f.field_type, depth + 1)
              if f.name in known else "NULL" for f in want.fields]
    return f"CASE WHEN {source} IS NOT NULL THEN {struct_of(values, want, depth)} END"


def _list(source: str, have: DuckDBPyType, want: ListType, depth: int) -> str:
    item, inner = f"x{depth}", _children(have)["child"]
    if have.id == "array":
        source = f"{source}::{inner}[]"
    made = _value(item, inner, want.element_type, depth + 1)
    items = source if made == item else f"list_transform({source}, lambda {item}: {made})"
    return list_of(items, want, depth)


def _map(source: str, have: DuckDBPyType, want: MapType, depth: int) -> str:
    entry, inner = f"e{depth}", _children(have)
    return map_of(f"map_entries({source})", entry,
                  _value(f"{entry}.key", inner["key"], want.key_type, depth + 1),
                  _value(f"{entry}.value", inner["value"], want.value_type, depth + 1),
                  want, depth)


def _children(have: DuckDBPyType) -> dict[str, Any]:
    """The types inside: of a struct by name, of a list `child`, of a map `key` and `value`."""
    return dict(have.children)


def _decimal_name(type_: IcebergType) -> str | None:
    if isinstance(type_, DecimalType):
        return f"DECIMAL({type_.precision},{type_.scale})"
    return None
