"""What a validator raises when a value cannot be used."""

from __future__ import annotations


class Refused(ValueError):
    """`what` is wrong, a `hint` on the way out, and `at` which key below the value checked.

    `at` is relative: a check of a whole block names the key in it that is to blame.
    """

    def __init__(
        self, what: str, *, hint: str | None = None, at: tuple[str | int, ...] = ()
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.at = at


def type_found(value: object) -> str:
    """The type of a YAML value in plain words; never the value itself."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "a whole number"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        return "a list"
    return "a map"
