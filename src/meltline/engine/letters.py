"""Refused events as dead letters: the event as it arrived, not as processors left it."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from meltline.engine.work import TaskWork
from meltline.kernels.quoting import literal
from meltline.model.dead_letter import DEAD_LETTERS
from meltline.model.event import Shape


def make_letters(
    connection: duckdb.DuckDBPyConnection, work: TaskWork, shape: Shape, chunk: pa.Table,
    reasons: pa.Table, sink: str,
) -> pa.Table:
    """`reasons` (ord, reason) joined with the original events of the chunk."""
    connection.register("original", chunk)
    connection.register("reasons", reasons)
    letters = connection.sql(letters_sql(work, shape, sink)).to_arrow_table()
    connection.unregister("original")
    connection.unregister("reasons")
    return letters.cast(DEAD_LETTERS)


def letters_sql(work: TaskWork, shape: Shape, sink: str) -> str:
    place = work.place
    event = "body" if shape.kind == "json" else "to_json(row)::VARCHAR"
    return (
        f"SELECT {literal(place.pipeline)} AS pipeline, {literal(sink)} AS sink, "
        f"{place.epoch}::BIGINT AS epoch, original.ord AS ord, reasons.reason AS reason, "
        f"{event} AS event, to_json(meta)::VARCHAR AS source, "
        f"make_timestamptz({place.planned_at_ms} * 1000) AS failed_at "
        f"FROM original JOIN reasons USING (ord) ORDER BY original.ord")
