"""Refused events as dead letters: the event as it arrived, not as processors left it."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from meltline.engine.work import TaskWork
from meltline.errors import RunError
from meltline.expressions.quoting import quote_literal
from meltline.kernels.document_json import object_json
from meltline.model.dead_letter import DEAD_LETTERS
from meltline.model.event import BODY, ROW, Shape

LINE = "line"


def make_letters(
    connection: duckdb.DuckDBPyConnection, work: TaskWork, shape: Shape, chunk: pa.Table,
    reasons: pa.Table, sink: str,
) -> pa.Table:
    """`reasons` (ord, reason) joined with the original events of the chunk."""
    connection.register("original", chunk)
    connection.register("reasons", _with_lines(work, shape, chunk, reasons))
    letters = connection.sql(letters_sql(work, shape, sink)).to_arrow_table()
    connection.unregister("original")
    connection.unregister("reasons")
    if letters.num_rows != reasons.num_rows:
        raise RunError(
            f"{reasons.num_rows - letters.num_rows} refused events cannot be found among those "
            f"that were read: a processor changed their `ord`",
            hint="let the sql processor pass `ord` on as it is")
    return letters.cast(DEAD_LETTERS)


def _with_lines(work: TaskWork, shape: Shape, chunk: pa.Table, reasons: pa.Table) -> pa.Table:
    """Where lines were not counted while reading, they are now, for the refused events alone."""
    if LINE not in shape.metadata:
        return reasons
    lines: list[int] | list[None] = [None] * reasons.num_rows
    if pc.struct_field(chunk.column("meta"), LINE).null_count:
        lines = work.reader.line_numbers(work.split, reasons.column("ord").to_pylist())
    return reasons.append_column("counted", pa.array(lines, pa.int64()))


def _row(shape: Shape) -> str:
    """SQL: a typed event as a document has it, which is JSON whatever its values are."""
    return f"CASE WHEN {ROW} IS NOT NULL THEN ({object_json(ROW, shape.fields)})::VARCHAR END"


def letters_sql(work: TaskWork, shape: Shape, sink: str) -> str:
    place = work.place
    event = BODY if shape.kind == "json" else _row(shape)
    source = "to_json(meta)"
    if LINE in shape.metadata:
        source = f"json_merge_patch({source}, json_object('{LINE}', coalesce(meta.line, counted)))"
    return (
        f"SELECT {quote_literal(place.pipeline)} AS pipeline, {quote_literal(sink)} AS sink, "
        f"{place.epoch}::BIGINT AS epoch, original.ord AS ord, reasons.reason AS reason, "
        f"{event} AS event, ({source})::VARCHAR AS source, "
        f"make_timestamptz({place.planned_at_ms} * 1000) AS failed_at "
        f"FROM original JOIN reasons USING (ord) ORDER BY original.ord")
