"""A place in a list of tokens, and the message for a token that does not fit there."""

from __future__ import annotations

from meltline.expressions.errors import ExpressionError
from meltline.expressions.tokens import Token, tokenize

_DEEPEST = 60


class Cursor:
    """Moves over the tokens of one expression, left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.next = 0
        self._depth = 0

    def peek(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        self.next += 1
        return self.tokens[self.next - 1]

    def expect(self, kind: str) -> Token:
        if self.peek().kind != kind:
            raise self.unexpected(f'"{kind}"')
        return self.take()

    def descend(self) -> None:
        """Counts a level of nesting; pair it with `ascend`."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.wrong("nested too deeply", self.peek().position)

    def ascend(self) -> None:
        self._depth -= 1

    def wrong(self, problem: str, position: int, hint: str | None = None) -> ExpressionError:
        return ExpressionError(problem, self.text, position, hint=hint)

    def unexpected(self, expected: str) -> ExpressionError:
        """The token ahead is not what may follow here."""
        token = self.peek()
        found = "the end" if token.kind == "end" else f'"{token.text}"'
        return self.wrong(f"expected {expected}, found {found}", token.position, self._advice())

    def _advice(self) -> str | None:
        token = self.peek()
        previous = self.tokens[self.next - 1].kind if self.next else ""
        if token.kind == "pointer" and previous:
            return "to divide, write spaces around the /"
        if token.kind == "name" and previous == "-":
            return 'a key with other characters is written in quotes: "/my-key"'
        if token.kind == "name":
            return f'write /{token.text} for a key, "{token.text}" for a text'
        return None
