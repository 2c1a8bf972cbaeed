"""Cuts an expression into tokens.

A word operator (`and`, `or`, `in`, `not in`, `typeof`) needs white space on both sides, `not` one
after it; a name is a run of `A-Z a-z 0-9 _ . @`. A text in quotes that starts with `/` is a
pointer, unless it is written with three quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from meltline.expressions.errors import ExpressionError

NAME = r"[A-Za-z0-9_.@]+"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<triple>\"\"\"(?:[^"\\]|\\.)*\"\"\")
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<pointer>/{NAME}(?:/{NAME})*)
  | (?P<float>(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE]-?[0-9]+)?(?![A-Za-z0-9_.@]))
  | (?P<integer>(?:0|[1-9][0-9]*)(?![A-Za-z0-9_.@]))
  | (?P<name>{NAME})
  | (?P<symbol>==|!=|=~|!~|<=|>=|[<>+\-*/%(){{}},])
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_IN = re.compile(r"not\s+in(?=\s)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_INSTEAD = {
    "'": "write texts in double quotes",
    "&": 'write "and" with a space on both sides',
    "|": 'write "or" with a space on both sides',
    "=": "write == to compare",
    "!": 'write "not " or !=',
    "$": 'variables are not part of an expression; write /key or getMetadata("key")',
    "[": "write a set with braces: {1, 2}",
}


@dataclass(frozen=True)
class Token:
    """`kind` is `end`, `pointer`, `quoted_pointer`, `string`, `integer`, `float`, `name`, or the
    operator itself. `text` is the meaning: without quotes, escapes resolved."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """All tokens and a last one of kind `end`. Raises ExpressionError."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(text, position)
        if match.lastgroup != "space":
            token, position = _token(text, match)
            tokens.append(token)
        else:
            position = match.end()
    return [*tokens, Token("end", "", len(text))]


def _token(text: str, match: re.Match[str]) -> tuple[Token, int]:
    kind, start, end = str(match.lastgroup), match.start(), match.end()
    raw = match.group()
    if kind == "triple":
        return Token("string", _unescape(raw[3:-3]), start), end
    if kind == "string":
        kind = "quoted_pointer" if raw.startswith('"/') else "string"
        return Token(kind, _unescape(raw[1:-1]), start), end
    if kind == "symbol":
        return Token(raw, raw, start), end
    if kind == "name":
        return _word(text, raw, start, end)
    return Token(kind, raw, start), end


def _word(text: str, raw: str, start: int, end: int) -> tuple[Token, int]:
    before = start > 0 and text[start - 1].isspace()
    after = end == len(text) or text[end].isspace()
    if raw == "not":
        not_in = _NOT_IN.match(text, start)
        if not_in and before:
            return Token("not in", "not in", start), not_in.end()
        if not after:
            raise ExpressionError('"not" needs a space after it', text, end)
        return Token("not", raw, start), end
    if raw in ("and", "or", "in", "typeof"):
        if not (before and after):
            raise ExpressionError(f'"{raw}" needs a space on both sides', text, start)
        return Token(raw, raw, start), end
    return Token("name", raw, start), end


def _unescape(raw: str) -> str:
    """Resolves `\\b \\t \\n \\f \\r` and quoted characters; any other `\\x` stays for regexes."""

    def character(match: re.Match[str]) -> str:
        escaped = match.group(1)
        if escaped in _ESCAPES:
            return _ESCAPES[escaped]
        return escaped if escaped in "\"'\\$/" else f"\\{escaped}"

    return re.sub(r"\\(.)", character, raw, flags=re.DOTALL)


def _unreadable(text: str, position: int) -> ExpressionError:
    character = text[position]
    if character == '"':
        return ExpressionError("the text is not closed", text, position, hint='expected a "')
    return ExpressionError(
        f"unexpected character {character!r}", text, position, hint=_INSTEAD.get(character)
    )
