"""Typed values as JSON, as SQL: what a document looks like where everything is JSON.

Decimals are texts of full precision, bytes are base64, dates and times ISO 8601, a map's keys are
texts, and NaN and the infinities, which JSON has not, are texts too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType

from meltline.expressions.quoting import quote_identifier, quote_literal

_FLOATS = ("FLOAT", "DOUBLE")


def object_json(source: str, fields: Mapping[str, str]) -> str:
    """SQL: a struct with these fields (DuckDB types by name) as a JSON object."""
    parts = [f"{quote_literal(name)}, "
             f"{_value(f'{source}.{quote_identifier(name)}', duckdb.sqltype(type_), 0)}"
             for name, type_ in fields.items()]
    return f"json_object({', '.join(parts)})"


def _value(source: str, type_: DuckDBPyType, depth: int) -> str:
    """SQL: a value as JSON, or one that becomes the right JSON inside of something else. NULL for
    null."""
    nested = type_.id in ("struct", "list", "array", "map")
    inner: dict[str, Any] = dict(type_.children) if nested else {}
    item = f"x{depth}"
    if type_.id == "struct":
        parts = [f"{quote_literal(name)}, "
                 f"{_value(f'{source}.{quote_identifier(name)}', child, depth)}"
                 for name, child in inner.items()]
        return f"CASE WHEN {source} IS NOT NULL THEN json_object({', '.join(parts)}) END"
    if type_.id in ("list", "array"):
        made = _value(item, inner["child"], depth + 1)
        return f"to_json(list_transform({source}, lambda {item}: {made}))"
    if type_.id == "map":
        entry = (f"struct_pack(k := {_text(f'{item}.key', inner['key'])}, "
                 f"v := {_value(f'{item}.value', inner['value'], depth + 1)})")
        entries = f"list_transform(map_entries({source}), lambda {item}: {entry})"
        return f"to_json(map_from_entries({entries}))"
    return _scalar(source, str(type_))


def _scalar(source: str, type_: str) -> str:
    if type_ == "JSON":
        return source
    if type_ in ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
                 "UINTEGER", "UBIGINT", "HUGEINT", "VARCHAR"):
        return source  # made JSON by itself it would be parsed again
    if type_ in _FLOATS:
        names = "WHEN 'nan' THEN 'NaN' WHEN 'inf' THEN 'Infinity' ELSE '-Infinity'"
        return (f"CASE WHEN isfinite({source}) THEN to_json({source}) "
                f"ELSE to_json(CASE {source}::VARCHAR {names} END) END")
    return _text(source, DuckDBPyType(type_))


def _text(source: str, type_: DuckDBPyType) -> str:
    name = str(type_)
    if name == "BLOB":
        return f"to_base64({source})"
    if name == "TIMESTAMP WITH TIME ZONE":
        # the session is in UTC
        return f"regexp_replace(replace({source}::VARCHAR, ' ', 'T'), '\\+00(:00)?$', 'Z')"
    if name.startswith("TIMESTAMP"):
        return f"replace({source}::VARCHAR, ' ', 'T')"
    return f"{source}::VARCHAR"
