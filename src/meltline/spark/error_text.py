"""Errors on their way from a worker to the driver.

One that a retry cannot cure travels as a result: raised, Spark would only try the task again.
"""

from __future__ import annotations

import json

from meltline import errors
from meltline.redact import redact

_MARK = "meltline-error"
_START = f'{{"{_MARK}"'


def to_text(error: errors.MeltlineError) -> str:
    return json.dumps({_MARK: type(error).__name__, "what": error.what, "at": error.at,
                       "hint": error.hint})


def is_error(content: str | bytes) -> bool:
    """Whether it is what `to_text` gave, or that as bytes."""
    if isinstance(content, str):
        return content.startswith(_START)
    return content.startswith(_START.encode())


def raise_if_error(content: str | bytes) -> None:
    if is_error(content):
        body = json.loads(content)
        kind = getattr(errors, body[_MARK], errors.RunError)
        raise kind(redact(body["what"]), at=body["at"], hint=body["hint"])
