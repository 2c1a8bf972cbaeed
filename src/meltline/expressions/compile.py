"""Expressions to DuckDB SQL, once per pipeline; DuckDB does the rest over whole batches.

The SQL is an expression over the columns of `events` (model/event.py). It reads `body` as JSON
and may therefore only meet good events; DuckDB is free to reorder the parts of an AND, so guard
it with `CASE WHEN bad IS NULL THEN ... END`, not with `bad IS NULL AND ...`.
"""

from __future__ import annotations

from dataclasses import dataclass

from meltline.expressions import kinds, operators
from meltline.expressions.calls import call
from meltline.expressions.errors import ExpressionError
from meltline.expressions.operands import (
    ComputedOperand,
    ConstantOperand,
    Operand,
    TypedOperand,
    constant,
)
from meltline.expressions.parse import parse
from meltline.expressions.scope import Scope
from meltline.expressions.syntax import (
    EQUALITY,
    LOGIC,
    REGEX,
    RELATION,
    Binary,
    Call,
    Constant,
    Membership,
    Negate,
    Node,
    Not,
    Pointer,
    TypeOf,
)
from meltline.model.event import Shape


@dataclass(frozen=True)
class Compiled:
    """SQL of a value.

    `type` is `json` for the text of a JSON value (SQL NULL for null), else the DuckDB type.
    `failed` is SQL BOOLEAN, never NULL: the value could not be computed, and `sql` is NULL.
    """

    sql: str
    type: str
    failed: str = "FALSE"


def check_expression(text: str) -> None:
    """Raises ExpressionError when `text` is no expression."""
    parse(text)


def check_condition(text: str) -> None:
    """Raises ExpressionError when `text` is no expression, or one that is never true or false."""
    compile_condition(text, Shape("json"))


def compile_condition(text: str, shape: Shape, *, salt: str = "") -> str:
    """SQL BOOLEAN, never NULL, never raising: what cannot be evaluated is false.

    `salt` is another text for every place in a pipeline; `generateUuid()` depends on it.
    """
    scope = Scope(shape, salt)
    node = parse(text)
    operand = compile_node(node, scope)
    sql = operand.boolean()
    if sql is None:
        if operand.kind and not _depends_on_event(node):
            raise ExpressionError("expected a condition, which is true or false", text, 0)
        return "FALSE"
    sql = sql if operand.never_null else f"COALESCE({sql}, FALSE)"
    return scope.finish(" AND ".join([sql, *(f"NOT {f}" for f in _distinct(operand.failures))]))


def _depends_on_event(node: Node) -> bool:
    """Another event could hold a boolean here."""
    return isinstance(node, Pointer) or (isinstance(node, Call) and node.name == "getMetadata")


def compile_value(text: str, shape: Shape, *, salt: str = "") -> Compiled:
    """The value of an expression, in the type it has in the event."""
    scope = Scope(shape, salt)
    operand = compile_node(parse(text), scope)
    sql, type_ = typed_sql(operand)
    failed = failure(operand)
    if failed != "FALSE":
        sql = f"CASE WHEN NOT {failed} THEN {sql} END"
    return Compiled(scope.finish(sql), type_, scope.finish(failed))


def compile_json(text: str, shape: Shape, *, salt: str = "") -> str:
    """SQL VARCHAR: the value as JSON text, `null` for null, NULL when it cannot be computed."""
    scope = Scope(shape, salt)
    operand = compile_node(parse(text), scope)
    sql, failed = f"COALESCE({operand.json()}, 'null')", failure(operand)
    return scope.finish(sql if failed == "FALSE" else f"CASE WHEN NOT {failed} THEN {sql} END")


def failure(operand: Operand) -> str:
    """SQL BOOLEAN, never NULL: something in the operand could not be evaluated."""
    failures = _distinct(operand.failures)
    return f"({' OR '.join(failures)})" if failures else "FALSE"


def _distinct(failures: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(failures))


def typed_sql(operand: Operand) -> tuple[str, str]:
    if isinstance(operand, ConstantOperand):
        return f"CAST({operand.sql} AS {operand.type.name})", operand.type.name
    if isinstance(operand, TypedOperand):
        return operand.sql, operand.type.name
    if isinstance(operand, ComputedOperand):
        if operand.kind == kinds.INTEGER and operand.as_integer:
            return operand.as_integer, "BIGINT"
        if operand.kind == kinds.DOUBLE and operand.as_double:
            return operand.as_double, "DOUBLE"
        if operand.kind == kinds.STRING and operand.as_text:
            return operand.as_text, "VARCHAR"
    return f"CAST({operand.json()} AS VARCHAR)", "json"


def compile_node(node: Node, scope: Scope) -> Operand:
    if isinstance(node, Constant):
        return constant(node.value)
    if isinstance(node, Pointer):
        return scope.pointer(node.path)
    if isinstance(node, Not):
        return operators.negation(compile_node(node.operand, scope))
    if isinstance(node, Negate):
        return operators.minus(compile_node(node.operand, scope))
    if isinstance(node, Membership):
        found = operators.member_of(compile_node(node.operand, scope), node.members)
        return operators.negation(found) if node.negated else found
    if isinstance(node, TypeOf):
        return operators.type_of(compile_node(node.pointer, scope), node.type_name)
    if isinstance(node, Call):
        return call(node.name, [compile_node(a, scope) for a in node.arguments], scope)
    return _binary(node, compile_node(node.left, scope), compile_node(node.right, scope))


def _binary(node: Binary, left: Operand, right: Operand) -> Operand:
    if node.operator in LOGIC:
        return operators.logic(node.operator, left, right)
    if node.operator in EQUALITY:
        equal = operators.equality(left, right)
        return operators.negation(equal) if node.operator == "!=" else equal
    if node.operator in REGEX:
        return operators.matches(left, right, negated=node.operator == "!~")
    if node.operator in RELATION:
        return operators.relation(node.operator, left, right)
    return operators.arithmetic(node.operator, left, right)
