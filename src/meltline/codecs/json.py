"""Which events are JSON objects, and why the others are not.

DuckDB's parser has the last word, because DuckDB reads the events later. It is lenient: a comma
before a closing bracket, NaN and Infinity pass.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.model.event import BAD, BODY

Texts: TypeAlias = pa.Array | pa.ChunkedArray

_VIEW = "meltline_json_bodies"
_KIND_NAMES = {
    "ARRAY": "an array",
    "VARCHAR": "a string",
    "BOOLEAN": "a boolean",
    "NULL": "null",
}
_COMPLAINT = re.compile(r"Malformed JSON at byte (\d+) of input: (.*?)\.?\s+Input:", re.DOTALL)


def mark_invalid(con: duckdb.DuckDBPyConnection, table: pa.Table) -> pa.Table:
    """`table` (JSON shape) with `bad` filled in for every event that is not a JSON object.

    Events that were bad already keep their reason; all other columns stay as they are.
    """
    bad = table.column(BAD).to_pylist()
    found = False
    for index, reason in find_invalid(con, table.column(BODY)).items():
        if bad[index] is None:
            bad[index] = reason
            found = True
    if not found:
        return table
    column = table.schema.get_field_index(BAD)
    return table.set_column(
        column, table.schema.field(column), pa.chunked_array([bad], pa.string())
    )


def find_invalid(con: duckdb.DuckDBPyConnection, bodies: Texts) -> dict[int, str]:
    """Index and reason of every body that is not the text of one JSON object."""
    reasons: dict[int, str] = {}
    for index, kind in find_others(con, bodies).items():
        if kind is None:
            message, position = fault(con, bodies[index].as_py())
            reasons[index] = not_valid(message, position)
        else:
            reasons[index] = not_an_object(kind)
    return reasons


def find_others(con: duckdb.DuckDBPyConnection, bodies: Texts) -> dict[int, str | None]:
    """What is not an object, by index: DuckDB's name of its kind (ARRAY, ...), None if invalid."""
    con.register(_VIEW, pa.table({BODY: bodies}))
    try:
        # not TRY(json_type(..)), which falls back to row by row as soon as one row is invalid
        found = con.sql(
            f"SELECT CASE WHEN json_valid({BODY}) THEN json_type({BODY}) END AS kind FROM {_VIEW}"
        ).to_arrow_table()
    finally:
        con.unregister(_VIEW)
    kinds = found.column("kind")
    others = pc.indices_nonzero(pc.fill_null(pc.not_equal(kinds, "OBJECT"), True))
    return dict(zip(others.to_pylist(), kinds.take(others).to_pylist(), strict=True))


def not_an_object(kind: str) -> str:
    return f"not a JSON object but {_KIND_NAMES.get(kind, 'a number')}"


def not_valid(message: str, position: int) -> str:
    return f"not valid JSON: {message} at byte {position}"


def fault(con: duckdb.DuckDBPyConnection, text: str | None) -> tuple[str, int]:
    """What is wrong with a text that DuckDB refuses as JSON, and at which byte.

    Python's parser is asked first: it takes microseconds where a failing query takes half a
    millisecond. DuckDB is asked about what Python lets pass or cannot nest.
    """
    if text is None:
        return "no text", 0
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return message, len(text[: error.pos].encode())
    except (RecursionError, ValueError):
        pass  # ValueError: more digits than Python turns into a number
    try:
        con.execute("SELECT json($1)", [text]).fetchall()
    except duckdb.Error as error:
        complaint = _COMPLAINT.search(str(error))
        if complaint:
            return complaint[2], int(complaint[1])
    return "malformed", 0
