"""How each column of a table is made from an event: the fast way, and the exact way.

The fast way converts whole chunks with as little work as possible and marks the rows it is not
sure of; the exact way (kernels/json_exact.py) then decides those rows alone. Where the fast way is
sure, both agree: tests/unit/kernels/test_fast_and_exact.py compares them on random values.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.types import (
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from meltline.expressions.quoting import quote_identifier
from meltline.kernels.extraction import RAW
from meltline.kernels.json_exact import exact
from meltline.kernels.spelling import AS_IN_THE_TABLE, Spellings
from meltline.kernels.typed import typed
from meltline.model.event import Shape


@dataclass(frozen=True)
class Column:
    """SQL for one column. `doubt` is true for rows that the exact way must decide."""

    value: str
    doubt: str | None = None
    kind: str = RAW


def fast_column(
    source: str, type_: IcebergType, spell: Spellings = AS_IN_THE_TABLE
) -> Column:
    """The fast way over `source`, the value as `json_transform` extracts it under `kind`."""
    if isinstance(type_, StringType):
        # an object or a list is no string, though its text is one
        return Column(source, f"starts_with({source}, '{{') OR starts_with({source}, '[')",
                      "VARCHAR")
    if isinstance(type_, LongType | IntegerType):
        number = f"TRY_CAST({source} AS {'BIGINT' if isinstance(type_, LongType) else 'INTEGER'})"
        return Column(number, f"{number}::VARCHAR IS DISTINCT FROM {source}", "VARCHAR")
    if isinstance(type_, DoubleType | FloatType):
        # true and false arrive as 1 and 0, a number that does not fit as infinity
        return Column(source, f"{source} IN (0, 1) OR isinf({source})",
                      "DOUBLE" if isinstance(type_, DoubleType) else "FLOAT")
    if isinstance(type_, TimestampType | TimestamptzType):
        return _timestamp(f"{source}::VARCHAR", isinstance(type_, TimestamptzType))
    return Column(exact(source, type_, spell=spell))


def _timestamp(raw: str, zoned: bool) -> Column:
    """A number is no timestamp to the cast, and a string is no number: each takes its own way."""
    make = "make_timestamptz" if zoned else "make_timestamp"
    # a date begins with a digit: 'infinity' and 'epoch' are timestamps to DuckDB
    parsed = (f"CASE WHEN {raw} BETWEEN '\"0' AND '\":' "
              f"THEN TRY_CAST(substr({raw}, 2, strlen({raw}) - 2) AS TIMESTAMPTZ) END")
    millis = (f"CASE WHEN regexp_full_match({raw}, '-?\\d+') "
              f"THEN TRY({make}(TRY_CAST({raw} AS BIGINT) * 1000)) END")
    if zoned:
        value = f"coalesce({parsed}, {millis})"
    else:
        value = f"coalesce(make_timestamp(epoch_us({parsed})), {millis})"
    return Column(value, f"{value} IS NULL AND {raw} IS NOT NULL")


def typed_column(
    shape: Shape, field: NestedField, spell: Spellings = AS_IN_THE_TABLE
) -> Column | None:
    """A column from an event of typed columns: as it is where the types agree, else as JSON. None
    when the events have no such column."""
    name = typed_name(shape, field, spell)
    if name is None:
        return None
    source = f"row.{quote_identifier(name)}"
    return Column(typed(source, shape.fields[name], field.field_type, spell))


def typed_name(shape: Shape, field: NestedField, spell: Spellings) -> str | None:
    """What the events call the column, if they have it."""
    return next((name for name in spell.of(field) if name in shape.fields), None)
