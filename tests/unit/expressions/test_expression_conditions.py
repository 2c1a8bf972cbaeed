"""What conditions are true for which JSON events."""

from __future__ import annotations

from typing import Any

import pytest

from meltline.expressions import compile_condition
from meltline.model.event import Shape, json_shape
from tests.unit.expressions.evaluation import JSON_SHAPE, condition, run_json

BIG = 9007199254740993  # not a double


@pytest.mark.parametrize(
    ("text", "event", "expected"),
    [
        # numbers, texts and booleans are told apart by what the event holds
        ("/a == 1", {"a": 1}, True),
        ("/a == 1", {"a": 1.0}, True),
        ("/a == 1", {"a": "1"}, False),
        ("/a == 1", {"a": True}, False),
        ("/a == 1", {"a": [1]}, False),
        ("/a == 1", {"a": None}, False),
        ("/a == 1", {}, False),
        ("/a == 1.0", {"a": 1}, True),
        ("/a == 1.5", {"a": 1.5}, True),
        ("/a == 12345.678E12", {"a": 12345.678e12}, True),
        ('/a == "1"', {"a": "1"}, True),
        ('/a == "1"', {"a": 1}, False),
        ('/a == ""', {"a": ""}, True),
        ('/a == ""', {}, False),
        ("/a == true", {"a": True}, True),
        ("/a == true", {"a": "true"}, False),
        ("/a == true", {"a": 1}, False),
        ("/a == false", {"a": False}, True),
        ("/a == false", {"a": None}, False),
        ("/a == null", {"a": None}, True),
        ("/a == null", {}, True),
        ("/a == null", {"a": "null"}, False),
        ("/a == null", {"a": 0}, False),
        ("/a == null", {"a": []}, False),
        ("null == /a", {}, True),
        ("null == null", {}, True),
        ("null == 1", {}, False),
        ("/a != null", {"a": {"b": 1}}, True),
        ("/a != 1", {"a": 2}, True),
        ("/a != 1", {}, True),
        ("/a != null", {}, False),
        ("1 == /a", {"a": 1}, True),
        ("1 == 1.0", {}, True),
        ('1 == "1"', {}, False),
        (f"/a == {BIG}", {"a": BIG}, True),
        (f"/a == {BIG}", {"a": BIG - 1}, False),
        (f"/a > {BIG - 1}", {"a": BIG}, True),
        # two places of one event
        ("/a == /b", {"a": 1, "b": 1}, True),
        ("/a == /b", {"a": 1, "b": 1.0}, True),
        ("/a == /b", {"a": 1, "b": "1"}, False),
        ("/a == /b", {"a": "x", "b": "x"}, True),
        ("/a == /b", {"a": None}, True),
        ("/a == /b", {"a": 1}, False),
        ("/a == /b", {"a": BIG, "b": BIG - 1}, False),
        ("/a == /b", {"a": BIG, "b": BIG}, True),
        ("/a == /b", {"a": [1, {"x": 2}], "b": [1, {"x": 2}]}, True),
        ("/a == /b", {"a": True, "b": 1}, False),
        ("/success == /status_code", {"success": True, "status_code": 200}, False),
        ("/success != /status_code", {"success": True, "status_code": 200}, True),
        # order
        ("/a > 5", {"a": 6}, True),
        ("/a > 5", {"a": 5}, False),
        ("/a >= 5", {"a": 5}, True),
        ("/a < 5.5", {"a": 5}, True),
        ("/a <= 5", {"a": 5.5}, False),
        ("/a > 5", {"a": "6"}, False),
        ("/a > 5", {"a": True}, False),
        ("/a > 5", {}, False),
        ("/a < 5", {"a": None}, False),
        ("5 < /a", {"a": 6}, True),
        ("/a < /b", {"a": BIG - 1, "b": BIG}, True),
        ("/a < /b", {"a": 1, "b": 1.5}, True),
        ("/a > null", {"a": 1}, False),
        ('/a > "5"', {"a": 6}, False),
        ("/durationInNanos > 5000000000", {"durationInNanos": 6000000000}, True),
        ("1 < /a < 5", {"a": 2}, False),
        # a comparison that fails is false in its place, and may be negated
        ("not (/a > 5)", {}, True),
        ("not (/a > 5)", {"a": "x"}, True),
        ("(/a > 5) == false", {}, True),
        ("(/status_code >= 300) or (/value == 10)", {"value": 10}, True),
        # logic
        ("true", {}, True),
        ("false", {}, False),
        ("null", {}, False),
        ("/a", {"a": True}, True),
        ("/a", {"a": False}, False),
        ("/a", {"a": "true"}, False),
        ("/a", {}, False),
        ("/logs/2/drop", {"logs": [{}, {}, {"drop": True}]}, True),
        ("not /a", {"a": False}, True),
        ("not /a", {"a": True}, False),
        ("not /a", {"a": 200}, False),
        ("not /a", {}, False),
        ("not 5", {}, False),
        ("not null", {}, False),
        ("/a and /b", {"a": True, "b": True}, True),
        ("/a and /b", {"a": True}, False),
        ("/a or /b", {"a": False, "b": True}, True),
        ("/a or /b", {"a": True}, False),
        ("/a or true", {"a": 1}, False),
        ("/status_code >= 200 and 3", {"status_code": 200}, False),
        ("true or true and false", {}, False),
        ("false and true or true", {}, True),
        ("true == (/is_cool == true)", {"is_cool": True}, True),
        # sets: an integer is never equal to a number with a point
        ("/a in {1, 2}", {"a": 2}, True),
        ("/a in {1, 2}", {"a": 2.0}, False),
        ("/a in {1, 2}", {"a": "2"}, False),
        ("/a in {200.222, 300.333, 400}", {"a": 400}, True),
        ("/a in {200.222, 300.333, 400}", {"a": 300.333}, True),
        ("/a in {200.222, 300.333, 400}", {"a": 400.222}, False),
        ("/a in {2.0}", {"a": 2.0}, True),
        ("/a in {2.0}", {"a": 2}, False),
        ("/a in {-1}", {"a": -1}, True),
        ('/a in {"x", "", "é\\n"}', {"a": ""}, True),
        ('/a in {"x", "", "é\\n"}', {"a": "é\n"}, True),
        ('/a in {"x"}', {"a": "y"}, False),
        ('/a in {"/x"}', {"a": "/x", "x": "?"}, True),
        ("/a in {true, false}", {"a": False}, True),
        ("/a in {true}", {"a": "true"}, False),
        ("/a in {1}", {}, False),
        ("/a not in {1}", {}, True),
        ("/a not in {1}", {"a": "x"}, True),
        ("/a not in {1}", {"a": 1}, False),
        ("/a + 1 in {3}", {"a": 2}, True),
        # regular expressions match the whole text
        ('/a =~ "b"', {"a": "abc"}, False),
        ('/a =~ ".*b.*"', {"a": "abc"}, True),
        ('/a =~ "a|abc"', {"a": "abc"}, True),
        ('/a =~ "dataprepper-[0-9]+"', {"a": "dataprepper-212"}, True),
        (r'/a =~ "\\d{3}"', {"a": "123"}, True),
        (r'/a =~ "\d{3}"', {"a": "123"}, True),
        ('/a =~ "1"', {"a": 1}, False),
        ('/a =~ "a.b"', {"a": "a\nb"}, False),
        ('/a !~ "b"', {"a": "abc"}, True),
        ('/a !~ "abc"', {"a": "abc"}, False),
        ('/a !~ "b"', {}, False),
        ('/a !~ "b"', {"a": 5}, False),
        ("/a =~ /p", {"a": "abc", "p": "a.c"}, True),
        ("/a =~ /p", {"a": "abc", "p": "("}, False),
        ("/a !~ /p", {"a": "abc", "p": "("}, False),
        ("/a =~ /p", {"a": "abc"}, False),
        ('"abc" =~ "a.c"', {}, True),
        ('getMetadata("table_name") =~ "ord.*"', {}, True),
        # typeof
        ("/a typeof integer", {"a": 200}, True),
        ("/a typeof integer", {"a": 2147483648}, False),
        ("/a typeof integer", {"a": 1.0}, False),
        ("/a typeof integer", {"a": "200"}, False),
        ("/a typeof long", {"a": 2147483648}, True),
        ("/a typeof long", {"a": 5}, False),
        ("/a typeof double", {"a": 1.5}, True),
        ("/a typeof double", {"a": 1e300}, True),
        ("/a typeof double", {"a": 1}, False),
        ("/a typeof double", {"a": "1.5"}, False),
        ("/a typeof boolean", {"a": False}, True),
        ("/a typeof string", {"a": ""}, True),
        ("/a typeof string", {}, False),
        ("/a typeof map", {"a": {}}, True),
        ("/a typeof map", {"a": "{}"}, False),
        ("/a typeof array", {"a": []}, True),
        ("/a typeof big_decimal", {"a": 1.5}, False),
        ("not (/a typeof string)", {"a": 5}, True),
        # arithmetic; where it fails, the whole condition is false
        ("/a + 1 == 3", {"a": 2}, True),
        ("/a + /b == 3.5", {"a": 2, "b": 1.5}, True),
        ("/a - 1 == 1", {"a": 2}, True),
        ("/a * /a == 4", {"a": 2}, True),
        ("/a / 4 == 0.5", {"a": 2}, True),
        ("/a % 2 == 1", {"a": 3}, True),
        ("-7 % 4 == -3", {}, True),
        ("/a % 2 == 1", {"a": 3.0}, False),
        ("-/a == -2", {"a": 2}, True),
        ("-(/a - 5) == 3", {"a": 2}, True),
        ("2 + 3 * 4 == 14", {}, True),
        ('/a + "c" == "abc"', {"a": "ab"}, True),
        ("/a + /b == \"xy\"", {"a": "x", "b": "y"}, True),
        ("/a + 1 == 3 or true", {"a": "x"}, False),
        ("not (/a + 1 == 3)", {"a": "x"}, False),
        ("/a + 1 == 1 or true", {}, False),
        ("/a - /b == 1", {"a": BIG, "b": BIG - 1}, True),
        ("/a + 1 > 9223372036854775807", {"a": 2**63 - 1}, False),
        ("/a * 2 > 9223372036854775807", {"a": 2**63 - 1}, True),
        ("/a % 0 == 0 or true", {"a": 1}, False),
        ("/a / 0 > 5", {"a": 1}, True),
        # pointers
        ("/a/b == 1", {"a": {"b": 1}}, True),
        ("/a/1 == 5", {"a": [4, 5]}, True),
        ("/a/x == null", {"a": [4, 5]}, True),
        ("/a/b == null", {"a": 5}, True),
        ("/part1@part2.part3 == 111", {"part1@part2.part3": 111}, True),
        ('"/a b-c" == 1', {"a b-c": 1}, True),
        ('"/a/b c" == 1', {"a": {"b c": 1}}, True),
        ('"/a~1b" == 1', {"a/b": 1}, True),
        ('"/a~0b" == 1', {"a~b": 1}, True),
        ('"/é\'s" == "ü"', {"é's": "ü"}, True),
        ('"/a\\"b" == 1', {'a"b': 1}, True),
        ("/a == \"it's\"", {"a": "it's"}, True),
        ('/a == "tab\\t \\"q\\" \\\\ 🦆"', {"a": 'tab\t "q" \\ 🦆'}, True),
        ('/path == """/path/to"""', {"path": "/path/to"}, True),
    ],
)  # fmt: skip
def test_json_events(text: str, event: dict[str, Any], expected: bool) -> None:
    assert condition(text, event) is expected


