"""What the parser makes of expressions, and what it says about mistakes."""

from __future__ import annotations

import pytest

from meltline.errors import UserError
from meltline.expressions import ExpressionError, check_condition, check_expression
from meltline.expressions.parse import parse
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
)


def shown(node: Node) -> str:
    """A tree with all its parentheses."""
    if isinstance(node, Constant):
        return repr(node.value)
    if isinstance(node, Pointer):
        return node.path
    if isinstance(node, Not):
        return f"(not {shown(node.operand)})"
    if isinstance(node, Negate):
        return f"(-{shown(node.operand)})"
    if isinstance(node, Membership):
        return f"({shown(node.operand)} {'not ' * node.negated}in {set(node.members)})"
    if isinstance(node, TypeOf):
        return f"({node.pointer.path} typeof {node.type_name})"
    if isinstance(node, Call):
        return f"{node.name}({', '.join(map(shown, node.arguments))})"
    assert isinstance(node, Binary)
    return f"({shown(node.left)} {node.operator} {shown(node.right)})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("/a or /b and /c", "((/a or /b) and /c)"),
        ("/a and /b or /c", "((/a and /b) or /c)"),
        ("/a or (/b and /c)", "(/a or (/b and /c))"),
        ("/a == 1 and /b != 2", "((/a == 1) and (/b != 2))"),
        ("/a == /b == true", "((/a == /b) == True)"),
        ("/a < 1 == true", "((/a < 1) == True)"),
        ('true == /a =~ "x"', "(True == (/a =~ 'x'))"),
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("(1 - 2) * 3", "((1 - 2) * 3)"),
        ("8 / 4 % 3", "((8 / 4) % 3)"),
        ("/a + 1 in {2}", "((/a + 1) in {2})"),
        ("/a + 1 < /b * 2", "((/a + 1) < (/b * 2))"),
        ("not /a == true", "((not /a) == True)"),
        ("not /a in {true}", "((not /a) in {True})"),
        ("/a not in {1}", "(/a not in {1})"),
        ("not not /a", "(not (not /a))"),
        ("-/a * 2", "((-/a) * 2)"),
        ("--/a", "(-(-/a))"),
        ("-5", "-5"),
        ("/a typeof long and /b", "((/a typeof long) and /b)"),
        ("/a in {1} == true", "((/a in {1}) == True)"),
        ("/a < 5 typeof integer", None),
        ("1 < /a < 5", "((1 < /a) < 5)"),
        ("length(/a) > 3", "(length(/a) > 3)"),
        ('getMetadata("a") + "x"', "(getMetadata('a') + 'x')"),
        ('length(substringAfter(/a, "-"))', "length(substringAfter(/a, '-'))"),
    ],
)
def test_precedence(text: str, tree: str | None) -> None:
    if tree is None:
        with pytest.raises(ExpressionError):
            parse(text)
    else:
        assert shown(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("0", Constant(0)),
        ("42", Constant(42)),
        ("9223372036854775807", Constant(2**63 - 1)),
        ("1.5", Constant(1.5)),
        ("1.05", Constant(1.05)),
        ("12345.678E12", Constant(12345.678e12)),
        ("1.5e-3", Constant(0.0015)),
        ("true", Constant(True)),
        ("null", Constant(None)),
        ('""', Constant("")),
        ('"a b"', Constant("a b")),
        ('"""/path"""', Constant("/path")),
        ('""""""', Constant("")),
        (r'"a\"b\\c\n\t\$"', Constant('a"b\\c\n\t$')),
        (r'"\w+$"', Constant(r"\w+$")),
        ('"üñï 🦆"', Constant("üñï 🦆")),
        ("/a", Pointer("/a")),
        ("/a/b/0", Pointer("/a/b/0")),
        ("/part1@part2.part_3", Pointer("/part1@part2.part_3")),
        ('"/any chars/x-y"', Pointer("/any chars/x-y")),
        ('"/a/"', Pointer("/a")),
        ('"/"', Pointer("/")),
        ('"/a~1b"', Pointer("/a~1b")),
    ],
)
def test_values(text: str, node: Node) -> None:
    assert parse(text) == node


def test_a_quoted_pointer_is_a_text_inside_of_a_call() -> None:
    assert parse('contains(/a, "/b")') == Call("contains", (Pointer("/a"), Constant("/b")))
    # ... unless only a pointer makes sense there
    assert parse('join("/a b")') == Call("join", (Pointer("/a b"),))


