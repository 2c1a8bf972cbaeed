"""One table of the list that a sink may have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from meltline.config.identifier import TableIdentifier
from meltline.config.refused import Refused
from meltline.config.scalars import InWords, Text
from meltline.config.strict import Strict
from meltline.expressions import regex_refusal


def check_regex(text: str) -> str:
    """The pattern itself when it is one. Raises Refused."""
    if (why := regex_refusal(text)) is not None:
        raise Refused(f'"{text}" is not a regular expression: {why}')
    return text


Regex = Annotated[str, AfterValidator(check_regex), InWords("regular expression")]


class TableBlock(Strict):
    """One table of a list."""

    table_identifier: TableIdentifier = Field(description="The table to write to.")
    route_regex: Regex | None = Field(
        default=None,
        description="The whole value of `route_field` must match it. Required with `route_field`.",
    )
    identifier_columns: tuple[Text, ...] = Field(
        default=(), description="The columns that tell this table's rows apart."
    )
    branch: Text | None = Field(default=None, description="The branch of this table to commit to.")
