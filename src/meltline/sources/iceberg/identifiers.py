"""The columns that tell rows apart, found by field id so that a rename does not lose them. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from meltline.errors import UserError
from meltline.model.history import TableHistory

_WIDE = ("struct", "list", "map", "variant")


def find_identifiers(history: TableHistory, names: Sequence[str], table: str) -> tuple[int, ...]:
    """Field ids of the named columns, or of the table's own identifier fields without names.

    A name is looked up in the current schema, then in older ones, newest first: a pipeline that
    still says the old name of a renamed column goes on. Raises UserError for unknown names.
    """
    current = json.loads(history.schemas[history.current_schema_id])
    if not names:
        return tuple(current.get("identifier-field-ids", ()))
    older = [json.loads(text) for id_, text in sorted(history.schemas.items(), reverse=True)
             if id_ != history.current_schema_id]
    return tuple(_find(name, [current, *older], table) for name in names)


def _find(name: str, schemas: Sequence[dict[str, Any]], table: str) -> int:
    for schema in schemas:
        for field in schema["fields"]:
            if field["name"] == name:
                type_ = field["type"]
                kind = type_["type"] if isinstance(type_, dict) else type_
                if kind in _WIDE:
                    raise UserError(f'identifier column "{name}" of table {table} is a {kind}',
                                    hint="name columns of single values")
                return int(field["id"])
    columns = ", ".join(field["name"] for field in schemas[0]["fields"])
    raise UserError(f'identifier column "{name}" is not in table {table}',
                    hint=f"columns: {columns}")
