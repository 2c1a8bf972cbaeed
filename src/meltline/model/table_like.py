"""What a table that is created for a source's rows looks like, where the source knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class TableLike:
    """Iceberg's own JSON of schema and partition spec, and the format version they need.

    - uuid: of the source's table
    - identifiers: names of the columns that tell its rows apart
    - living: ids of all fields that its newest schema has; one that lacks here and in the schema
      was dropped
    - as_is: whether rows reach the sink as they are there. If not, only `identifiers` may serve
    """

    schema_json: str
    spec_json: str | None = None
    format_version: int = 2
    uuid: str = ""
    identifiers: tuple[str, ...] = ()
    living: frozenset[int] = frozenset()
    as_is: bool = True


Like = Callable[[], TableLike | None]


def like_nothing() -> None:
    """For sources whose rows have no table."""


def processed(like: Like) -> Like:
    """For rows that processors may have changed on their way."""
    if like is like_nothing:
        return like

    def changed() -> TableLike | None:
        known = like()
        return None if known is None else replace(known, as_is=False)

    return changed


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
    """The spec, if the schema has every column it speaks of. Without what format version 1 leaves
    of fields that were removed: their columns may be gone."""
    columns = {int(field["id"]) for field in json.loads(schema_json)["fields"]}
    spec = json.loads(spec_json)
    fields = [field for field in spec["fields"] if field["transform"] != "void"]
    if not all(int(field["source-id"]) in columns for field in fields):
        return None
    return json.dumps({**spec, "fields": fields})
