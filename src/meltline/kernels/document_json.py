"""Typed values as JSON, as SQL: what a document looks like where everything is JSON.

Decimals are texts of full precision, bytes are base64, dates and times ISO 8601, a map's keys are
texts, and NaN and the infinities, which JSON has not, are texts too. A variant is the JSON that it
stands for: numbers in it, decimals too, are numbers with all their digits. What holds variants is
put together as text, because DuckDB would read those numbers and round them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType

from meltline.expressions.quoting import quote_identifier, quote_literal
from meltline.kernels.json_text import list_text, map_text, object_text
from meltline.kernels.variant_text import variant_text_sql

_FLOATS = ("FLOAT", "DOUBLE")


def object_json(source: str, fields: Mapping[str, str]) -> str:
    """SQL: a struct with these fields (DuckDB types by name) as a JSON object, or its text."""
    return _object(source, {name: duckdb.sqltype(type_) for name, type_ in fields.items()}, 0)


def _object(source: str, fields: Mapping[str, DuckDBPyType], depth: int) -> str:
    values = {name: _value(f"{source}.{quote_identifier(name)}", type_, depth)
              for name, type_ in fields.items()}
    if any(map(_holds_variant, fields.values())):
        return object_text({name: value if _holds_variant(fields[name]) else f"to_json({value})"
                            for name, value in values.items()})
    parts = [f"{quote_literal(name)}, {value}" for name, value in values.items()]
    return f"json_object({', '.join(parts)})"


def _value(source: str, type_: DuckDBPyType, depth: int) -> str:
    """SQL: a value as JSON, or one that becomes the right JSON inside of something else. NULL for
    null."""
    nested = type_.id in ("struct", "list", "array", "map")
    inner: dict[str, Any] = dict(type_.children) if nested else {}
    item = f"x{depth}"
    if type_.id == "struct":
        return f"CASE WHEN {source} IS NOT NULL THEN {_object(source, inner, depth)} END"
    if type_.id in ("list", "array"):
        made = _value(item, inner["child"], depth + 1)
        if _holds_variant(inner["child"]):
            return list_text(source, item, made)
        return f"to_json(list_transform({source}, lambda {item}: {made}))"
    if type_.id == "map":
        key = _text(f"{item}.key", inner["key"])
        value = _value(f"{item}.value", inner["value"], depth + 1)
        if _holds_variant(inner["value"]):
            return map_text(source, item, key, value)
        entry = f"struct_pack(k := {key}, v := {value})"
        entries = f"list_transform(map_entries({source}), lambda {item}: {entry})"
        return f"to_json(map_from_entries({entries}))"
    return _scalar(source, str(type_))


def _holds_variant(type_: DuckDBPyType) -> bool:
    if type_.id in ("struct", "list", "array", "map"):
        # an array has its size among its children
        return any(_holds_variant(child) for _, child in type_.children
                   if isinstance(child, DuckDBPyType))
    return str(type_) == "VARIANT"


def _scalar(source: str, type_: str) -> str:
    if type_ == "JSON":
        return source
    if type_ == "VARIANT":
        return variant_text_sql(source)
    if type_ in ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
                 "UINTEGER", "UBIGINT", "HUGEINT", "VARCHAR"):
        return source  # made JSON by itself it would be parsed again
    if type_ in _FLOATS:
        names = "WHEN 'nan' THEN 'NaN' WHEN 'inf' THEN 'Infinity' ELSE '-Infinity'"
        return (f"CASE WHEN isfinite({source}) THEN to_json({source}) WHEN {source} IS NOT NULL "
                f"THEN to_json(CASE {source}::VARCHAR {names} END) END")
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
