"""The base of every configuration block: unknown keys are errors, values never change."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Every field carries a `description`: the reference page is made from it."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=False)
