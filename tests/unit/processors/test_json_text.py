"""Changes to JSON text: what was not asked for stays as it was written, to the letter."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from meltline.processors import json_text
from tests.unit.expressions.evaluation import connect

CONNECTION = connect()
NUMBERS = ["0", "-0", "5", "-17", "1.0", "1.10", "0.5", "1e3", "1E-7", "-2.50e+10", "0.00001",
           "12345678901234567.891", "9223372036854775808", "123456789012345678901234567890",
           "6.310682188770933", "100.00", "-0.0", "1e400", "0.1", "99.99"]  # fmt: skip
TEXTS = ['""', '"a"', '"1.50"', r'"q\"1.10\" \\"', r'"\u00e9\n"', '"é 🦆"', '"{1.50: [2e3]}"',
         r'"\\"', '"k"', '"a,b"']  # fmt: skip
KEYS = ["a", "b", "k", "a b", "é", "x.y", "it's", "k~1s", "A"]


class Number(str):
    """A number as it is written."""


def read(text: str) -> Any:
    """Lists of pairs for objects, so that order counts."""
    return json.loads(text, parse_float=Number, parse_int=Number, object_pairs_hook=list)


def apply(sql: str, body: str, value: str = "null") -> Any:
    query = f"SELECT {sql} FROM (SELECT $1 AS body, $2 AS value)"
    found = CONNECTION.execute(query, [body, value]).fetchone()
    assert found is not None
    return found[0]


class Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def space(self) -> str:
        return self.chance.choice(["", "", "", " ", "\n  "])

    def value(self, depth: int) -> str:
        roll = self.chance.random()
        if depth and roll < 0.2:
            return self.object(depth - 1)
        if depth and roll < 0.3:
            items = [self.value(depth - 1) for _ in range(self.chance.randint(0, 3))]
            return "[" + f"{self.space()},{self.space()}".join(items) + "]"
        if roll < 0.65:
            return self.chance.choice(NUMBERS)
        return self.chance.choice([*TEXTS, "true", "false", "null"])

    def object(self, depth: int) -> str:
        keys = self.chance.sample(KEYS, self.chance.randint(0, 5))
        members = [
            f"{self.space()}{json.dumps(key, ensure_ascii=self.chance.random() < 0.2)}"
            f"{self.space()}:{self.space()}{self.value(depth)}"
            for key in keys
        ]
        return "{" + ",".join(members) + self.space() + "}" + self.chance.choice(["", "", "\n"])


def steps_of(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def expected_put(tree: Any, steps: list[str], value: Any) -> Any:
    """As the module promises; objects are lists of pairs here."""
    head, rest = steps[0], steps[1:]
    if not isinstance(tree, list) or any(not isinstance(pair, tuple) for pair in tree):
        return tree
    out, found = [], False
    for key, old in tree:
        new = old
        if key == head and not found:
            new, found = (expected_put(old, rest, value) if rest else value), True
        out.append((key, new))
    if not found:
        for step in reversed(rest):
            value = [(step, value)]
        out.append((head, value))
    return out


def expected_remove(tree: Any, steps: list[str]) -> Any:
    if not isinstance(tree, list) or any(not isinstance(pair, tuple) for pair in tree):
        return tree
    if len(steps) == 1:
        return [pair for pair in tree if pair[0] != steps[0]]
    return [(k, expected_remove(v, steps[1:]) if k == steps[0] else v) for k, v in tree]


@pytest.mark.parametrize("seed", range(4))
def test_random_changes(seed: int) -> None:
    maker = Maker(seed)
    for _ in range(30):
        body = maker.object(2)
        key = "/" + maker.chance.choice([k.replace("~", "~0") for k in KEYS])
        path = key + ("/" + maker.chance.choice(["a", "b", "new"]) if seed % 2 else "")
        value = maker.value(1)
        steps, tree = steps_of(path), read(body)
        # An empty array and an empty object look the same as pairs.
        if "[]" in body.replace(" ", "").replace("\n", ""):
            continue
        put = apply(json_text.put("body", path, "value"), body, value)
        assert read(put) == expected_put(tree, steps, read(value)), (body, path, value)
        removed = apply(json_text.remove("body", path), body)
        assert read(removed) == expected_remove(tree, steps), (body, path)
        kept = apply(json_text.keep_members("body", lambda k, _: f"{k} <> 'a'"), body)
        assert read(kept) == [pair for pair in tree if pair[0] != "a"], body


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("path", ["/n", "/o/n", "/l/0"])
def test_a_value_is_taken_out_as_it_is_written(number: str, path: str) -> None:
    body = f'{{"n": {number}, "o": {{"n":{number}}}, "l": [{number}], "t": "1.50"}}'
    assert apply(json_text.value_at("body", path), body) == number
    assert apply(json_text.value_at("body", "/l"), body) == f"[{number}]"


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        ('{"a":null}', "/a", "null"),
        ('{"a":null}', "/b", None),
        ('{"a":5}', "/a/b", None),
        ('{"a":{"b":null}}', "/a/b", "null"),
        ('{"a/b":1.50}', "/a~1b", "1.50"),
        ('{"":1.50}', "/", "1.50"),
        ('{"a":1.50,"A":2.50}', "/A", "2.50"),
    ],
)
def test_values(body: str, path: str, expected: str | None) -> None:
    assert apply(json_text.value_at("body", path), body) == expected


@pytest.mark.parametrize(
    ("body", "path", "value", "expected"),
    [
        ("{}", "/a", "1", '{"a":1}'),
        (" { } ", "/a", "1", '{"a":1}'),
        ('{"a": 1}', "/b", "null", '{"a": 1,"b":null}'),
        ('{"a": 1, "b": "x" }', "/a", "2", '{"a": 2, "b": "x" }'),
        ('{"a": "k", "k": 1}', "/k", "2", '{"a":"k","k":2}'),
        ('{"o": {"k": 1}}', "/k", "2", '{"o": {"k": 1},"k":2}'),
        ('{"o": {"k": 1}, "k": 1}', "/k", "2", '{"o":{"k":1},"k":2}'),
        (r'{"\u006b": 1, "a": "k"}', "/k", "2", '{"k":2,"a":"k"}'),
        ('{"a": 1.50}', "/a", r'"\\1 \"x\""', r'{"a": "\\1 \"x\""}'),
        ('{"a": 1,}', "/b", "2", '{"a":1,"b":2}'),
        ('{"a": {"b": 1,},}', "/b", "2", '{"a":{"b":1},"b":2}'),
        ('{"a": 5}', "/a/b", "2", '{"a":5}'),
        ('{"a": [1.50, 2]}', "/a/1", "7", '{"a":[1.50,7]}'),
        (r'{"a": "\u0001", "b": 1.0, "c": {}}', "/c/d", "2", r'{"a":"\u0001","b":1.0,"c":{"d":2}}'),
    ],
)  # fmt: skip
def test_put(body: str, path: str, value: str, expected: str) -> None:
    assert apply(json_text.put("body", path, "value"), body, value) == expected


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        ('{"a": 1, "b": 2}', "/a", '{"b": 2}'),
        ('{"a": 1, "b": 2}', "/b", '{"a": 1}'),
        ('{"a": 1}', "/a", "{}"),
        ('{"a": "x,}\\"", "b": 2, "c": 3}', "/a", '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2}', "/c", '{"a": 1, "b": 2}'),
        ('{"a": 1, "a": 2, "b": 3}', "/a", '{"b":3}'),
        ('{"a": {"x": 1.50}, "b": 1.50}', "/a", '{"b":1.50}'),
    ],
)
def test_remove(body: str, path: str, expected: str) -> None:
    assert apply(json_text.remove("body", path), body) == expected
