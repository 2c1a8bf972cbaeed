"""One compiled processor, and the writing of its SELECT in stages."""

from __future__ import annotations

from dataclasses import dataclass

from meltline.expressions import quote_identifier
from meltline.model.event import BAD, META, ROW, Shape
from meltline.processors.describe import shape_after

EVENTS = "events"


@dataclass(frozen=True)
class Step:
    """`sql` is a SELECT over the view `events`; `shape` is what its rows look like.

    Every column that the processor does not change is kept, and so is every row. An event with
    a `bad` comes out as it went in; fields that are new to it are NULL.
    """

    sql: str
    shape: Shape


class Stages:
    """A SELECT over `events` that grows outward, one subquery around the other.

    `shape` is the shape of the events after the stages so far.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._before = shape
        self._source = EVENTS
        self._temporary: list[str] = []

    def compute(self, expression: str) -> str:
        """Adds a column for the stages to come and returns its name; the outcome lacks it."""
        name = f"_{len(self._temporary) + 1}"
        self._temporary.append(name)
        self._source = f"(SELECT *, {expression} AS {name} FROM {self._source})"
        return name

    def replace(self, **columns: str) -> None:
        """Gives columns of the event a new value."""
        listed = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in columns.items())
        self._source = f"(SELECT * REPLACE ({listed}) FROM {self._source})"
        if META in columns or ROW in columns:
            self.shape = shape_after(self._sql(), self._before)

    def step(self) -> Step:
        return Step(self._sql(), self.shape)

    def _sql(self) -> str:
        if not self._temporary:
            return f"SELECT * FROM {self._source}"
        return f"SELECT * EXCLUDE ({', '.join(self._temporary)}) FROM {self._source}"


def for_good(value: str, condition: str | None, otherwise: str = "NULL") -> str:
    """SQL of a value for good events that meet the condition.

    Two CASE, not one with AND: DuckDB may test the parts of an AND in any order, and a condition
    must not see the text of a bad event.
    """
    if condition is not None:
        value = f"CASE WHEN {condition} THEN {value} ELSE {otherwise} END"
    return f"CASE WHEN {BAD} IS NULL THEN {value} ELSE {otherwise} END"