@pytest.mark.parametrize(
    ("text", "body", "expected"),
    [
        ("/a == 1", '{"a":1e0}', True),
        ("/a == 1.5", '{"a": 1.50 }', True),
        ('/a == "é/"', r'{"a":"\u00e9\/"}', True),
        ("/a > 5", '{"a":100000000000000000000}', True),
        ("/a == /b", '{"a":1.10,"b":1.1}', True),
    ],
)
def test_the_spelling_of_a_value_does_not_matter(text: str, body: str, expected: bool) -> None:
    assert condition(text, body) is expected


def test_conditions_that_see_the_body_often_read_it_once() -> None:
    sql = compile_condition('/a > 1 and /b == "x" and /a < 9', JSON_SHAPE)
    assert sql.count("body") == 1
    bodies = ['{"a":5,"b":"x"}', '{"a":0,"b":"x"}', '{"a":5}']
    assert run_json(sql, bodies) == [True, False, False]


def test_bad_events_are_not_read_behind_a_guard() -> None:
    sql = compile_condition('/a > 1 or startsWith(/b, "x") and /c == /d', JSON_SHAPE)
    guarded = f"CASE WHEN body <> 'no json' THEN {sql} ELSE FALSE END"
    assert (
        run_json(guarded, ["no json", '{"a":5,"b":"x","c":1,"d":1}'] * 2000) == [False, True] * 2000
    )


def test_metadata_that_nobody_knows_is_null() -> None:
    assert run_json(compile_condition('getMetadata("x") == null', json_shape()), ["{}"]) == [True]
    typed = Shape("typed", {}, {"a": "INTEGER"})
    assert compile_condition('hasTags("x")', typed) == "FALSE"
