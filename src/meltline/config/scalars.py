"""Numbers, switches and texts as they are written in YAML or come out of `${env:...}`.

A secret or variable always arrives as text, so text that spells a number or a switch is taken;
nothing else changes its type on the way in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from meltline.config.refused import Refused, type_found

_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class InWords:
    """Put into `Annotated[...]`: how the reference page names the type."""

    words: str


def read_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise Refused(f"expected true or false, found {type_found(value)}")


def read_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    raise Refused(f"expected a whole number, found {type_found(value)}")


Flag = Annotated[bool, BeforeValidator(read_flag), InWords("true or false")]
Count = Annotated[int, BeforeValidator(read_count), InWords("whole number")]
Text = Annotated[str, StringConstraints(min_length=1), InWords("text")]
"""Text that must not be empty."""
Character = Annotated[str, StringConstraints(min_length=1, max_length=1), InWords("one character")]
