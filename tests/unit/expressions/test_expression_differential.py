"""Random conditions, compiled, against the evaluator of reference.py."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from meltline.expressions import compile_condition
from meltline.model.event import Shape
from tests.unit.expressions.evaluation import connect, run_json
from tests.unit.expressions.reference import Tree, expected_for

NUMBERS = [0, 1, 2, 7, -3, 2**31, 2**53 + 1, 2**63 - 1, 0.5, 1.0, -2.25, 1e3, 7.0]
TEXTS = ["", "a", "ab", "1", "true", "é'\"\\"]
KEYS = ["a", "b", "c", "d"]
VALUES = [*NUMBERS, *TEXTS, True, False, None, [1, "x"], {"k": 1}]
LEVELS = [("and", "or"), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%")]
PLACE = {name: level for level, names in enumerate(LEVELS) for name in names}


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


def written(tree: Tree, level: float = 0.0) -> str:
    """`level` is how tight an operator must bind to go without parentheses here."""
    kind = tree[0]
    place: float = PLACE.get(kind, 0)
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
        text = f"{written(tree[1], place)} {kind} {written(tree[2], place + 0.1)}"
    return f"({text})" if place < level else text


def constant(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return repr(value)


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
