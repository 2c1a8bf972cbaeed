"""One compiled processor, and the writing of its SELECT in stages."""

from __future__ import annotations

from dataclasses import dataclass

from meltline.expressions import quote_identifier
from meltline.model.event import Shape

EVENTS = "events"


@dataclass(frozen=True)
class Step:
    """`sql` is a SELECT over the view `events`; `shape` is what its rows look like.

    Every column that the processor does not change is kept, and so is every row. An event with
    a `bad` comes out as it went in; in its metadata new fields are NULL.
    """

    sql: str
    shape: Shape


class Stages:
    """A SELECT over `events` that grows outward, one subquery around the other."""

    def __init__(self) -> None:
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

    def sql(self) -> str:
        if not self._temporary:
            return f"SELECT * FROM {self._source}"
        return f"SELECT * EXCLUDE ({', '.join(self._temporary)}) FROM {self._source}"
