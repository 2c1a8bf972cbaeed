"""JSON put together as text, as SQL.

The parts are JSON or its text, NULL for null, and go in as they are: DuckDB's own functions read
them, and round numbers of many digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from meltline.expressions.quoting import quote_literal


def object_text(values: Mapping[str, str]) -> str:
    """`values` by name."""
    parts = [f"{quote_literal(json.dumps(name, ensure_ascii=False) + ':')} || {_part(value)}"
             for name, value in values.items()]
    joined = " || ',' || ".join(parts)
    return f"('{{' || {joined} || '}}')"


def list_text(source: str, item: str, value: str) -> str:
    """`value` is SQL over `item`, one of the list `source`."""
    items = f"list_transform({source}, lambda {item}: {_part(value)})"
    return f"('[' || array_to_string({items}, ',') || ']')"


def map_text(source: str, item: str, key: str, value: str) -> str:
    """`key` (text) and `value` are SQL over `item`, an entry of the map `source`."""
    entry = f"to_json({key})::VARCHAR || ':' || {_part(value)}"
    entries = f"list_transform(map_entries({source}), lambda {item}: {entry})"
    return f"('{{' || array_to_string({entries}, ',') || '}}')"


def _part(value: str) -> str:
    return f"coalesce(({value})::VARCHAR, 'null')"
