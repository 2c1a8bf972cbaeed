"""What DuckDB's json_transform is asked for: the keys of an object, each once, as some type.

DuckDB renders JSON numbers anew, through a double, unless a DECIMAL is among the types that are
extracted: then every number keeps its text. So a decimal nobody asked for stands in each
extraction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from meltline.expressions.quoting import quote_identifier, quote_literal

RAW = "JSON"
_KEEP_DIGITS = {"\x01": "DECIMAL(1,0)"}


def extract_sql(value: str, kinds: Sequence[tuple[str, str]]) -> list[str]:
    """SQL: one or more structs that hold the keys (name, type) of the JSON object `value`."""
    specs: list[dict[str, Any]] = []
    for (name, kind), group in zip(kinds, _groups([name for name, _ in kinds]), strict=True):
        if group == len(specs):
            specs.append({})
        specs[group][name] = kind
    return [f"json_transform({value}, {_spec(spec)})" for spec in specs]


def places(names: Sequence[str], structs: str) -> list[str]:
    """SQL: where each key is, when the structs of `extract_sql` are called `structs`0, 1, ..."""
    return [f"{structs}{group}.{quote_identifier(name)}"
            for name, group in zip(names, _groups(names), strict=True)]


def unwrap_sql(value: str, kind: Any) -> str:
    """SQL: a JSON list or map, put inside an object, where the decimal can stand beside it."""
    return f"json_transform('{{\"x\":' || {value} || '}}', {_spec({'x': kind})}).x"


def _spec(kinds: dict[str, Any]) -> str:
    return quote_literal(json.dumps({**kinds, **_KEEP_DIGITS}, ensure_ascii=False))


def _groups(names: Sequence[str]) -> list[int]:
    """DuckDB's struct fields ignore case: names that differ in case alone go to other structs."""
    seen: Counter[str] = Counter()
    groups = []
    for name in names:
        groups.append(seen[name.lower()])
        seen[name.lower()] += 1
    return groups
