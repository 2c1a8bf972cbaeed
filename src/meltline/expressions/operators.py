"""The operators of the language, on operands.

A comparison of things that cannot be compared is false, as Data Prepper has it; an arithmetic
operation on such things is a failure of the whole expression.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from meltline.expressions import kinds
from meltline.expressions.operands import (
    ComputedOperand,
    ConstantOperand,
    JsonOperand,
    Operand,
    TypedOperand,
    truth,
)
from meltline.expressions.quoting import quote_json, quote_literal


def logic(operator: str, left: Operand, right: Operand) -> Operand:
    """Not a boolean on one side makes `or` false too, whatever the other side is."""
    failures = left.failures + right.failures
    one, other = left.boolean(), right.boolean()
    if one is None or other is None:
        return truth("FALSE", failures)
    sql = f"({one} {operator.upper()} {other})"
    unsure = [side for side in (left, right) if not side.never_null]
    if unsure and operator == "and":
        return truth(f"COALESCE({sql}, FALSE)", failures)
    checks = "".join(f" AND ({side.boolean()}) IS NOT NULL" for side in unsure)
    return truth(f"({sql}{checks})" if checks else sql, failures)


def negation(operand: Operand) -> Operand:
    sql = operand.boolean()
    if sql is None:
        return truth("FALSE", operand.failures)
    return truth(f"(NOT {sql})" if operand.never_null else f"COALESCE(NOT ({sql}), FALSE)",
                 operand.failures)  # fmt: skip


def relation(operator: str, left: Operand, right: Operand) -> Operand:
    failures = left.failures + right.failures
    sql = _compared(operator, left, right) or _compared_times(operator, left, right)
    return truth(f"COALESCE({sql}, FALSE)" if sql else "FALSE", failures)


def _compared(operator: str, left: Operand, right: Operand) -> str | None:
    """Numbers compared; NULL when one side is none. Large integers are compared exactly."""
    one, other = left.number(), right.number()
    if one is None or other is None:
        return None
    sql = f"{one} {operator} {other}"
    whole, other_whole = left.integer(), right.integer()
    known = isinstance(left, TypedOperand) and isinstance(right, TypedOperand)
    if known or left.exact_as_double or right.exact_as_double or not (whole and other_whole):
        return sql
    return f"COALESCE({whole} {operator} {other_whole}, {sql})"


def _compared_times(operator: str, left: Operand, right: Operand) -> str | None:
    """Dates and timestamps compared with each other, or with texts that can be read as such."""
    if kinds.TEMPORAL not in (left.kind, right.kind):
        return None
    sides = []
    for side, partner in ((left, right), (right, left)):
        if isinstance(side, TypedOperand) and side.kind == kinds.TEMPORAL:
            sides.append(side.sql)
        elif side.text() is not None and isinstance(partner, TypedOperand):
            sides.append(f"TRY_CAST({side.text()} AS {partner.type.name})")
    return f"{sides[0]} {operator} {sides[1]}" if len(sides) == 2 else None


def equality(left: Operand, right: Operand) -> Operand:
    """Null equals null; values of different sorts are not equal."""
    failures = left.failures + right.failures
    if isinstance(left, ConstantOperand):
        left, right = right, left
    if not left.kind or not right.kind:
        return truth((right if not left.kind else left).is_null(), failures)
    if isinstance(left, JsonOperand) and isinstance(right, ConstantOperand):
        number = _compared("=", left, right)
        sql = number or f"{left.raw} = {right.json()}"
        return truth(f"COALESCE({sql}, FALSE)", failures)
    typed = isinstance(left, TypedOperand) and isinstance(right, TypedOperand)
    if typed and left.kind == right.kind:
        return truth(_same_kind(cast(TypedOperand, left), cast(TypedOperand, right)), failures)
    equal = _equal_facets(left, right)
    both_null = f"({left.is_null()} AND {right.is_null()})"
    if equal:
        return truth(f"({both_null} OR COALESCE({equal}, FALSE))", failures)
    return truth(both_null, failures)


def _same_kind(left: TypedOperand, right: TypedOperand) -> str:
    if left.never_null and right.never_null:
        return f"({left.sql} = {right.sql})"
    if isinstance(right, ConstantOperand):
        return f"COALESCE({left.sql} = {right.sql}, FALSE)"
    if left.kind in (kinds.LIST, kinds.STRUCT, kinds.MAP):
        return f"({left.json()} IS NOT DISTINCT FROM {right.json()})"
    return f"({left.sql} IS NOT DISTINCT FROM {right.sql})"


def _equal_facets(left: Operand, right: Operand) -> str | None:
    """NULL or false unless some facet of both is there and equal."""
    choices = [_compared("=", left, right), _compared_times("=", left, right)]
    if kinds.JSON in (left.kind, right.kind):
        choices.append(f"{left.json()} = {right.json()}")
    else:
        for one, other in ((left.text(), right.text()), (left.boolean(), right.boolean())):
            choices.append(f"{one} = {other}" if one and other else None)
    found = [choice for choice in choices if choice]
    return " OR ".join(f"({choice})" for choice in found) if found else None


def member_of(operand: Operand, members: tuple[bool | int | float | str, ...]) -> Operand:
    """As in Java's sets an integer never equals a number written with a point."""
    points = [member for member in members if isinstance(member, float)]
    others = [member for member in members if not isinstance(member, float)]
    if isinstance(operand, JsonOperand):
        tests = [_listed(operand.raw, [quote_json(member) for member in others])]
    elif operand.kind == kinds.DECIMAL:
        points, tests = [], [_listed(operand.number(), map(quote_literal, members))]
    elif not others:
        tests = []
    else:
        facet = {bool: operand.boolean, int: operand.integer, str: operand.text}[type(others[0])]()
        tests = [_listed(facet, map(quote_literal, others))]
    if points and operand.kind != kinds.INTEGER:
        test = _listed(operand.number(), map(quote_literal, points))
        whole = operand.integer()
        tests.append(f"({test} AND ({whole}) IS NULL)" if test and whole else test)
    found = " OR ".join(test for test in tests if test)
    return truth(f"COALESCE({found}, FALSE)" if found else "FALSE", operand.failures)


