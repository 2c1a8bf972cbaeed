"""What a SELECT over `events` returns, found out by DuckDB on no rows at all."""

from __future__ import annotations

from collections.abc import Mapping

from meltline.expressions import quote_identifier
from meltline.expressions.kinds import STRUCT, describe_type
from meltline.expressions.trial import trial_connection
from meltline.model.event import BAD, BODY, META, ORD, ROW, Shape


def describe_columns(sql: str, shape: Shape) -> dict[str, str]:
    """Name and DuckDB type of every column. Raises duckdb.Error for a SELECT that is wrong."""
    with trial_connection() as connection:
        connection.execute(f"CREATE TEMP VIEW events AS {_no_events(shape)}")
        relation = connection.sql(sql)
        return dict(zip(relation.columns, map(str, relation.types), strict=True))


def shape_after(sql: str, shape: Shape) -> Shape:
    """The shape of what a processor's SELECT returns; `shape` is that of what it reads."""
    columns = describe_columns(sql, shape)
    metadata = struct_fields(columns[META])
    if shape.kind == "json":
        return Shape("json", metadata)
    return Shape("typed", metadata, struct_fields(columns[ROW]))


def struct_fields(type_name: str) -> dict[str, str]:
    type_ = describe_type(type_name)
    return dict(type_.children) if type_.kind == STRUCT else {}


def struct_of(values: Mapping[str, str]) -> str:
    """SQL of a struct out of SQL of its fields."""
    fields = (f"{quote_identifier(name)} := {sql}" for name, sql in values.items())
    return f"struct_pack({', '.join(fields)})"


def _no_events(shape: Shape) -> str:
    content = "NULL::VARCHAR" if shape.kind == "json" else _empty(shape.fields)
    columns = {
        BODY if shape.kind == "json" else ROW: content,
        META: _empty(shape.metadata),
        ORD: "NULL::BIGINT",
        BAD: "NULL::VARCHAR",
    }
    listed = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in columns.items())
    return f"SELECT {listed} WHERE FALSE"


def _empty(fields: Mapping[str, str]) -> str:
    return struct_of({name: f"NULL::{type_}" for name, type_ in fields.items()})
