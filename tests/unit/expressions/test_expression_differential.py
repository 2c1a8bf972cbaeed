"""Random conditions, compiled, against a small evaluator that follows the reference in Python."""

from __future__ import annotations

import json
import math
import operator
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from meltline.expressions import compile_condition
from meltline.model.event import Shape
from tests.unit.expressions.evaluation import connect, run_json

Event = dict[str, Any]
Tree = tuple[Any, ...]

NUMBERS = [0, 1, 2, 7, -3, 2**31, 2**53 + 1, 2**63 - 1, 0.5, 1.0, -2.25, 1e3, 7.0]
TEXTS = ["", "a", "ab", "1", "true", "é'\"\\"]
KEYS = ["a", "b", "c", "d"]
VALUES = [*NUMBERS, *TEXTS, True, False, None, [1, "x"], {"k": 1}]
LEVELS = [("and", "or"), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%")]
PLACE = {name: level for level, names in enumerate(LEVELS) for name in names}
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


class Writer:
    """Makes random trees and writes them with no more parentheses than are needed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def condition(self, depth: int) -> Tree:
        choice = self.chance.choice
        if depth <= 0 or self.chance.random() < 0.15:
            return self.leaf_condition()
        kind = choice(["and", "or", "not", "==", "!=", "<", "<=", ">", ">=", "in", "match"])
        if kind in ("and", "or"):
            return (kind, self.condition(depth - 1), self.condition(depth - 1))
        if kind == "not":
            return (kind, self.condition(depth - 1))
        if kind == "in":
            pool: list[Any] = choice([NUMBERS, TEXTS, [True, False]])
            members = self.chance.sample(pool, 2)
            return (kind, self.value(depth - 1), members, self.chance.random() < 0.5)
        if kind == "match":
            pattern = choice(["a.*", "[0-9]+", "", ".", "a|ab"])
            return (kind, ("pointer", choice(KEYS)), pattern, self.chance.random() < 0.5)
        return (kind, self.value(depth - 1), self.value(depth - 1))

    def leaf_condition(self) -> Tree:
        key = self.chance.choice(KEYS)
        part = self.chance.choice(["", "a", "1"])
        return self.chance.choice([
            ("pointer", key), ("constant", True), ("constant", False),
            ("typeof", key, self.chance.choice(["integer", "long", "double", "string", "map",
                                                "array", "boolean"])),
            ("startsWith", ("pointer", key), part), ("contains", ("pointer", key), part),
        ])  # fmt: skip

    def value(self, depth: int) -> Tree:
        roll = self.chance.random()
        if depth > 0 and roll < 0.3:
            kind = self.chance.choice(["+", "-", "*", "/", "%"])
            return (kind, self.number(depth - 1), self.number(depth - 1))
        if depth > 0 and roll < 0.35:
            return self.condition(depth - 1)
        if roll < 0.75:
            return ("pointer", self.chance.choice(KEYS))
        return ("constant", self.chance.choice([*NUMBERS, *TEXTS, True, False, None]))

    def number(self, depth: int) -> Tree:
        if depth > 0 and self.chance.random() < 0.3:
            kind = self.chance.choice(["+", "-", "*"])
            return (kind, self.number(depth - 1), self.number(depth - 1))
        if self.chance.random() < 0.7:
            return ("pointer", self.chance.choice(KEYS))
        return ("constant", self.chance.choice(NUMBERS))


def written(tree: Tree, level: int = 0) -> str:
    """`level` is how tight an operator must bind to go without parentheses here."""
    kind = tree[0]
    if kind == "constant":
        return constant(tree[1])
    if kind == "pointer":
        return f"/{tree[1]}"
    if kind in ("startsWith", "contains"):
        return f'{kind}({written(tree[1])}, "{tree[2]}")'
    if kind == "not":
        return f"not {written(tree[1], 9)}"
    if kind == "typeof":
        text, place = f"/{tree[1]} typeof {tree[2]}", 2
    elif kind == "in":
        members = ", ".join(map(constant, tree[2]))
        text, place = f"{written(tree[1], 3)} {'not ' * tree[3]}in {{{members}}}", 2.5
    elif kind == "match":
        text, place = f'{written(tree[1], 9)} {"!~" if tree[3] else "=~"} "{tree[2]}"', 1.5
    else:
        place = PLACE[kind]
        text = f"{written(tree[1], place)} {kind} {written(tree[2], place + 0.1)}"
    return f"({text})" if place < level else text


def constant(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return repr(value)


def expected_for(tree: Tree, events: list[Event], sorts: dict[str, str] | None) -> list[bool]:
    outcome = []
    for event in events:
        try:
            outcome.append(evaluate(tree, event, sorts) is True)
        except Failure:
            outcome.append(False)
    return outcome


def test_json_conditions() -> None:
    writer = Writer(20240817)
    for _ in range(250):
        tree = writer.condition(3)
        events = [
            {key: writer.chance.choice(VALUES) for key in KEYS if writer.chance.random() < 0.85}
            for _ in range(25)
        ]
        text = written(tree)
        sql = compile_condition(text, Shape("json"))
        found = run_json(sql, [json.dumps(event) for event in events])
        assert found == expected_for(tree, events, None), text


@pytest.mark.parametrize("seed", [1, 2])
def test_typed_conditions(seed: int) -> None:
    pools: dict[str, tuple[str, str, list[Any]]] = {
        "a": ("BIGINT", "long", [n for n in NUMBERS if isinstance(n, int)]),
        "b": ("DOUBLE", "double", [n for n in NUMBERS if isinstance(n, float)]),
        "c": ("VARCHAR", "string", TEXTS),
        "d": ("BOOLEAN", "boolean", [True, False]),
    }
    shape = Shape("typed", {}, {key: type_ for key, (type_, _, _) in pools.items()})
    sorts = {key: sort for key, (_, sort, _) in pools.items()}
    writer, connection = Writer(seed), connect()
    for _ in range(120):
        tree = writer.condition(3)
        events = [
            {key: writer.chance.choice([*pool, None]) for key, (_, _, pool) in pools.items()}
            for _ in range(20)
        ]
        text = written(tree)
        struct = ", ".join(f'"{key}" {type_}' for key, (type_, _, _) in pools.items())
        source = f'SELECT unnest($1::STRUCT({struct})[]) AS "row"'
        query = f"SELECT {compile_condition(text, shape)} FROM ({source})"
        found = [row[0] for row in connection.execute(query, [events]).fetchall()]
        assert found == expected_for(tree, events, sorts), text
