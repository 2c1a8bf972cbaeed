"""Reads an expression into its tree.

Tight to loose: `( )`, then `not` and `-`, then `* / %`, `+ -`, `in`, `< <= > >= typeof`,
`=~ !~`, `== !=`, and last `and` and `or`, which share one level. All go left to right.
"""

from __future__ import annotations

import math

from meltline.expressions import syntax
from meltline.expressions.cursor import Cursor
from meltline.expressions.functions import check_call, check_name, normalize_pointer
from meltline.expressions.syntax import (
    Binary,
    Call,
    Constant,
    Membership,
    Negate,
    Node,
    Not,
    Pointer,
    TypeOf,
    gives_boolean,
)
from meltline.expressions.tokens import Token
from meltline.expressions.trial import refusal

_LARGEST = 2**63 - 1
_NAMED: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def parse(text: str) -> Node:
    """The tree, or ExpressionError with the place of the mistake."""
    return _Reader(text).whole()


class _Reader(Cursor):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.calls = 0  # how many calls we are inside of: there a quoted pointer is a text

    def whole(self) -> Node:
        if self.peek().kind == "end":
            raise self.wrong("the expression is empty", 0)
        node = self.condition()
        if self.peek().kind != "end":
            raise self.unexpected("an operator or the end")
        return node

    def condition(self) -> Node:
        self.descend()
        node = self.equality()
        while self.peek().kind in syntax.LOGIC:
            operator = self.take()
            node = Binary(operator.kind, node, self.equality(), operator.position)
        self.ascend()
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
            if not _is_text(side) and not isinstance(side, (Pointer, Call)):
                problem = f"{operator.kind} takes a pointer or a text on both sides"
                raise self.wrong(problem, side.position)
        if isinstance(pattern, Constant):
            refused = refusal("SELECT regexp_full_match('', ?)", [pattern.value])
            if refused:
                raise self.wrong(f"not a regular expression: {refused}", pattern.position)
        return Binary(operator.kind, node, pattern, operator.position)

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
            raise self.wrong("typeof takes a pointer", node.position)
        if self.peek().text not in syntax.TYPE_NAMES:
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
            raise self.wrong("a set has members of one type", start.position)
        return tuple(members)

    def member(self) -> bool | int | float | str:
        minus = self.take() if self.peek().kind == "-" else None
        token = self.peek()
        # A text that starts with "/" cannot be a pointer here: members are constants.
        quoted = token.kind == "quoted_pointer"
        constant = Constant(token.text) if quoted else self.constant(token)
        value = constant.value if constant else None
        if value is None or (minus and not _is_number(value)):
            raise self.unexpected("a number, a text, true or false")
        self.take()
        return -value if minus and isinstance(value, (int, float)) else value

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
        texts = _is_text(left) or _is_text(right)
        for side in (left, right):
            constant = isinstance(side, Constant)
            if gives_boolean(side) or (constant and side == Constant(None)):
                raise self.wrong(f"{operator.kind} needs numbers", side.position)
            if texts and operator.kind != "+" and _is_text(side):
                raise self.wrong(f"{operator.kind} needs numbers", side.position)
            if texts and constant and not _is_text(side):
                raise self.wrong("+ adds two numbers or joins two texts", side.position)
        return Binary(operator.kind, left, right, operator.position)

    def unary(self) -> Node:
        token = self.peek()
        if token.kind not in ("not", "-"):
            return self.primary()
        self.take()
        self.descend()
        operand = self.unary()
        self.ascend()
        if token.kind == "not":
            return Not(operand, token.position)
        if gives_boolean(operand) or _is_text(operand) or operand == Constant(None):
            raise self.wrong("- needs a number", operand.position)
        if isinstance(operand, Constant) and isinstance(operand.value, (int, float)):
            return Constant(-operand.value, token.position)
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
            return Constant(token.text, token.position)
        constant = self.constant(token)
        if constant is not None:
            self.take()
            return constant
        if token.kind == "name" and self.tokens[self.next + 1].kind == "(":
            return self.call()
        raise self.unexpected("a value")

    def constant(self, token: Token) -> Constant | None:
        if token.kind == "string":
            return Constant(token.text, token.position)
        if token.kind == "integer" or token.kind == "float":
            value = int(token.text) if token.kind == "integer" else float(token.text)
            if value > _LARGEST and (isinstance(value, int) or math.isinf(value)):
                raise self.wrong("the number is too large", token.position)
            return Constant(value, token.position)
        if token.kind == "name" and token.text in _NAMED:
            return Constant(_NAMED[token.text], token.position)
        return None

    def call(self) -> Node:
        name = self.take()
        check_name(name.text, self.text, name.position)
        self.expect("(")
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


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(node: Node) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, str)
