"""Data Prepper's expression language, compiled to DuckDB SQL."""

from meltline.expressions.calls import NOW_VARIABLE, SEED_VARIABLE
from meltline.expressions.compile import (
    Compiled,
    check_condition,
    check_expression,
    compile_condition,
    compile_json,
    compile_value,
)
from meltline.expressions.errors import ExpressionError
from meltline.expressions.formats import check_format, compile_format, fixed_by, is_static
from meltline.expressions.patterns import regex_refusal
from meltline.expressions.quoting import quote_identifier, quote_literal

__all__ = [
    "NOW_VARIABLE",
    "SEED_VARIABLE",
    "Compiled",
    "ExpressionError",
    "check_condition",
    "check_expression",
    "check_format",
    "compile_condition",
    "compile_format",
    "compile_json",
    "compile_value",
    "fixed_by",
    "is_static",
    "quote_identifier",
    "quote_literal",
    "regex_refusal",
]
