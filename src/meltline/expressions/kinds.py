"""How the language sees DuckDB's types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from meltline.expressions.trial import trial_connection

INTEGER, DECIMAL, DOUBLE = "integer", "decimal", "double"
BOOLEAN, STRING, TEMPORAL = "boolean", "string", "temporal"
LIST, STRUCT, MAP = "list", "struct", "map"
JSON = "json"

# DuckDB's name of a type -> (kind, name for `typeof`); all others are texts
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "utinyint", "usmallint"),
                    (INTEGER, "integer")),
    **dict.fromkeys(("bigint", "uinteger"), (INTEGER, "long")),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint", "bignum"), (INTEGER, "big_decimal")),
    "decimal": (DECIMAL, "big_decimal"),
    **dict.fromkeys(("float", "double"), (DOUBLE, "double")),
    "boolean": (BOOLEAN, "boolean"),
    **dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
                     "timestamp with time zone"), (TEMPORAL, "string")),
    **dict.fromkeys(("list", "array"), (LIST, "array")),
    "struct": (STRUCT, "map"),
    "map": (MAP, "map"),
    "variant": (JSON, ""),
}  # fmt: skip


@dataclass(frozen=True)
class Type:
    """`name` in SQL, its `kind` in the language, and its name for `typeof`.

    `children` are the fields of a struct, the element of a list, or key and value of a map.
    """

    name: str
    kind: str
    type_name: str
    children: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=4096)
def describe_type(name: str) -> Type:
    """Raises duckdb.Error for a type that DuckDB does not know."""
    type_ = trial_connection().sqltype(name)
    sql = str(type_)
    if sql == "JSON":
        return Type(sql, JSON, "")
    kind, type_name = _KINDS.get(str(type_.id), (STRING, "string"))
    children: tuple[tuple[str, str], ...] = ()
    if kind in (LIST, STRUCT, MAP):
        # An array lists its fixed size, a number, among its children.
        children = tuple((key, str(of)) for key, of in type_.children if not isinstance(of, int))
    return Type(sql, kind, type_name, children)
