"""Format strings."""

from __future__ import annotations

from typing import Any

import pytest

from meltline.expressions import (
    ExpressionError,
    check_format,
    compile_format,
    fixed_by,
    is_static,
)
from tests.unit.expressions.evaluation import (
    JSON_SHAPE,
    formatted,
    run_json,
    typed_formatted,
)

EVENT = {"a": 5, "s": "x y", "o": {"b": "in"}, "n": None, "d": 1.5, "t": True, "l": [1, "z"],
         "a-b": "dash", "k e": "space", "now()": "key", "é": "é"}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain 'text' $ {x} }", "plain 'text' $ {x} }"),
        ("${a}", "5"),
        ("${/a}", "5"),
        ("i-${s}-${o/b}!", "i-x y-in!"),
        ("${/o/b}${d}${t}", "in1.5true"),
        ("${l}|${o}", '[1,"z"]|{"b":"in"}'),
        ("${a-b}", "dash"),
        ("${k e}", "space"),
        # a key that is not there, and no expression: nothing can be written
        ("x-${missing}", None),
        ("x-${o/missing}", None),
        ("x-${n}", None),
        # a null expression adds nothing
        ("x-${/missing}", "x-"),
        ("x-${/n}-y", "x--y"),
        ('${getMetadata("missing")}', ""),
        ('${getMetadata("table_name")}.${getMetadata("count")}', "orders.5"),
        ('${getMetadata("empty")}', ""),
        ("${/a + 1}", "6"),
        ("${/a / 2}", "2.5"),
        ('${/s + "!"}', "x y!"),
        ("${length(/s)}", "3"),
        ("${/a > 3}", "true"),
        # first a key, then an expression
        ("${now()}", "key"),
        ("${length(/l)}", "2"),
        # an expression that fails
        ("${/s + 1}", None),
        ("${length(/a)}", None),
        ("$${a}", "$5"),
        ("${a}}", "5}"),
    ],
)
def test_json_events(text: str, expected: str | None) -> None:
    assert formatted(text, EVENT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${n}-${s}-${dec}", "7-abc-12.50"),
        ("${o/x}${/o/y/z}", "1deep"),
        ("${ts}", "2024-05-06 07:08:09"),
        ("${list}", "[1,2,3]"),
        ("${b}", "true"),
        ("${nowhere}", None),
        ("${/nowhere}", ""),
        ("${gone}", None),
        ("${/gone}", ""),
        ("${/n + 1}", "8"),
        ('${getMetadata("nested/deep")}', "down"),
    ],
)
def test_typed_events(text: str, expected: str | None) -> None:
    assert typed_formatted(text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a ${b", "the ${ is not closed\n   a ${b\n     ^\n hint: expected a }"),
        ("a ${}", "expected a key or an expression between ${ and }\n   a ${}\n       ^"),
        (
            'a ${lenght("x")}',
            'unknown function "lenght"\n   a ${lenght("x")}\n       ^\n'
            ' hint: did you mean "length"?',
        ),
        ("-${/a == }", "expected a value, found the end\n   -${/a == }\n            ^"),
    ],
)
def test_mistakes(text: str, error: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        check_format(text)
    assert str(caught.value) == error


def test_static_or_not() -> None:
    assert is_static("plain {x} $")
    assert not is_static("a-${b}")


def test_a_string_reads_the_body_once() -> None:
    sql = compile_format("${a}-${b}-${/c}", JSON_SHAPE)
    assert sql.count("body") == 1
    found: list[Any] = run_json(sql, ['{"a":1,"b":2,"c":3}', '{"a":1,"c":3}', '{"a":1,"b":2}'])
    assert found == ["1-2-3", None, "1-2-"]


def test_a_string_that_metadata_decide_is_known_beforehand() -> None:
    known = {"table": "shop.orders"}
    assert fixed_by('copy.${getMetadata("table")}', known) == "copy.shop.orders"
    assert fixed_by("plain", known) == "plain"
    for text in ("copy.${/table}", '${getMetadata("other")}', "${table}",
                 '${getMetadata("table") + "x"}'):
        assert fixed_by(text, known) is None
