"""The base of every configuration block: unknown keys are errors, values never change."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from meltline.redact import redact


class Strict(BaseModel):
    """Every field carries a `description`: the reference page is made from it.

    `repr` and `str` never show a registered secret.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=False, hide_input_in_errors=True
    )

    def __repr__(self) -> str:
        return redact(super().__repr__())

    def __str__(self) -> str:
        return redact(super().__str__())
