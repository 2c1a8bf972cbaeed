"""sql: a SELECT of the user over the good events."""

from __future__ import annotations

import duckdb

from meltline.config.processors import Sql
from meltline.errors import UserError
from meltline.expressions import quote_identifier
from meltline.expressions.kinds import INTEGER, STRUCT, describe_type
from meltline.model.event import BAD, BODY, META, ORD, ROW, Shape
from meltline.processors import typed_row
from meltline.processors.describe import describe_columns, struct_fields, struct_of
from meltline.processors.step import Step

_NO_OBJECT = "'the sql processor returned no JSON object'"


def compile_sql(config: Sql, shape: Shape, place: str = "") -> Step:  # noqa: ARG001
    """The outcome has `body`, and events stay JSON, or its columns become typed events.

    Bad events go around the query; when events become typed, a column `body` keeps the text of
    the bad ones. Whatever the query does, `ord` must stay the position of the event that a row
    comes from, and for the same events the query must return the same rows.
    """
    query = config.query.strip().rstrip(";")
    # The line break ends a comment in the query's last line.
    outcome = f"(WITH events AS ({_good_events(shape)}) SELECT * FROM ({query}\n))"
    columns = _columns(f"WITH incoming AS (SELECT * FROM events) SELECT * FROM {outcome}", shape)
    metadata = struct_fields(columns[META])
    if shape.kind == "json" and BODY in columns:
        good, after = _json_rows(columns, outcome), Shape("json", metadata)
    else:
        fields = {name: type_ for name, type_ in columns.items() if name not in (META, ORD)}
        after = Shape("typed", metadata, fields)
        good = _typed_rows(after, outcome)
    bad = f"SELECT {_bad_columns(shape, after)} FROM incoming WHERE {BAD} IS NOT NULL"
    sql = f"WITH incoming AS (SELECT * FROM events) {good} UNION ALL BY NAME {bad}"
    return Step(sql, after)


def _good_events(shape: Shape) -> str:
    columns = {BODY: BODY} if shape.kind == "json" else typed_row.columns(shape)
    if shape.kind == "typed":
        for name in columns:
            if name.lower() in (META, ORD):
                raise UserError(
                    f'the sql processor cannot tell the column "{name}" from its own',
                    hint="rename it first, with rename_keys",
                )
    columns = {**columns, META: META, ORD: ORD}
    listed = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in columns.items())
    return f"SELECT {listed} FROM incoming WHERE {BAD} IS NULL"


def _columns(sql: str, shape: Shape) -> dict[str, str]:
    try:
        columns = describe_columns(sql, shape)
    except duckdb.Error as error:
        message = str(error).split("\n", 1)[0]
        names = ", ".join([BODY] if shape.kind == "json" else shape.fields)
        hint = f"events has the columns {names}, {META} and {ORD}"
        raise UserError(
            f"the query of the sql processor is refused: {message}", hint=hint
        ) from None
    missing = [name for name in (META, ORD) if name not in columns]
    if missing:
        raise UserError(
            f"the query of the sql processor does not return {' and '.join(missing)}",
            hint=f"select {META}, {ORD} too: every row must keep its place in the source",
        )
    for name, kind, wanted in ((META, STRUCT, "a struct"), (ORD, INTEGER, "an integer")):
        if describe_type(columns[name]).kind != kind:
            raise UserError(
                f"the sql processor's column {name} is a {columns[name]}, not {wanted}",
                hint=f"select {name} as it is",
            )
    return columns


def _json_rows(columns: dict[str, str], outcome: str) -> str:
    extra = [name for name in columns if name not in (BODY, META, ORD)]
    if extra:
        raise UserError(
            f"the query of the sql processor returns body and also {', '.join(extra)}",
            hint="return body, meta and ord, or only columns for a typed event, meta and ord",
        )
    plain = f"SELECT CAST({BODY} AS VARCHAR) AS {BODY}, {META}, CAST({ORD} AS BIGINT) AS {ORD}"
    # One CASE inside the other: json_type must not see what is no JSON.
    reason = (
        f"CASE WHEN json_valid({BODY}) THEN CASE json_type({BODY}) WHEN 'OBJECT' THEN NULL "
        f"ELSE {_NO_OBJECT} END ELSE {_NO_OBJECT} END"
    )
    return f"SELECT *, {reason} AS {BAD} FROM ({plain} FROM {outcome})"


def _typed_rows(after: Shape, outcome: str) -> str:
    row = struct_of({name: quote_identifier(name) for name in after.fields})
    return (
        f"SELECT {row} AS {quote_identifier(ROW)}, {META}, CAST({ORD} AS BIGINT) AS {ORD}, "
        f"CAST(NULL AS VARCHAR) AS {BAD} FROM {outcome}"
    )


def _bad_columns(before: Shape, after: Shape) -> str:
    """All columns that bad events have, so that the text of one is never lost."""
    replaced = []
    if before.metadata != after.metadata:
        kept = {
            name: f"{META}.{quote_identifier(name)}"
            if before.metadata.get(name) == type_
            else f"CAST(NULL AS {type_})"
            for name, type_ in after.metadata.items()
        }
        replaced.append(f"{struct_of(kept)} AS {META}")
    if before.kind == "typed":
        replaced.append(f"NULL AS {quote_identifier(ROW)}")
    columns = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
    became_typed = before.kind == "json" and after.kind == "typed"
    return f"{columns}, NULL AS {quote_identifier(ROW)}" if became_typed else columns
