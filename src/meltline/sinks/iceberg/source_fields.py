"""What a copy remembers of its source: the table property `meltline.source-fields`. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from meltline.model.columns import columns
from meltline.model.schema_text import load_schema
from meltline.model.table_like import TableLike
from meltline.sinks.iceberg.summary import SOURCE_FIELDS, TOKEN

Part = tuple[int, str, str]
"""A partition field of the source: the id of its column, its transform, its name."""


@dataclass(frozen=True)
class SourceFields:
    """- table: the uuid of the source's table
    - last: the greatest field id that was seen there. Iceberg gives no id twice, so a field that
      is new has a greater one
    - fields: ids of the source's fields, with the path that each has in the copy
    - identifiers, spec: of the source, when they were last followed; no spec when none fitted
    """

    table: str
    last: int
    fields: Mapping[int, str]
    identifiers: tuple[int, ...] = ()
    spec: tuple[Part, ...] | None = None

    @classmethod
    def of(cls, like: TableLike) -> SourceFields:
        """A copy that has every field of the source under its own name."""
        schema = load_schema(like.schema_json)
        return cls(like.uuid, schema.highest_field_id,
                   {c.id: c.path for c in columns(schema.as_struct()) if not c.fixed},
                   tuple(sorted(schema.identifier_field_ids)), parts(like.spec_json))

    @classmethod
    def load(cls, properties: Mapping[str, str]) -> SourceFields | None:
        """None: the table was not made as a copy."""
        text = properties.get(SOURCE_FIELDS)
        if text is None:
            return None
        body = json.loads(text)
        spec = body.get("spec")
        return cls(body["table"], body["last"],
                   {int(id_): path for id_, path in body["fields"].items()},
                   tuple(body.get("identifiers", ())),
                   None if spec is None else tuple((id_, way, name) for id_, way, name in spec))

    def properties(self) -> dict[str, str]:
        body = {"table": self.table, "last": self.last,
                "fields": {str(id_): path for id_, path in sorted(self.fields.items())},
                "identifiers": list(self.identifiers), "spec": self.spec}
        return {SOURCE_FIELDS: json.dumps(body, separators=(",", ":"))}


def parts(spec_json: str | None) -> tuple[Part, ...] | None:
    """Without the fields that format version 1 leaves behind when they are removed."""
    if spec_json is None:
        return None
    return tuple((int(field["source-id"]), str(field["transform"]), str(field["name"]))
                 for field in json.loads(spec_json)["fields"] if field["transform"] != "void")


def is_shared(properties: Mapping[str, str], own_token: str) -> bool:
    """Whether another lane or pipeline has written to the table: its rows may need what this
    lane's source has dropped."""
    return any(key.startswith(TOKEN) and key != own_token for key in properties)
