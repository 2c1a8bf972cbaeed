"""What is wrong with an expression, and where."""

from __future__ import annotations

from meltline.errors import UserError


class ExpressionError(UserError):
    """An expression or a format string cannot be understood.

    `text` is the whole expression and `position` the offending character in it; the message
    shows the line with a caret below that character.
    """

    def __init__(self, problem: str, text: str, position: int, *, hint: str | None = None) -> None:
        self.problem = problem
        self.text = text
        self.position = min(position, len(text))
        super().__init__(f"{problem}\n{_caret_lines(text, self.position)}", hint=hint)


def _caret_lines(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start:] if end < 0 else text[start:end]
    return f"   {line.replace(chr(9), ' ')}\n   {' ' * (position - start)}^"