@pytest.mark.parametrize(
    "text",
    [
        "/a\tand\n/b",
        "  /a  and   /b  ",
        "/a == 1\nand /b == 2",
        "/a in {1,2 , 3}",
        "/a  not  in  {1}",
        '/msg=~"x"',
        "(/a)==(/b)",
        "/a in {-1, 2.5}",
        '/a in {"/x", "y"}',
    ],
)
def test_white_space_is_free(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "the expression is empty\n   \n   ^"),
        ("/a ==", "expected a value, found the end\n   /a ==\n        ^"),
        ("/a and", "expected a value, found the end\n   /a and\n         ^"),
        ("(/a == 1", 'expected ")", found the end\n   (/a == 1\n           ^'),
        ("/a == 1)", 'expected an operator or the end, found ")"\n   /a == 1)\n          ^'),
        (
            "/a = 1",
            "unexpected character '='\n   /a = 1\n      ^\n hint: write == to compare",
        ),
        (
            "/a == 'x'",
            "unexpected character \"'\"\n   /a == 'x'\n         ^\n"
            " hint: write texts in double quotes",
        ),
        ('/a == "x', 'the text is not closed\n   /a == "x\n         ^\n hint: expected a "'),
        (
            "lenght(/a) > 1",
            'unknown function "lenght"\n   lenght(/a) > 1\n   ^\n hint: did you mean "length"?',
        ),
        (
            'getmetadata("a")',
            'unknown function "getmetadata"\n   getmetadata("a")\n   ^\n'
            ' hint: did you mean "getMetadata"?',
        ),
        (
            "/a-b == 1",
            'expected a value, found "b"\n   /a-b == 1\n      ^\n'
            ' hint: a key with other characters is written in quotes: "/my-key"',
        ),
        (
            "/a /2",
            'expected an operator or the end, found "/2"\n   /a /2\n      ^\n'
            " hint: to divide, write spaces around the /",
        ),
        (
            "/a == paid",
            'expected a value, found "paid"\n   /a == paid\n         ^\n'
            ' hint: write /paid for a key, "paid" for a text',
        ),
        ("not/a", '"not" needs a space after it\n   not/a\n      ^'),
        ("/a and(/b)", '"and" needs a space on both sides\n   /a and(/b)\n      ^'),
        ('/a in {1, "x"}', 'a set has members of one type\n   /a in {1, "x"}\n         ^'),
        ("/a in {null}", 'expected a number, a text, true or false, found "null"\n   /a in {null}\n'
                         "          ^\n hint: write /null for a key, \"null\" for a text"),
        ("/a in 5", 'expected "{", found "5"\n   /a in 5\n         ^'),
        ('/a =~ "("', 'not a regular expression: missing ): (\n   /a =~ "("\n         ^'),
        ("5 =~ /a", "=~ takes a pointer or a text on both sides\n   5 =~ /a\n   ^"),
        ("/a typeof text", None),
        ("5 typeof long", "typeof takes a pointer\n   5 typeof long\n   ^"),
        ("contains(/a)", "contains() takes 2 arguments, not 1\n   contains(/a)\n   ^"),
        ("now(1)", "now() takes no arguments, not 1\n   now(1)\n   ^"),
        ("hasTags()", "hasTags() takes at least 1 argument, not 0\n   hasTags()\n   ^"),
        ('formatDateTime(/a)', "formatDateTime() takes 2 to 4 arguments, not 1\n"
                               "   formatDateTime(/a)\n   ^"),
        ("getMetadata(/a)", "getMetadata() takes a text in double quotes here\n"
                            "   getMetadata(/a)\n               ^"),
        ('contains(/a, 5)', "contains() takes a pointer, a text or a function here\n"
                            "   contains(/a, 5)\n                ^"),
        ('hasTags("")', 'hasTags(): a tag cannot be empty\n   hasTags("")\n           ^'),
        ('formatDateTime(/a, "yy")', "formatDateTime(): date pattern 'yy': \"yy\" is not "
         'supported\n   formatDateTime(/a, "yy")\n                      ^'),
        ('formatDateTime(/a, "yyyy", "Mars/Base")', 'formatDateTime(): "Mars/Base" is not a time '
         'zone\n   formatDateTime(/a, "yyyy", "Mars/Base")\n                              ^'),
        ("-true", "- needs a number\n   -true\n    ^"),
        ('"a" - 1', '- needs numbers\n   "a" - 1\n   ^'),
        ('"a" + 1', '+ adds two numbers or joins two texts\n   "a" + 1\n         ^'),
        ("(/a == 1) + 2", "+ needs numbers\n   (/a == 1) + 2\n       ^"),
        ("9223372036854775808", "the number is too large\n   9223372036854775808\n   ^"),
        ("007", 'expected a value, found "007"\n   007\n   ^\n'
                ' hint: write /007 for a key, "007" for a text'),
        ("${var} == 1", None),
        ("trueand /b", None),
        ('hasTags(,"a")', None),
        ('hasTags("a",)', None),
        ('/color in {blue}', None),
        ('/value in {22a2.0, 100}', None),
        ("{/node}", None),
        ('"foo"=~3.14', None),
        ("/a ~ 1", None),
        ("(" * 70 + "1" + ")" * 70, None),
        ("not " * 70 + "true", None),
    ],
)  # fmt: skip
def test_mistakes(text: str, error: str | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        check_expression(text)
    assert isinstance(caught.value, UserError)
    if error is not None:
        assert str(caught.value) == error


def test_the_caret_stands_in_the_right_line() -> None:
    with pytest.raises(ExpressionError) as caught:
        check_expression("/a == 1\nand /b = 2")
    assert str(caught.value).splitlines()[1:3] == ["   and /b = 2", "          ^"]
    assert caught.value.position == 15


@pytest.mark.parametrize("text", ["/a + 1", "5", '"x"', "length(/a)", "now()", '/a + "x"'])
def test_what_is_never_true_or_false_is_no_condition(text: str) -> None:
    check_expression(text)
    with pytest.raises(ExpressionError, match="expected a condition"):
        check_condition(text)


@pytest.mark.parametrize("text", ["/a", 'getMetadata("x")', "true", "null", "not 5", "/a > 1"])
def test_what_may_be_true_or_false_is_a_condition(text: str) -> None:
    check_condition(text)
