"""convert_type for typed events: from one column type to another."""

from __future__ import annotations

from meltline.errors import UserError
from meltline.expressions import kinds
from meltline.expressions.kinds import describe_type
from meltline.processors import convert_json

_TARGETS = {
    "integer": "INTEGER",
    "long": "BIGINT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
}
_PATTERNS = {
    "integer": "[+-]?[0-9]+",
    "long": "[+-]?[0-9]+",
    "double": r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*",
    "big_decimal": r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
}


def target_type(path: str, source: str, type_name: str, scale: int) -> str:
    """The column type after the conversion. Raises UserError when there is none."""
    type_ = describe_type(source)
    if type_.kind == kinds.LIST:
        return target_type(path, dict(type_.children)["child"], type_name, scale) + "[]"
    temporal_to_other = type_.kind == kinds.TEMPORAL and type_name != "string"
    if type_.kind in (kinds.STRUCT, kinds.MAP) or temporal_to_other:
        raise UserError(f"convert_type cannot convert {path}, a {type_.name}, to {type_name}")
    if type_name != "big_decimal":
        return _TARGETS[type_name]
    if scale or type_.kind in (kinds.INTEGER, kinds.BOOLEAN):
        return f"DECIMAL(38,{scale})"
    if type_.kind == kinds.DECIMAL:
        return type_.name
    raise UserError(
        f"convert_type needs a scale to make {path}, a {type_.name}, a big_decimal",
        hint="a column has one number of digits after the point for all events: set scale",
    )


def convert(sql: str, source: str, target: str, type_name: str, scale: int) -> str:
    """SQL of the converted value, NULL when it does not convert. `target` is `target_type`'s."""
    type_ = describe_type(source)
    if type_.name == target:
        return sql
    if type_.kind == kinds.LIST:
        element, wanted = dict(type_.children)["child"], target.removesuffix("[]")
        items = (
            f"list_transform({sql}, lambda e: {convert('e', element, wanted, type_name, scale)})"
        )
        whole = "len(list_filter(c, lambda x: x IS NULL)) = 0"
        return f"list_transform([{items}], lambda c: CASE WHEN {whole} THEN c END)[1]"
    if type_.kind == kinds.JSON:
        text = f"list_transform([CAST({sql} AS VARCHAR)], lambda j: " \
               f"{convert_json.convert('j', type_name, scale)})[1]"  # fmt: skip
        return f"TRY_CAST(json_extract_string({text}, '$') AS {target})"
    if type_name == "string":
        return f"CAST({sql} AS VARCHAR)"
    if type_.kind == kinds.STRING:
        return _from_text(f"CAST({sql} AS VARCHAR)", target, type_name)
    if type_name == "boolean":
        return f"({sql} <> 0)"
    if type_name in ("integer", "long") and type_.kind in (kinds.DECIMAL, kinds.DOUBLE):
        return f"TRY_CAST(trunc({sql}) AS {target})"
    return f"TRY_CAST({sql} AS {target})"


def _from_text(text: str, target: str, type_name: str) -> str:
    if type_name == "boolean":
        return f"CASE WHEN {text} IS NOT NULL THEN lower({text}) = 'true' END"
    pattern = _PATTERNS[type_name]
    return f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN TRY_CAST({text} AS {target}) END"
