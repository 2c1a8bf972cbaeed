"""Names of tables: `namespace.table`, fixed, or made from each event by `${...}`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from meltline.config.refused import Refused
from meltline.config.scalars import InWords
from meltline.expressions import ExpressionError, check_format, is_static


def check_identifier(text: str) -> str:
    """The text itself when it names a namespace and a table. Raises Refused."""
    if not is_static(text):
        hint = "name a fixed table"
        raise Refused(f'"{text}" depends on the event, and this table must not', hint=hint)
    parts = text.split(".")
    if any(not part or part != part.strip() for part in parts):
        raise Refused(f'"{text}" is not a table name', hint="write namespace.table")
    if len(parts) < 2:
        raise Refused(f'"{text}" names no namespace', hint=f"write namespace.{text}")
    return text


def check_pattern(text: str) -> str:
    """A fixed name, or a format string that gives each event's table. Raises Refused."""
    if is_static(text):
        return check_identifier(text)
    return check_format_text(text)


def check_format_text(text: str) -> str:
    """The text itself when it is a format string. Raises Refused."""
    try:
        check_format(text)
    except ExpressionError as error:
        raise Refused(error.what, hint=error.hint) from None
    return text


TablePattern = Annotated[
    str, AfterValidator(check_pattern), InWords("`namespace.table`, or text with `${...}`")
]
FormatText = Annotated[str, AfterValidator(check_format_text), InWords("text with `${...}`")]
TableIdentifier = Annotated[str, AfterValidator(check_identifier), InWords("`namespace.table`")]
