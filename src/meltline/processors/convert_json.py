"""convert_type for JSON text: from the text of one JSON value to that of another."""

from __future__ import annotations

from meltline.expressions.quoting import quote_literal
from meltline.processors.json_text import has_mark, unwrap_numbers, wrap_numbers

_WHOLE = "[+-]?[0-9]+"
_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|[+-]?\.[0-9]+(?:[eE][+-]?[0-9]+)?"
_DECIMAL = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"


def convert(value: str, type_name: str, scale: int) -> str:
    """SQL of the converted JSON text, NULL when it does not convert.

    `value` is a column with JSON text, not `null`. A list is converted element by element, and
    does not convert when one of them does not.
    """
    elements = f"list_transform({_elements(value)}, lambda e: {_scalar('e', type_name, scale)})"
    joined = "'[' || array_to_string(c, ',') || ']'"
    complete = "len(list_filter(c, lambda x: x IS NULL)) = 0"
    converted = f"list_transform([{elements}], lambda c: CASE WHEN {complete} THEN {joined} END)[1]"
    return (
        f"CASE WHEN starts_with({value}, '[') THEN {converted} "
        f"ELSE {_scalar(value, type_name, scale)} END"
    )


def _elements(value: str) -> str:
    """The JSON texts of a list's elements, numbers as they are written."""
    plain = f"CAST(json_extract({value}, '$[*]') AS VARCHAR[])"
    wrapped = f"CAST(json_extract({wrap_numbers(value)}, '$[*]') AS VARCHAR[])"
    exact = f"list_transform({wrapped}, lambda w: {unwrap_numbers('w')})"
    return f"CASE WHEN {has_mark(value)} THEN {plain} ELSE {exact} END"


def _scalar(value: str, type_name: str, scale: int) -> str:
    text = f"json_extract_string({value}, '$')"
    cases = {
        "integer": lambda: _integer(value, text, "INTEGER"),
        "long": lambda: _integer(value, text, "BIGINT"),
        "double": lambda: _double(value, text),
        "big_decimal": lambda: _decimal(value, text, scale),
        "string": lambda: _string(value),
        "boolean": lambda: _boolean(value, text),
    }[type_name]()
    return f"CASE {_sort(value)} {cases} END"


def _sort(value: str) -> str:
    """SQL: `s` text, `b` boolean, `n` number, else NULL."""
    return (
        f"CASE WHEN starts_with({value}, '\"') THEN 's' WHEN {value} IN ('true', 'false') THEN 'b' "
        f"WHEN regexp_matches({value}, '^-?[0-9]') THEN 'n' END"
    )


def _integer(value: str, text: str, sql_type: str) -> str:
    whole = f"TRY_CAST({value} AS {sql_type})"
    cut = f"TRY_CAST(trunc(TRY_CAST({value} AS DOUBLE)) AS {sql_type})"
    return (
        f"WHEN 's' THEN CASE WHEN regexp_full_match({text}, '{_WHOLE}') "
        f"THEN CAST(TRY_CAST({text} AS {sql_type}) AS VARCHAR) END "
        f"WHEN 'b' THEN CASE {value} WHEN 'true' THEN '1' ELSE '0' END "
        f"WHEN 'n' THEN CAST(CASE WHEN regexp_full_match({value}, '-?[0-9]+') "
        f"THEN {whole} ELSE {cut} END AS VARCHAR)"
    )


def _double(value: str, text: str) -> str:
    def written(source: str) -> str:
        number = f"TRY_CAST({source} AS DOUBLE)"
        return f"CASE WHEN isfinite({number}) THEN CAST(to_json({number}) AS VARCHAR) END"

    return (
        f"WHEN 's' THEN CASE WHEN regexp_full_match(trim({text}), {quote_literal(_NUMBER)}) "
        f"THEN {written(f'trim({text})')} END "
        f"WHEN 'b' THEN CASE {value} WHEN 'true' THEN '1.0' ELSE '0.0' END "
        f"WHEN 'n' THEN CASE WHEN regexp_matches({value}, '[.eE]') THEN {value} "
        f"ELSE {written(value)} END"
    )


def _decimal(value: str, text: str, scale: int) -> str:
    # JSON has no plus sign and no leading zeros.
    plain = rf"regexp_replace(ltrim({text}, '+'), '^(-?)0+([0-9])', '\1\2')"

    def scaled(source: str) -> str:
        if not scale:
            return source
        # Ten digits more, so that the cast does not round before round_even does.
        precise = f"TRY_CAST({source} AS DECIMAL(38, {min(37, scale + 10)}))"
        return f"CAST(round_even({precise}, {scale}) AS VARCHAR)"

    one = scaled(f"CASE {value} WHEN 'true' THEN '1' ELSE '0' END")
    return (
        f"WHEN 's' THEN CASE WHEN regexp_full_match({text}, {quote_literal(_DECIMAL)}) "
        f"THEN {scaled(plain)} END WHEN 'b' THEN {one} WHEN 'n' THEN {scaled(value)}"
    )


def _string(value: str) -> str:
    return f"WHEN 's' THEN {value} WHEN 'b' THEN '\"' || {value} || '\"' " \
           f"WHEN 'n' THEN '\"' || {value} || '\"'"  # fmt: skip


def _boolean(value: str, text: str) -> str:
    return (
        f"WHEN 's' THEN CASE lower({text}) WHEN 'true' THEN 'true' ELSE 'false' END "
        f"WHEN 'b' THEN {value} "
        f"WHEN 'n' THEN CASE WHEN TRY_CAST({value} AS DOUBLE) <> 0 THEN 'true' ELSE 'false' END"
    )
