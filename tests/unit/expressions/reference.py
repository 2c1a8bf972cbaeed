"""The language in plain Python, one event at a time: what compiled conditions must agree with."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
Tree = tuple[Any, ...]
ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Failure(Exception):
    """The whole expression fails."""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def evaluate(tree: Tree, event: Event, sorts: dict[str, str] | None) -> Any:
    kind = tree[0]
    if kind == "constant":
        return tree[1]
    if kind == "pointer":
        return event.get(tree[1])
    if kind == "typeof":
        return sort_of(event.get(tree[1]), tree[1], sorts) == tree[2]
    if kind == "not":
        value = evaluate(tree[1], event, sorts)
        return (not value) if isinstance(value, bool) else False
    if kind == "in":
        return contains(tree[2], evaluate(tree[1], event, sorts)) is not tree[3]
    if kind == "match":
        text = evaluate(tree[1], event, sorts)
        return isinstance(text, str) and bool(re.fullmatch(tree[2], text)) is not tree[3]
    if kind in ("startsWith", "contains"):
        return text_test(kind, evaluate(tree[1], event, sorts), tree[2])
    left, right = evaluate(tree[1], event, sorts), evaluate(tree[2], event, sorts)
    return binary(kind, left, right)


def sort_of(value: Any, key: str, sorts: dict[str, str] | None) -> str:
    if value is None:
        return ""
    if sorts is not None:
        return sorts[key]
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -(2**31) <= value < 2**31 else "long"
    names = {float: "double", str: "string", list: "array", dict: "map"}
    return names[type(value)]


def contains(members: list[Any], value: Any) -> bool:
    return any(type(member) is type(value) and member == value for member in members)


def text_test(kind: str, text: Any, part: str) -> bool:
    if text is None:
        return False
    if not isinstance(text, str):
        raise Failure
    return text.startswith(part) if kind == "startsWith" else part in text


def binary(kind: str, left: Any, right: Any) -> Any:
    if kind in ("and", "or"):
        if not isinstance(left, bool) or not isinstance(right, bool):
            return False
        return (left and right) if kind == "and" else (left or right)
    if kind in ("==", "!="):
        return equal(left, right) is (kind == "==")
    if kind in ORDER:
        return is_number(left) and is_number(right) and ORDER[kind](*comparable(left, right))
    return arithmetic(kind, left, right)


def comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """DuckDB takes NaN for the greatest number and for equal to itself."""
    if isinstance(left, int) and isinstance(right, int):
        return left, right
    key = [(math.isnan(side), 0.0 if math.isnan(side) else side)
           for side in (float(left), float(right))]  # fmt: skip
    return key[0], key[1]


def equal(left: Any, right: Any) -> bool:
    if is_number(left) and is_number(right):
        one, other = comparable(left, right)
        return bool(one == other)
    return type(left) is type(right) and left == right


def arithmetic(kind: str, left: Any, right: Any) -> Any:
    if kind == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    if not is_number(left) or not is_number(right):
        raise Failure
    whole = isinstance(left, int) and isinstance(right, int)
    if kind == "%":
        if not whole or right == 0:
            raise Failure
        return int(math.copysign(abs(left) % abs(right), left)) if abs(left) < 2**53 else (
            (abs(left) % abs(right)) * (1 if left >= 0 else -1))  # fmt: skip
    if kind == "/":
        return divide(float(left), float(right))
    act = {"+": operator.add, "-": operator.sub, "*": operator.mul}[kind]
    if whole and -(2**63) <= act(left, right) < 2**63:
        return act(left, right)
    return act(float(left), float(right))


def divide(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def expected_for(tree: Tree, events: list[Event], sorts: dict[str, str] | None) -> list[bool]:
    outcome = []
    for event in events:
        try:
            outcome.append(evaluate(tree, event, sorts) is True)
        except Failure:
            outcome.append(False)
    return outcome
