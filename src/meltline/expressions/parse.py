"""Reads an expression into its tree.

Tight to loose: `( )`, then `not` and `-`, then `* / %`, `+ -`, `in`, `< <= > >= typeof`,
`=~ !~`, `== !=`, and last `and` and `or`, which share one level. All go left to right.
"""

from __future__ import annotations

from meltline.expressions import syntax
from meltline.expressions.errors import ExpressionError
from meltline.expressions.functions import check_call, check_name, normalize_pointer
from meltline.expressions.syntax import (
    Binary,
    Call,
    Literal,
    Membership,
    Negate,
    Node,
    Not,
    Pointer,
    TypeOf,
    gives_boolean,
)
from meltline.expressions.tokens import Token, tokenize
from meltline.expressions.trial import refusal

_LARGEST = 2**63 - 1
_DEEPEST = 60


def parse(text: str) -> Node:
    """The tree, or ExpressionError with the place of the mistake."""
    return _Reader(text).whole()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.next = 0
        self.calls = 0  # how many calls we are inside of: there a quoted pointer is a text
        self.depth = 0

    def whole(self) -> Node:
        if self.peek().kind == "end":
            raise ExpressionError("the expression is empty", self.text, 0)
        node = self.condition()
        if self.peek().kind != "end":
            raise self.unexpected("an operator or the end")
        return node

    def peek(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        self.next += 1
        return self.tokens[self.next - 1]

    def expect(self, kind: str) -> Token:
        if self.peek().kind != kind:
            raise self.unexpected(f'"{kind}"')
        return self.take()

    def unexpected(self, expected: str) -> ExpressionError:
        token = self.peek()
        found = "the end" if token.kind == "end" else f'"{token.text}"'
        previous = self.tokens[self.next - 1] if self.next else None
        hint = None
        if token.kind == "pointer" and previous and previous.kind != "end":
            hint = "to divide, write spaces around the /"
        elif previous and previous.kind == "-" and token.kind == "name":
            hint = 'a key with other characters is written in quotes: "/my-key"'
        return ExpressionError(
            f"expected {expected}, found {found}", self.text, token.position, hint=hint
        )

    def condition(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ExpressionError("nested too deeply", self.text, self.peek().position)
        node = self.equality()
        while self.peek().kind in syntax.LOGIC:
            operator = self.take()
            node = Binary(operator.kind, node, self.equality(), operator.position)
        self.depth -= 1
        return node

    def equality(self) -> Node:
        node = self.regex()
        while self.peek().kind in syntax.EQUALITY:
            operator = self.take()
            node = Binary(operator.kind, node, self.regex(), operator.position)
        return node

    def regex(self) -> Node:
        node = self.relation()
        if self.peek().kind not in syntax.REGEX:
            return node
        operator = self.take()
        pattern = self.relation()
        for side in (node, pattern):
            text = isinstance(side, Literal) and isinstance(side.value, str)
            if not text and not isinstance(side, (Pointer, Call)):
                raise ExpressionError(
                    f"{operator.kind} takes a pointer or a text on both sides",
                    self.text,
                    side.position,
                )
        if isinstance(pattern, Literal):
            self.check_regex(str(pattern.value), pattern.position)
        return Binary(operator.kind, node, pattern, operator.position)

    def check_regex(self, pattern: str, position: int) -> None:
        problem = refusal("SELECT regexp_full_match('', ?)", [pattern])
        if problem:
            raise ExpressionError(f"not a regular expression: {problem}", self.text, position)

    def relation(self) -> Node:
        node = self.membership()
        while self.peek().kind in (*syntax.RELATION, "typeof"):
            operator = self.take()
            if operator.kind == "typeof":
                node = self.type_of(node, operator)
            else:
                node = Binary(operator.kind, node, self.membership(), operator.position)
        return node

    def type_of(self, node: Node, operator: Token) -> Node:
        if not isinstance(node, Pointer):
            raise ExpressionError("typeof takes a pointer", self.text, node.position)
        name = self.peek()
        if name.text not in syntax.TYPE_NAMES:
            raise self.unexpected(f"one of {', '.join(syntax.TYPE_NAMES)}")
        return TypeOf(node, self.take().text, operator.position)

    def membership(self) -> Node:
        node = self.sum()
        while self.peek().kind in ("in", "not in"):
            operator = self.take()
            members = self.members()
            node = Membership(node, members, operator.kind == "not in", operator.position)
        return node

    def members(self) -> tuple[bool | int | float | str, ...]:
        start = self.expect("{")
        members = [self.member()]
        while self.peek().kind == ",":
            self.take()
            members.append(self.member())
        self.expect("}")
        kinds = {float if _is_number(member) else type(member) for member in members}
        if len(kinds) > 1:
            raise ExpressionError("a set has members of one type", self.text, start.position)
        return tuple(members)

    def member(self) -> bool | int | float | str:
        sign = -1 if self.peek().kind == "-" and self.take() else 1
        token = self.peek()
        # A text that starts with "/" cannot be a pointer here: members are constants.
        node = Literal(token.text) if token.kind == "quoted_pointer" else self.literal(token)
        if node is None or node.value is None or (sign < 0 and not _is_number(node.value)):
            raise self.unexpected("a number, a text, true or false")
        self.take()
        return sign * node.value if isinstance(node.value, (int, float)) and sign < 0 else node.value

    def sum(self) -> Node:
        node = self.product()
        while self.peek().kind in syntax.SUM:
            operator = self.take()
            node = self.arithmetic(operator, node, self.product())
        return node

    def product(self) -> Node:
        node = self.unary()
        while self.peek().kind in syntax.PRODUCT:
            operator = self.take()
            node = self.arithmetic(operator, node, self.unary())
        return node

    def arithmetic(self, operator: Token, left: Node, right: Node) -> Node:
        sides = (left, right)
        for side in sides:
            text = isinstance(side, Literal) and isinstance(side.value, str)
            if gives_boolean(side) or side == Literal(None) or (text and operator.kind != "+"):
                raise ExpressionError(
                    f"{operator.kind} cannot work with this", self.text, side.position
                )
        if any(isinstance(side, Literal) and isinstance(side.value, str) for side in sides):
            for side in sides:
                if isinstance(side, Literal) and not isinstance(side.value, str):
                    raise ExpressionError(
                        "+ adds two numbers or joins two texts", self.text, side.position
                    )
        return Binary(operator.kind, left, right, operator.position)

    def unary(self) -> Node:
        token = self.peek()
        if token.kind not in ("not", "-"):
            return self.primary()
        self.take()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ExpressionError("nested too deeply", self.text, token.position)
        operand = self.unary()
        self.depth -= 1
        if token.kind == "not":
            return Not(operand, token.position)
        if isinstance(operand, Literal):
            if not _is_number(operand.value):
                raise ExpressionError("- takes a number", self.text, operand.position)
            return Literal(-operand.value, token.position)  # type: ignore[operator]
        if gives_boolean(operand):
            raise ExpressionError("- takes a number", self.text, operand.position)
        return Negate(operand, token.position)

    def primary(self) -> Node:
        token = self.peek()
        if token.kind == "(":
            self.take()
            node = self.condition()
            self.expect(")")
            return node
        if token.kind == "pointer" or (token.kind == "quoted_pointer" and not self.calls):
            self.take()
            return Pointer(normalize_pointer(token.text), token.position)
        if token.kind == "quoted_pointer":
            self.take()
            return Literal(token.text, token.position)
        literal = self.literal(token)
        if literal is not None:
            self.take()
            return literal
        if token.kind == "name":
            return self.call()
        raise self.unexpected("a value")

    def literal(self, token: Token) -> Literal | None:
        if token.kind == "string":
            return Literal(token.text, token.position)
        if token.kind == "integer":
            value = int(token.text)
            if value > _LARGEST:
                raise ExpressionError("the number is too large", self.text, token.position)
            return Literal(value, token.position)
        if token.kind == "float":
            return Literal(float(token.text), token.position)
        if token.kind == "name" and token.text in ("true", "false"):
            return Literal(token.text == "true", token.position)
        if token.kind == "name" and token.text == "null":
            return Literal(None, token.position)
        return None

    def call(self) -> Node:
        name = self.take()
        if self.peek().kind != "(":
            self.next -= 1
            raise self.bare_name(name)
        check_name(name.text, self.text, name.position)
        self.take()
        self.calls += 1
        arguments: list[Node] = []
        if self.peek().kind != ")":
            arguments.append(self.condition())
            while self.peek().kind == ",":
                self.take()
                arguments.append(self.condition())
        self.calls -= 1
        self.expect(")")
        return check_call(Call(name.text, tuple(arguments), name.position), self.text)

    def bare_name(self, name: Token) -> ExpressionError:
        error = self.unexpected("a value")
        hint = error.hint or f'write /{name.text} for a key, "{name.text}" for a text'
        return ExpressionError(error.problem, self.text, name.position, hint=hint)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