def _listed(sql: str | None, members: Iterable[str]) -> str | None:
    listed = ", ".join(members)
    return f"{sql} IN ({listed})" if sql and listed else None


def matches(operand: Operand, pattern: Operand, negated: bool) -> Operand:
    """The whole text against the pattern. Without two texts both `=~` and `!~` are false."""
    failures = operand.failures + pattern.failures
    text, regex = operand.text(), pattern.text()
    if text is None or regex is None:
        return truth("FALSE", failures)
    sql = f"regexp_full_match({text}, {regex})"
    if not isinstance(pattern, ConstantOperand):
        sql = f"TRY({sql})"  # a pattern that comes with the event may be none
    return truth(f"COALESCE({'NOT ' if negated else ''}{sql}, FALSE)", failures)


def type_of(operand: Operand, type_name: str) -> Operand:
    if isinstance(operand, TypedOperand):
        return truth(f"({operand.sql} IS NOT NULL)" if operand.type.type_name == type_name
                     else "FALSE", operand.failures)  # fmt: skip
    if not isinstance(operand, JsonOperand):
        return truth("FALSE", operand.failures)
    raw, whole = operand.raw, f"regexp_full_match({operand.raw}, '-?[0-9]+')"
    sql = {
        "integer": f"{whole} AND TRY_CAST({raw} AS INTEGER) IS NOT NULL",
        "long": f"{whole} AND TRY_CAST({raw} AS BIGINT) IS NOT NULL"
        f" AND TRY_CAST({raw} AS INTEGER) IS NULL",
        "double": f"regexp_full_match({raw}, '-?[0-9].*[.eE].*')",
        "boolean": f"{raw} IN ('true', 'false')",
        "string": f"starts_with({raw}, '\"')",
        "map": f"starts_with({raw}, '{{')",
        "array": f"starts_with({raw}, '[')",
        "big_decimal": "FALSE",
    }[type_name]
    return truth(f"COALESCE({sql}, FALSE)", operand.failures)


def arithmetic(operator: str, left: Operand, right: Operand) -> Operand:
    whole = _both(left.integer(), right.integer())
    double = _both(left.double(), right.double())
    text = _both(left.text(), right.text()) if operator == "+" else None
    as_integer = as_double = None
    if whole and operator == "%":
        as_integer = f"({whole[0]} % nullif({whole[1]}, 0))"
    elif whole and operator != "/":
        # HUGEINT holds every outcome of two BIGINT; what does not fit goes on as a double.
        as_integer = f"TRY_CAST(CAST({whole[0]} AS HUGEINT) {operator} {whole[1]} AS BIGINT)"
    if double and operator != "%":
        as_double = f"({double[0]} {operator} {double[1]})"
    as_text = f"({text[0]} || {text[1]})" if text else None
    kind = _outcome(operator, left.kind, right.kind)
    return _checked(
        ComputedOperand(
            as_integer=as_integer, as_double=as_double, as_text=as_text, of_kind=kind,
            failures=left.failures + right.failures,
        )
    )  # fmt: skip


def minus(operand: Operand) -> Operand:
    whole, double = operand.integer(), operand.double()
    kind = operand.kind if operand.kind in (kinds.INTEGER, kinds.DOUBLE) else kinds.JSON
    return _checked(
        ComputedOperand(
            as_integer=f"TRY_CAST(-CAST({whole} AS HUGEINT) AS BIGINT)" if whole else None,
            as_double=f"(-{double})" if double else None,
            of_kind=kind,
            failures=operand.failures,
        )
    )


def _both(one: str | None, other: str | None) -> tuple[str, str] | None:
    return (one, other) if one is not None and other is not None else None


def _outcome(operator: str, left: str, right: str) -> str:
    if operator == "%" or (operator != "/" and left == right == kinds.INTEGER):
        return kinds.INTEGER
    if operator == "+" and kinds.STRING in (left, right):
        return kinds.STRING
    known = {left, right} <= {kinds.INTEGER, kinds.DOUBLE, kinds.DECIMAL}
    return kinds.DOUBLE if operator == "/" or known else kinds.JSON


def _checked(operand: ComputedOperand) -> Operand:
    facets = (operand.as_integer, operand.as_double, operand.as_text)
    if not any(facets):
        return Operand(failures=(*operand.failures, "TRUE"))
    return ComputedOperand(
        as_integer=operand.as_integer, as_double=operand.as_double, as_text=operand.as_text,
        of_kind=operand.of_kind, failures=(*operand.failures, operand.is_null()),
    )  # fmt: skip
