"""The value of an add_entries entry, as SQL."""

from __future__ import annotations

import json

from meltline.config.processors import AddEntry
from meltline.expressions import compile_format, compile_json, compile_value, quote_literal
from meltline.expressions.parse import parse
from meltline.expressions.syntax import Pointer
from meltline.model.event import BODY, Shape
from meltline.processors import json_text

_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR", type(None): "VARCHAR"}


def json_value(entry: AddEntry, shape: Shape, salt: str) -> str:
    """SQL of JSON text, `null` for null; NULL when the expression fails: nothing is added then."""
    if entry.format is not None:
        text = compile_format(entry.format, shape, salt=salt)
        return f"COALESCE(CAST(to_json({text}) AS VARCHAR), 'null')"
    if entry.value_expression is None:
        return quote_literal(json.dumps(entry.value, ensure_ascii=False))
    node = parse(entry.value_expression)
    if isinstance(node, Pointer):
        # A copy is exact, down to the spelling of numbers.
        return f"COALESCE({json_text.value_at(BODY, node.path)}, 'null')"
    return compile_json(entry.value_expression, shape, salt=salt)


def typed_value(entry: AddEntry, shape: Shape, salt: str) -> tuple[str, str]:
    """SQL and DuckDB type; NULL when the expression fails."""
    if entry.format is not None:
        return compile_format(entry.format, shape, salt=salt), "VARCHAR"
    if entry.value_expression is not None:
        compiled = compile_value(entry.value_expression, shape, salt=salt)
        if compiled.type == "json":
            return f"CAST({compiled.sql} AS JSON)", "JSON"
        return compiled.sql, compiled.type
    value = entry.value
    if type(value) in _TYPES:
        type_name = _TYPES[type(value)]
        return f"CAST({quote_literal(value)} AS {type_name})", type_name
    return f"CAST({quote_literal(json.dumps(value, ensure_ascii=False))} AS JSON)", "JSON"


def cast_value(value: str, type_name: str, wanted: str) -> str:
    """A value brought to another type, NULL where that fails; a JSON text loses its quotes."""
    if type_name == wanted:
        return value
    if type_name == "JSON":
        value = f"json_extract_string({value}, '$')"
    return f"TRY_CAST({value} AS {wanted})"
