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
_FEW_BYTES = 32 << 10
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
    others = find_others(con, table.column(BODY))
    if not others:
        return table
    bad = table.column(BAD).to_pylist()
    for index, kind in others.items():
        if bad[index] is None:
            bad[index] = _reason(con, table.column(BODY)[index].as_py(), kind)
    column = table.schema.get_field_index(BAD)
    return table.set_column(column, table.schema.field(column), pa.array(bad, pa.string()))


def _reason(con: duckdb.DuckDBPyConnection, text: str | None, kind: str | None) -> str:
    return not_valid(*fault(con, text)) if kind is None else not_an_object(kind)


def find_others(con: duckdb.DuckDBPyConnection, bodies: Texts) -> dict[int, str | None]:
    """What is not an object, by index: DuckDB's name of its kind (ARRAY, ...), None if invalid."""
    suspects = _suspects_of_few(bodies) if bodies.nbytes < _FEW_BYTES else _suspects(con, bodies)
    if not len(suspects):
        return {}
    # not TRY(json_type(..)), which falls back to row by row as soon as one row is invalid
    kind = f"CASE WHEN json_valid({BODY}) THEN json_type({BODY}) END"
    kinds = _select(con, kind, bodies.take(suspects)).to_pylist()
    found = zip(suspects.to_pylist(), kinds, strict=True)
    return {index: kind for index, kind in found if kind != "OBJECT"}


def _suspects(con: duckdb.DuckDBPyConnection, bodies: Texts) -> pa.Array:
    """The indexes of what may not be an object."""
    # valid and beginning with a brace is all there is to most objects: asking for the kind too
    # would parse every event a second time
    plain = _select(con, f"json_valid({BODY}) AND starts_with({BODY}, '{{')", bodies)
    return pc.indices_nonzero(pc.invert(pc.fill_null(plain, False)))


def _suspects_of_few(bodies: Texts) -> pa.Array:
    """The same without a query, which takes a millisecond: a file may hold a single event."""
    texts = bodies.to_pylist()
    return pa.array([i for i, text in enumerate(texts) if not _is_plain_object(text)], pa.uint64())


def _is_plain_object(text: str | None) -> bool:
    """Whether Python takes a text for an object, and DuckDB cannot think otherwise.

    They differ in half surrogates, which Python lets pass.
    """
    try:
        return text is not None and isinstance(json.loads(text), dict) and "\\u" not in text
    except (ValueError, RecursionError):
        return False


def _select(con: duckdb.DuckDBPyConnection, expression: str, bodies: Texts) -> pa.ChunkedArray:
    con.register(_VIEW, pa.table({BODY: bodies}))
    try:
        return con.sql(f"SELECT {expression} AS found FROM {_VIEW}").to_arrow_table()["found"]
    finally:
        con.unregister(_VIEW)


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
