"""One value of a typed event to one Iceberg value, as SQL: as it is where the types agree.

What disagrees is converted as if the event had been JSON (kernels/json_exact.py), so that a file
of Parquet and the same file as NDJSON give the same rows. Bytes stay bytes: they are no base64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType
from pyiceberg.types import (
    FixedType,
    IcebergType,
    ListType,
    MapType,
    StringType,
    StructType,
    UnknownType,
    UUIDType,
)

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.json_exact import exact, uuid_bytes
from meltline.kernels.nested import list_of, map_of, struct_of
from meltline.kernels.spelling import AS_IN_THE_TABLE, Spellings
from meltline.kernels.sql_types import sql_type, write_default_sql
from meltline.kernels.variant_text import variant_text_sql

_WIDENS = {("INTEGER", "long"), ("SMALLINT", "long"), ("TINYINT", "long"), ("SMALLINT", "int"),
           ("TINYINT", "int"), ("FLOAT", "double")}


def typed(
    source: str, have: str, want: IcebergType, spell: Spellings = AS_IN_THE_TABLE
) -> str:
    """SQL: `source` of the DuckDB type `have` as `want`, or NULL when it cannot be converted."""
    return _Typed(spell).value(source, duckdb.sqltype(have), want, 0)


class _Typed:
    """Values by their types, with struct fields found under the spellings that are given."""

    def __init__(self, spell: Spellings) -> None:
        self._spell = spell

    def value(self, source: str, have: DuckDBPyType, want: IcebergType, depth: int) -> str:
        if isinstance(want, StructType) and have.id == "struct":
            return self._struct(source, have, want, depth)
        if isinstance(want, ListType) and have.id in ("list", "array"):
            return self._list(source, have, want, depth)
        if isinstance(want, MapType) and have.id == "map":
            return self._map(source, have, want, depth)
        return self._scalar(source, str(have), want, depth)

    def _scalar(self, source: str, have: str, want: IcebergType, depth: int) -> str:
        if isinstance(want, UUIDType) and have == "UUID":
            return uuid_bytes(source)
        if isinstance(want, UnknownType):
            return "NULL"
        if sql_type(want) == have:
            return source
        if have == "VARIANT":
            text = variant_text_sql(source)
            # a text takes any JSON, as it is written
            return text if isinstance(want, StringType) else exact(text, want, depth, self._spell)
        if (have, str(want)) in _WIDENS:
            return f"{source}::{sql_type(want)}"
        if have == "BLOB" and isinstance(want, FixedType):
            return f"CASE WHEN octet_length({source}) = {len(want)} THEN {source} END"
        return exact(f"to_json({source})", want, depth, self._spell)

    def _struct(self, source: str, have: DuckDBPyType, want: StructType, depth: int) -> str:
        known = _children(have)
        values = []
        for f in want.fields:
            name = next((one for one in self._spell.of(f) if one in known), None)
            values.append(write_default_sql(f) or "NULL" if name is None else self.value(
                f"{source}.{quote_identifier(name)}", known[name], f.field_type, depth + 1))
        return f"CASE WHEN {source} IS NOT NULL THEN {struct_of(values, want, depth)} END"

    def _list(self, source: str, have: DuckDBPyType, want: ListType, depth: int) -> str:
        item, inner = f"x{depth}", _children(have)["child"]
        if have.id == "array":
            source = f"{source}::{inner}[]"
        made = self.value(item, inner, want.element_type, depth + 1)
        items = source if made == item else f"list_transform({source}, lambda {item}: {made})"
        return list_of(items, want, depth)

    def _map(self, source: str, have: DuckDBPyType, want: MapType, depth: int) -> str:
        entry, inner = f"e{depth}", _children(have)
        return map_of(f"map_entries({source})", entry,
                      self.value(f"{entry}.key", inner["key"], want.key_type, depth + 1),
                      self.value(f"{entry}.value", inner["value"], want.value_type, depth + 1),
                      want, depth)


def names_of_types(types: Iterable[str]) -> Iterator[str]:
    """The names of struct fields in DuckDB types, at any depth."""
    for text in types:
        yield from _names(duckdb.sqltype(text))


def _names(type_: DuckDBPyType) -> Iterator[str]:
    if type_.id in ("struct", "list", "array", "map"):
        for name, inner in _children(type_).items():
            if type_.id == "struct":
                yield name
            if isinstance(inner, DuckDBPyType):
                yield from _names(inner)


def _children(have: DuckDBPyType) -> dict[str, Any]:
    """The types inside: of a struct by name, of a list `child`, of a map `key` and `value`."""
    return dict(have.children)

