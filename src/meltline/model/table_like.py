"""What a table that is created for a source's rows looks like, where the source knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TableLike:
    """Iceberg's own JSON of schema and partition spec, and the format version they need."""

    schema_json: str
    spec_json: str | None = None
    format_version: int = 2


Like = Callable[[], TableLike | None]


def like_nothing() -> None:
    """For sources whose rows have no table."""


def with_identifiers(schema_json: str, identifiers: Sequence[int]) -> str:
    """The schema with these identifier fields, if Iceberg lets them be: required and no floats."""
    body: dict[str, Any] = json.loads(schema_json)
    fields: Mapping[int, Any] = {int(field["id"]): field for field in body["fields"]}
    possible = all(
        id_ in fields and fields[id_]["required"] and fields[id_]["type"] not in ("float", "double")
        for id_ in identifiers)
    if identifiers and possible:
        body["identifier-field-ids"] = list(identifiers)
    return json.dumps(body)


def fitting_spec(schema_json: str, spec_json: str) -> str | None:
    """The spec, if the schema has every column it speaks of."""
    columns = {int(field["id"]) for field in json.loads(schema_json)["fields"]}
    fields = json.loads(spec_json)["fields"]
    return spec_json if all(int(field["source-id"]) in columns for field in fields) else None
