"""Names of tables: `namespace.table`, fixed when the pipeline is loaded."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from meltline.config.refused import Refused
from meltline.config.scalars import InWords


def check_identifier(text: str) -> str:
    """The text itself when it names a namespace and a table. Raises Refused."""
    if "${" in text:
        raise Refused(
            f'"{text}" depends on the event: dynamic tables are not supported yet',
            hint="name a fixed table, and use several sinks with routes to choose between tables",
        )
    parts = text.split(".")
    if any(not part or part != part.strip() for part in parts):
        raise Refused(f'"{text}" is not a table name', hint="write namespace.table")
    if len(parts) < 2:
        raise Refused(f'"{text}" names no namespace', hint=f"write namespace.{text}")
    return text


TableIdentifier = Annotated[str, AfterValidator(check_identifier), InWords("`namespace.table`")]
