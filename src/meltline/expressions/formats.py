"""Format strings: text with `${...}` in it, each the key of an event or an expression.

A part is first looked up as a key (`${a/b}` or `${/a/b}`) and, when there is nothing, evaluated
if it is an expression too. A null expression adds nothing: `${/missing}` and
`${getMetadata("missing")}` are empty. A key that is missing and no expression (`${missing}`)
and an expression that fails make the whole string NULL, so that the caller can see it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from meltline.expressions.compile import compile_node, failure
from meltline.expressions.errors import ExpressionError
from meltline.expressions.functions import normalize_pointer
from meltline.expressions.parse import parse
from meltline.expressions.quoting import quote_literal
from meltline.expressions.scope import Scope
from meltline.expressions.syntax import Call, Constant, Node, Pointer
from meltline.model.event import Shape

_KEY = re.compile(r"[A-Za-z0-9._~@/\[\] $()-]+")


@dataclass(frozen=True)
class Part:
    """Plain `text`, or a place: a `key`, an `expression`, or first the one and then the other."""

    text: str = ""
    key: str | None = None
    expression: Node | None = None


def is_static(text: str) -> bool:
    """The string is the same for every event."""
    return "${" not in text


def fixed_by(text: str, metadata: Mapping[str, str]) -> str | None:
    """The string, when it is made of plain text and these metadata alone; else None."""
    written = []
    for part in read_format(text):
        if part.key is None and part.expression is None:
            written.append(part.text)
            continue
        value = next((value for name, value in metadata.items()
                      if part.expression == Call("getMetadata", (Constant(name),))), None)
        if value is None:
            return None
        written.append(value)
    return "".join(written)


def check_format(text: str) -> None:
    """Raises ExpressionError when `text` is no format string."""
    read_format(text)


def compile_format(text: str, shape: Shape, *, salt: str = "") -> str:
    """SQL VARCHAR; NULL when a key is not there (see the module's docstring)."""
    scope = Scope(shape, salt)
    pieces = [_piece(part, scope) for part in read_format(text)]
    return scope.finish("(" + " || ".join(pieces or ["''"]) + ")")


def read_format(text: str) -> list[Part]:
    parts: list[Part] = []
    position = 0
    while (start := text.find("${", position)) >= 0:
        end = text.find("}", start)
        if end < 0:
            raise ExpressionError("the ${ is not closed", text, start, hint="expected a }")
        if start > position:
            parts.append(Part(text[position:start]))
        parts.append(_place(text, start + 2, end))
        position = end + 1
    if position < len(text):
        parts.append(Part(text[position:]))
    return parts


def _place(text: str, start: int, end: int) -> Part:
    name = text[start:end]
    if not name.strip():
        raise ExpressionError("expected a key or an expression between ${ and }", text, start)
    key = normalize_pointer(name) if _KEY.fullmatch(name) else None
    try:
        expression = parse(name)
    except ExpressionError as error:
        if key is None:
            place = start + error.position
            raise ExpressionError(error.problem, text, place, hint=error.hint) from None
        return Part(key=key)
    if expression == Pointer(key or ""):
        key = None  # looked up once is enough
    return Part(key=key, expression=expression)


def _piece(part: Part, scope: Scope) -> str:
    if part.key is None and part.expression is None:
        return quote_literal(part.text)
    choices = []
    if part.key is not None:
        choices.append(scope.pointer(part.key).written())
    if part.expression is not None:
        operand = compile_node(part.expression, scope)
        failed = failure(operand)
        written = f"COALESCE({operand.written()}, '')"
        safe = failed == "FALSE"
        choices.append(written if safe else f"CASE WHEN NOT {failed} THEN {written} END")
    return choices[0] if len(choices) == 1 else f"COALESCE({', '.join(choices)})"
