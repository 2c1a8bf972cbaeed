"""The SQL of a few expressions, to the letter: a change of it should be seen."""

from __future__ import annotations

import pytest

from meltline.expressions import (
    compile_condition,
    compile_format,
    compile_value,
    quote_identifier,
    quote_literal,
)
from meltline.expressions.quoting import quote_json
from meltline.model.event import Shape, json_shape

JSON = json_shape(table_name="VARCHAR", tags="VARCHAR[]")
TYPED = Shape("typed", {}, {"qty": "INTEGER", "status": "VARCHAR", "o": "STRUCT(x BOOLEAN)"})


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (
            '/status == "PAID"',
            "COALESCE(CAST(json_extract(body, '/status') AS VARCHAR) = '\"PAID\"', FALSE)",
        ),
        (
            "/qty > 5",
            "COALESCE(TRY_CAST(CAST(json_extract(body, '/qty') AS VARCHAR) AS DOUBLE) > 5, FALSE)",
        ),
        ("/x == null", "(COALESCE(CAST(json_extract(body, '/x') AS VARCHAR), 'null') = 'null')"),
        (
            "/a in {1, 2}",
            "COALESCE(CAST(json_extract(body, '/a') AS VARCHAR) IN ('1', '2'), FALSE)",
        ),
        (
            '/a == true and /b != "x"',
            "list_transform([CAST(json_extract(body, ['/a', '/b']) AS VARCHAR[])], lambda p: "
            "(COALESCE(p[1] = 'true', FALSE) AND (NOT COALESCE(p[2] = '\"x\"', FALSE))))[1]",
        ),
        (
            'startsWith(/a, "x")',
            "list_transform([CAST(json_extract(body, '/a') AS VARCHAR)], lambda p: COALESCE("
            "starts_with(CASE WHEN starts_with(p, '\"') THEN json_extract_string(p, '$') END, 'x')"
            ", FALSE) AND NOT (NOT (COALESCE(p, 'null') = 'null') AND (CASE WHEN starts_with(p, "
            "'\"') THEN json_extract_string(p, '$') END) IS NULL))[1]",
        ),
        ('getMetadata("table_name") == "t"', "COALESCE(meta.\"table_name\" = 't', FALSE)"),
        ('hasTags("a")', "COALESCE(list_has_all(meta.\"tags\", ['a']), FALSE)"),
    ],
)
def test_json_conditions(text: str, sql: str) -> None:
    assert compile_condition(text, JSON) == sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("/qty > 5", 'COALESCE("row"."qty" > 5, FALSE)'),
        ('/status == "PAID"', 'COALESCE("row"."status" = \'PAID\', FALSE)'),
        ("/o/x", 'COALESCE("row"."o"."x", FALSE)'),
        ("/qty == null", '("row"."qty" IS NULL)'),
        ("/nowhere == 1", "FALSE"),
    ],
)
def test_typed_conditions(text: str, sql: str) -> None:
    assert compile_condition(text, TYPED) == sql


def test_formats() -> None:
    assert compile_format("x-${a}", JSON) == (
        "('x-' || json_extract_string(CAST(json_extract(body, '/a') AS VARCHAR), '$'))"
    )
    assert compile_format("it's", JSON) == "('it''s')"


def test_values() -> None:
    compiled = compile_value("/a", JSON)
    assert compiled.sql == (
        "CAST(nullif(CAST(json_extract(body, '/a') AS VARCHAR), 'null') AS VARCHAR)"
    )
    assert (compiled.type, compiled.failed) == ("json", "FALSE")
    assert compile_value("5", JSON).sql == "CAST(5 AS BIGINT)"
    assert compile_value("now()", JSON).sql == "CAST(getvariable('meltline_now_ms') AS BIGINT)"


def test_quoting() -> None:
    assert quote_identifier('a"b') == '"a""b"'
    assert quote_literal("it's") == "'it''s'"
    assert [quote_literal(v) for v in (None, True, 5, 1.5)] == [
        "NULL", "TRUE", "5", "CAST(1.5 AS DOUBLE)",
    ]  # fmt: skip
    assert quote_json('é"') == '\'"é\\""\''
    assert quote_json("\x1f") == "CAST(to_json('\x1f') AS VARCHAR)"
    for quote in (quote_identifier, quote_literal):
        with pytest.raises(ValueError, match="NUL"):
            quote("a\0b")
